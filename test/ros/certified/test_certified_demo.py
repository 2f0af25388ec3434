# SPDX-License-Identifier: Apache-2.0
"""The demo as a user runs it: robot, controller, planner, identifier and recorder, real DDS, files, signals.

Nothing here depends on the machine's speed: on a slow one the robot's time passes more slowly, and a plan that comes
too late makes the robot rest for a while; bounds and certificates are sound either way.
"""

from __future__ import annotations

import signal
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from shared.children import finish, run
from shared.demo_process import LONG, interrupt_demo, sysid
from shared.quick_and_slow import mark_slow
from shared.views import check_curves, check_view
from visualization_msgs.msg import MarkerArray

from sysid_nodes.cli.certified.demo_config import GOAL
from sysid_nodes.cli.certified.demo_summary import have_same_numbers
from sysid_nodes.logs import read_joint_states, read_messages, read_topics
from sysid_nodes.messages.interval.bounds import TOPIC
from sysid_nodes.messages.robot_view import DESCRIPTION, TRANSFORMS
from sysid_nodes.reports.certified.history import COMMANDS, TYPES
from sysid_nodes.reports.certified.schema import validate_certified
from sysid_nodes.reports.interval.result_file import read_result
from sysid_nodes.ros.certified.recorder import TOPICS
from sysid_nodes.ros.recording import header_stamp
from sysid_nodes.simulation.arm import random_dumbbell

pytestmark = pytest.mark.ros

SEED = 11

NEAR = (-1.33, 0.43, -3.68, -1.58, 0.2, -1.14, -0.2)
"""A goal on this side of the obstacle [rad]: the way to the demo's own takes 15 s more, and tells the same."""

TO = """
import sys
from matplotlib.figure import Figure
from sysid_nodes.cli.certified import demo_config
Figure.draw = lambda *_: None  # see blank_figures
demo_config.GOAL = tuple(map(float, sys.argv.pop(1).split()))
from sysid_nodes.start import sysid
sys.exit(sysid())
"""


@pytest.fixture(scope="module", params=mark_slow(["near", "over the obstacle"], but=["near"]))
def goal(request: pytest.FixtureRequest) -> tuple[float, ...]:
    return NEAR if request.param == "near" else GOAL


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, goal: tuple[float, ...]) -> tuple[Path, int, str, str]:
    """One run, looked at by several tests."""
    folder = tmp_path_factory.mktemp("demo")
    # So slow that the planner keeps up beside other work: each rest in between costs time and tells nothing.
    words = ("demo", "kinova", "--seed", str(SEED), "--identify", "1", "--speed", "0.6", "--out", "out")
    return folder, *run("-c", TO, " ".join(map(str, goal)), *words, limit=LONG, cwd=folder)


def test_it_carries_the_load_to_its_goal(demo: tuple[Path, int, str, str]) -> None:
    _, status, out, errors = demo
    assert status == 0, errors + out
    assert "this machine only" in out
    assert "Standing at the goal can be certified with errors up to " in out
    assert "identifying the load" in out
    assert "carrying the load" in out
    assert "10/10 truths inside" in out
    assert "OUTSIDE" not in out
    assert "The load was carried to its goal in certified motion." in out
    assert "Standing there its errors are proven to be at most " in out
    assert "out/report.html" in out
    assert f"--seed {SEED}" in out


def test_what_was_certified_was_kept(demo: tuple[Path, int, str, str], goal: tuple[float, ...]) -> None:
    document = read_result(demo[0] / "out")
    validate_certified(document)
    told = document["certified"]
    assert told["outcome"] == "arrived"
    assert told["goal"] == list(goal)
    assert told["final_check"]["certified"]
    assert told["final_check"]["position_error"] < told["prior_check"]["position_error"]
    assert all(margin["kept"] for margin in told["margins"])
    assert all(margin["seen"] > 0.0 for margin in told["margins"])
    assert 0.0 < told["tracking_share"] < 1.0
    executed = [plan for plan in told["plans"] if plan["begun"] is not None]
    assert {plan["phase"] for plan in executed} == {"identify", "carry"}
    assert all(plan["verdict"] == "CERTIFIED" for plan in executed)
    # made for narrower and narrower bounds
    assert [plan["window"] for plan in executed] == sorted(plan["window"] for plan in executed)
    assert executed[0]["window"] < executed[-1]["window"]
    assert not any(event["mode"] == "STOPPED" for event in told["events"])
    assert set(told["processor"]) >= {"robot", "controller", "planner", "identifier", "recorder"}


def test_it_leaves_all_its_files_and_nothing_else(demo: tuple[Path, int, str, str]) -> None:
    folder = demo[0]
    assert {item.name for item in folder.iterdir()} == {"out"}
    names = {item.name for item in (folder / "out").iterdir()}
    assert names == {"bag", "config.yaml", "report.html", "result.json", "scene.yaml", "series.npz"}
    assert (folder / "out" / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_the_result_holds_the_hidden_payload(demo: tuple[Path, int, str, str]) -> None:
    document = read_result(demo[0] / "out")
    payload = random_dumbbell(np.random.default_rng(SEED))
    # hand and last link weigh something too; the truth is theirs and the payload's
    assert payload.mass < document["truth"][0] < payload.mass + 2.0
    for step in [*document["history"], {k: [p[k] for p in document["parameters"]] for k in ("lower", "upper")}]:
        for lower, truth, upper in zip(step["lower"], document["truth"], step["upper"], strict=True):
            assert lower <= truth <= upper
    assert document["samples"]["used"] > 0


def test_the_bag_holds_all_topics_of_the_loop(demo: tuple[Path, int, str, str]) -> None:
    bag = demo[0] / "out" / "bag"
    counts = {topic.name: topic.count for topic in read_topics(bag)}
    assert set(counts) == {topic.name for topic in TOPICS} | {f"/{DESCRIPTION}", f"/{TRANSFORMS}"}
    assert all(counts[topic.name] for topic in TOPICS if topic.message is MarkerArray)
    stamps = np.array([state.stamp for state in read_joint_states(bag)])
    # nothing is left out between the first and the last: every tick of the robot's time is there
    np.testing.assert_allclose(np.diff(stamps), 1e-3, atol=1e-6)
    answered = [message.header.stamp for _, message in read_messages(bag, COMMANDS, TYPES[COMMANDS])]
    answered = [stamp.sec + 1e-9 * stamp.nanosec for stamp in answered]
    # from the first command on, each joint state is answered
    first = int(np.searchsorted(stamps, answered[0] - 1e-6))
    assert len(stamps) - first - 1 <= len(answered) <= len(stamps) - first
    assert len(list(read_messages(bag, TOPIC, "online_sysid/msg/ParameterBounds"))) > 1


@pytest.mark.slow
def test_rviz_foxglove_and_plotjuggler_find_in_the_bag_what_they_show(demo: tuple[Path, int, str, str]) -> None:
    check_view("kinova.rviz", demo[0] / "out/bag")
    check_curves(demo[0] / "out/bag")


@pytest.mark.slow  # the demo says of itself whether it does
def test_replay_of_the_bag_gives_the_same_numbers(demo: tuple[Path, int, str, str]) -> None:
    folder, _, said, _ = demo
    words = ("replay", "out/bag", "--config", "out/config.yaml", "--out", "again")
    process = sysid(*words, cwd=folder)
    _, errors = finish(process, LONG)
    assert process.returncode == 0, errors
    result, again = read_result(folder / "out"), read_result(folder / "again")
    assert "gives the same numbers to the last bit" in said
    assert have_same_numbers(result, again)
    assert result["samples"] == again["samples"]
    assert result["costs"] == again["costs"]


@pytest.mark.slow  # the legged robot's demo ends by the same code, with fewer processes
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, stop: signal.Signals) -> None:
    errors = interrupt_demo("kinova", tmp_path, "truths inside", stop)
    assert errors.startswith("sysid: interrupted") and errors.count("\n") == 1


def test_a_recorder_whose_parent_is_gone_drops_its_bag(tmp_path: Path) -> None:
    """As a process; the others' are told apart by their topics alone."""
    status, _, errors = run("-m", "sysid_nodes.ros.certified.recorder", tmp_path / "bag", stdin=subprocess.DEVNULL)
    assert status == 130, errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("flag", "order"), [(1, "<"), (0, ">")])
def test_a_stamp_is_read_from_the_wire(flag: int, order: str) -> None:
    data = bytes([0, flag, 0, 0]) + struct.pack(f"{order}iI", 1_700_000_000, 999_999_999) + b"rest"
    assert header_stamp(data) == 1_700_000_000_999_999_999


def test_what_is_recorded_is_what_a_run_is_read_from() -> None:
    assert {topic.name: topic.type_name for topic in TOPICS}.items() >= TYPES.items()
