# SPDX-License-Identifier: Apache-2.0
"""The executable as users run it: its own process, real DDS, signals."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from shared import children
from shared.quick_and_slow import mark_slow
from shared.refusal import check_refusal

from sysid_nodes.robots import load_robot
from sysid_nodes.ros.conversions import to_stamp

pytestmark = pytest.mark.ros

HERE = Path(__file__).parents[2] / "shared"


_PORTIONS = (3000, 10_000, 40_000)
"""Messages sent to a sleeping node: the first are more than a socket holds by default, the others than most."""


def values(report: DiagnosticArray) -> dict[str, str]:
    return {item.key: item.value for item in report.status[0].values}


def test_a_thousand_samples_a_second_from_another_process_arrive_without_loss(bench: Any, executables: Any) -> None:
    count = 1000
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    node = executables.start("interval_identifier", "-p", "diagnostics_period:=0.2", "-p", "reliability:=reliable")
    driver = children.start_heard(HERE / "joint_state_driver.py", str(count), "1000", stdin=subprocess.PIPE)
    executables.started.append(driver)
    bench.until(lambda: diagnostics and values(diagnostics[-1])["received on /joint_states"] == str(count))
    bench.until(lambda: values(diagnostics[-1])["messages waiting"] == "0")
    last = values(diagnostics[-1])
    assert last["messages lost to overload"] == "0"
    assert float(last["window"]) >= 0
    # every stamp came: no step between two of them was longer than the driver's 1 ms, but for rounding
    assert max(float(values(report)["longest step between stamps [s]"]) for report in diagnostics) < 0.0011
    executables.end(node)


def test_samples_that_are_lost_on_the_way_are_counted(bench: Any, executables: Any) -> None:
    """By default nothing is sent again: a node that sleeps, or is dead, holds up no driver."""
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    node = executables.start("interval_identifier", "-p", "diagnostics_period:=0.1", "-p", "queue_depth:=50000")
    publisher = bench.tester.create_publisher(JointState, "/joint_states", 10)
    robot, sent, seen = load_robot("kinova_gen3"), 0, 0

    def send(count: int = 1) -> None:
        nonlocal sent
        for _ in range(count):
            sent += 1
            message = JointState(name=list(robot.joint_names), position=[0.1] * 7, velocity=[0.0] * 7, effort=[0.0] * 7)
            message.header.stamp = to_stamp(1.0 + 0.001 * sent)
            publisher.publish(message)

    def told(key: str) -> int:
        return int(values(diagnostics[-1]).get(key, "0")) if diagnostics else 0

    def known() -> int:
        return told("received on /joint_states") + told("not used: lost on the way")

    def probe(condition: Callable[[], bool]) -> bool:
        """Sends one more with each report until the condition holds: a loss shows with what arrives after it."""
        nonlocal seen
        if condition():
            return True
        if len(diagnostics) > seen:
            seen = len(diagnostics)
            send()
        return False

    bench.until(publisher.get_subscription_count)
    bench.until(lambda: probe(lambda: told("received on /joint_states") > 0))
    # What was sent before the two had found each other is in no count; from here on all that is sent has to be.
    before = -1
    while known() != before:
        before, reports = known(), len(diagnostics)
        bench.until(lambda least=reports + 2: len(diagnostics) >= least)
    unmatched, lost = sent - known(), told("not used: lost on the way")
    for portion in _PORTIONS:
        node.send_signal(signal.SIGSTOP)
        send(portion)
        node.send_signal(signal.SIGCONT)
        bench.until(lambda: probe(lambda: known() >= sent - unmatched))
        if told("not used: lost on the way") > lost:
            break
    assert 0 < told("not used: lost on the way") - lost < sent


@pytest.mark.parametrize("stop", mark_slow([signal.SIGINT, signal.SIGTERM], but=[signal.SIGTERM]))
def test_a_stop_is_clean_while_nothing_arrives(bench: Any, executables: Any, stop: signal.Signals) -> None:
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    node = executables.start("interval_identifier", "-p", "diagnostics_period:=0.1")
    bench.until(lambda: diagnostics)
    executables.end(node, stop)


ENDED = """
import atexit, os, pathlib, signal, sys, types
from sysid_nodes.ros.nodes import interval_identifier as module
from sysid_nodes.start import run_program

def tell(when):
    names = [path.read_text() for path in pathlib.Path("/proc/self/task").glob("*/comm")]
    print(when, sum(name.startswith("dds.") for name in names) > 0, flush=True)

def strike(node):
    tell("in DDS:")
    os.kill(os.getpid(), signal.SIGINT)

def main():
    atexit.register(tell, "in DDS at the end:")
    module.IntervalIdentifierNode._report = strike
    return module.main([])

sys.modules["program"] = types.SimpleNamespace(main=main)
run_program("program", "interval_identifier")
"""


def test_others_know_at_once_that_a_node_has_ended() -> None:
    """Its participant of DDS, which has threads, leaves before the process does; else it were there for 20 s more."""
    status, said, errors = children.run("-c", ENDED)
    assert status == 0, errors
    assert said.splitlines()[0] == "in DDS: True"
    assert said.splitlines()[-1] == "in DDS at the end: False"


STOPPED_AT = """
import os, signal, sys
from sysid_nodes.ros.nodes import interval_identifier as module

def struck(method):
    def strike(*arguments, **words):
        os.kill(os.getpid(), signal.Signals[sys.argv[2]])
        return method(*arguments, **words)
    return strike

setattr(module.IntervalIdentifierNode, sys.argv[1], struck(getattr(module.IntervalIdentifierNode, sys.argv[1])))
sys.exit(module.main([]))
"""


@pytest.mark.parametrize(
    ("stage", "stop"),
    mark_slow(
        [
            ("_open", "SIGINT"),
            ("create_publisher", "SIGTERM"),
            ("create_subscription", "SIGINT"),
            ("_report", "SIGINT"),
        ],
        but=[("create_publisher", "SIGTERM")],
    ),
)
def test_a_stop_while_it_starts_is_clean_too(executables: Any, stage: str, stop: str) -> None:
    process = children.start_heard("-c", STOPPED_AT, stage, stop)
    executables.started.append(process)
    _, errors = children.finish(process)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert "FATAL" not in errors


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["-p", "noise.torque_relativ:=[0.1]"], "interval_identifier: parameters: unknown key 'noise.torque_relativ'"),
        (["-p", "window.duration:=-1.0"], "interval_identifier: 'window.duration' must be at least 0.001, got -1.0"),
        (["-p", "robot:=r2d2"], "unknown robot 'r2d2'"),
        (["-p", "urdf:=no_such.urdf"], "no_such.urdf"),
        (["-p", "body:=tail"], "tail"),
    ],
)
def test_what_cannot_start_says_so_in_one_line_and_exits_with_2(
    arguments: list[str], line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    check_refusal(line, "interval_identifier", *arguments, capfd=capfd)


@pytest.mark.parametrize(
    "text", [pytest.param(None, marks=pytest.mark.slow), "/**:\n  ros__parameters: [\n"], ids=["absent", "not YAML"]
)
def test_a_parameter_file_that_cannot_be_read_is_named(executables: Any, tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "arm.yaml"
    if text is not None:
        file.write_text(text)
    process = executables.start("interval_identifier", "--params-file", str(file))
    _, errors = children.finish(process)
    assert process.returncode == 2
    assert "Traceback" not in errors
    ours = [line for line in errors.splitlines() if line.startswith("interval_identifier: ")]  # rcl logs beside it
    assert len(ours) == 1
    assert str(file) in ours[0]


def test_a_parameter_file_of_the_package_starts_the_node(bench: Any, executables: Any, project_root: Path) -> None:
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    node = executables.start(
        "interval_identifier",
        "-p",
        "diagnostics_period:=0.1",
        "--params-file",
        str(project_root / "config" / "panda.yaml"),
    )
    bench.until(lambda: diagnostics)
    assert values(diagnostics[-1])["status"] == "WAITING"
    executables.end(node)
