# SPDX-License-Identifier: Apache-2.0
"""Simulated leg and identifier as users run them: a process each, real DDS, real time, signals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import ParameterPosterior
from sensor_msgs.msg import BatteryState
from shared.demo_process import DEMO_FILES, check_that_an_orphaned_recorder_drops_its_bag, run_demo
from shared.leg_bag import VALUES
from shared.quick_and_slow import mark_slow
from shared.refusal import check_refusal
from std_msgs.msg import Float64

from sysid_nodes.logs.reader import read_topics
from sysid_nodes.reports.files import read_document
from sysid_nodes.ros import qos
from sysid_nodes.ros.bayesian.recorder import TOPICS

pytestmark = pytest.mark.ros


METER, PAIR = "power", "bus_voltage,bus_current"


def relay_as_numbers(bench: Any) -> None:
    """The meter's voltage and current once more, one by one and without a stamp."""
    profile = qos.stream("reliable", 1000)
    voltage, current = (bench.tester.create_publisher(Float64, f"/{topic}", profile) for topic in PAIR.split(","))

    def pass_on(message: Any) -> None:
        voltage.publish(Float64(data=message.voltage))
        current.publish(Float64(data=-message.current))  # drawn

    bench.tester.create_subscription(BatteryState, f"/{METER}", pass_on, profile)


@pytest.mark.parametrize("power", mark_slow([METER, PAIR], but=[METER]))
def test_a_simulated_leg_is_identified_live(
    bench: Any, executables: Any, tmp_path: Path, project_root: Path, power: str
) -> None:
    if power == PAIR:
        relay_as_numbers(bench)
    heard = bench.listen(ParameterPosterior, "/bayesian_identifier/posterior", qos.LATCHED)
    truth = tmp_path / "truth.json"
    words = [word for name, value in {**VALUES, "power": power}.items() for word in ("-p", f"{name}:={value}")]
    config = str(project_root / "config" / "fourbar_bayesian.yaml")
    node = executables.start("bayesian_identifier", "--params-file", config, *words)
    motion = ("-p", "duration:=2.5", "-p", "rate:=200.0", "-p", "listeners:=1", "-p", "seed:=3")
    leg = executables.start("simulated_linkage", *motion, "-p", f"truth_file:={truth}")
    bench.until(lambda: heard and heard[-1].window == 0)
    told, hidden = heard[-1], json.loads(truth.read_text(encoding="utf-8"))
    rows = zip(told.names, told.verdict, told.lower, told.upper, strict=True)
    observed = [(name, lower, upper) for name, verdict, lower, upper in rows if verdict == "observed"]
    assert len(observed) >= 10
    assert "idle power" in [name for name, _, _ in observed], "the meter was heard"
    assert sum(lower <= hidden[name] <= upper for name, lower, upper in observed) >= 0.8 * len(observed)
    for process in (leg, node):
        executables.end(process)


def test_a_motion_that_is_interrupted_ends_quietly(bench: Any, executables: Any) -> None:
    told = bench.listen(DiagnosticArray, "/diagnostics")
    leg = executables.start("simulated_linkage", "-p", "duration:=3.0", "-p", "rate:=50.0", "-p", "listeners:=0")
    bench.until(lambda: any("moving" in status.message for array in told for status in array.status))
    executables.end(leg)


@pytest.mark.parametrize(
    ("node", "words", "line"),
    [
        ("bayesian_identifier", ("-p", "bayesian.online.window:=0.1"), "'bayesian.online.window' must be at least 0.5"),
        ("simulated_linkage", ("-p", "rate:=1.0"), "'rate' must be at least 50"),
    ],
)
def test_a_wrong_parameter_is_one_line_and_status_two(
    node: str, words: tuple[str, ...], line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    check_refusal(line, node, *words, capfd=capfd)


@pytest.mark.slow
def test_the_demo_finds_what_is_hidden(tmp_path: Path) -> None:
    status, out, errors = run_demo("fourbar", "--seed", "3", "--motion-time", "7", folder=tmp_path)
    assert status == 0, out + errors
    assert "posteriors of all 3 windows are the live node's to the last bit" in out
    assert "sysid demo fourbar --motion-time 7.0 --seed 3 --out out" in out
    assert {item.name for item in (tmp_path / "out").iterdir()} == DEMO_FILES
    counts = {topic.name: topic.count for topic in read_topics(tmp_path / "out" / "bag")}
    assert set(counts) == {topic.name for topic in TOPICS}
    document = read_document(tmp_path / "out")
    truth = json.loads((tmp_path / "out" / "truth" / "leg.json").read_text())
    rows = {row["name"]: row for row in document["parameters"]}
    assert rows["hip.coulomb"]["truth"] == truth["hip.coulomb"]
    assert ">truth<" in (tmp_path / "out" / "report.html").read_text()


def test_a_recorder_whose_parent_is_gone_drops_its_bag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_that_an_orphaned_recorder_drops_its_bag("bayesian", tmp_path, monkeypatch)
