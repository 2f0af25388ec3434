# SPDX-License-Identifier: Apache-2.0
"""The demo's command line, its bookkeeping and its screen; no process is started here."""

from __future__ import annotations

import argparse
import io
import math
import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rich.console import Console
from shared.synthetic_run import TRUTH, run

from sysid_nodes.cli import main as command
from sysid_nodes.cli.certified import demo as kinova
from sysid_nodes.cli.certified import demo_config as kinova_config
from sysid_nodes.cli.certified import demo_screen as screen
from sysid_nodes.cli.certified.demo import short_of_goal
from sysid_nodes.cli.certified.demo_screen import Screen, plain_line
from sysid_nodes.cli.certified.demo_summary import all_missed_truths, broken_margins, have_same_numbers, summary
from sysid_nodes.cli.certified.demo_watch import Watch
from sysid_nodes.cli.demo import add_arguments, nodes
from sysid_nodes.cli.demo.ending import NOT_THERE
from sysid_nodes.cli.demo.machine import Load
from sysid_nodes.cli.demo.rviz import rviz_files
from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.data.config import load_yaml
from sysid_nodes.data.packaged import required_file
from sysid_nodes.data.scene import load_scene
from sysid_nodes.exceptions import InputError
from sysid_nodes.messages.transport import use_udp
from sysid_nodes.models.known_robot import PriorConfig
from sysid_nodes.reports.certified.history import CertifiedHistory
from sysid_nodes.reports.certified.margins import Distances, Margin, Tracking
from sysid_nodes.reports.certified.result import CertifiedRun, goal_check
from sysid_nodes.reports.interval.result_file import build_document
from sysid_nodes.results import Status
from sysid_nodes.results.trajectory_record import Phase
from sysid_nodes.robots import limb, load_robot
from sysid_nodes.sessions.certified.settings import CertifiedModel, CertifiedSettings
from sysid_nodes.sessions.diagnostic_keys import CLOSEST_JOINT, CLOSEST_OBSTACLE, LAST_OUTCOME, TIMED_OUT, UNCERTIFIED
from sysid_nodes.simulation.arm import random_dumbbell
from sysid_nodes.simulation.arm.config import ArmSimulationConfig, SimulatedArmConfig, build_payload
from sysid_nodes.systems.certified.control.output import Mode
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

PRIOR = PriorConfig().bounds
ROBOT, CONTROLLER = "simulated_arm: robot", "robust_controller: control"
IDENTIFIER, PLANNER = "interval_identifier: identification", "certified_planner: planning"
AT_EASE = {"largest share so far": "0.05"}


def bounds_line(lower: Any, upper: Any, status: Status = Status.PROVEN) -> dict[str, Any]:
    message = "clash" if status is Status.INCONSISTENT else ""
    fields = {"lower": list(lower), "upper": list(upper), "status": int(status), "message": message}
    return {"bounds": fields | {"window": 4, "solve_time": 0.02}}


def plan_line(name: str, phase: Phase = Phase.EXCITE) -> dict[str, Any]:
    margins = {"torque_margin": [3.0, 0.5], "obstacle_margin": 0.04, "binding": "torque of joint_2"}
    return {"plan": {"id": name, "phase": phase.name, **margins}}


def status_line(mode: Mode, name: str = "", reason: int = 0, text: str = "", refused: str = "") -> dict[str, Any]:
    told = {"mode": int(mode), "reason": reason, "text": text, "trajectory_id": name, "trajectory_time": 0.1}
    told |= {"refused_id": refused, "refused_text": "the trajectory starts in the past" if refused else ""}
    return {"status": told | {"torque": [45.0, -9.0], "torque_limit": [90.0, 45.0]}}


def diagnostics_line(
    count: int, *, received: int, waiting: int = 0, phase: Phase = Phase.EXCITE, at_rest: str = "False"
) -> dict[str, Any]:
    identifier = {
        "received on /joint_states": str(received), "messages waiting": str(waiting), "rate [Hz]": "1000.0",
        "lag [s]": "0.010", "samples rejected": "2", "samples used": str(received - 2),
    }  # fmt: skip
    robot = {
        "at rest": at_rest, "real-time factor": "0.500", "clearance to obstacles [m]": "0.123456",
        CLOSEST_JOINT: "joint_7", CLOSEST_OBSTACLE: "shelf",
    }  # fmt: skip
    planner = {"phase": phase.name, "last outcome": "nothing was certified in time"}
    told = {IDENTIFIER: identifier, ROBOT: robot, CONTROLLER: AT_EASE, PLANNER: planner}
    return {"count": count, "diagnostics": told}


@pytest.fixture
def watch() -> Watch:
    made = Watch(PRIOR, TRUTH, tick=1e-3)
    made.take(bounds_line(TRUTH - 0.01, TRUTH + 0.01))
    made.take(plan_line("one"))
    made.take(status_line(Mode.TRACKING, "one"))
    made.take(diagnostics_line(3000, received=3000))
    return made


@pytest.fixture(scope="module")
def model() -> CertifiedModel:
    return CertifiedModel(CertifiedSettings.of(kinova_config.parameters(1, kinova_config.payload(1, None), 7.5)))


def run_of(
    model: CertifiedModel, *, stop: str = "", goal: bool = True, usage: float = 0.1, kept: bool = True
) -> CertifiedRun:
    """A run that moved nothing, as far as a summary cares."""
    q = np.array([kinova_config.GOAL if goal else np.zeros(7)] * 2)
    history = CertifiedHistory(
        model.robot.joint_names, np.array([1.0, 2.0]), q, 0.0 * q, np.array([1.0]), np.full((1, 7), 9.0), (), (), stop,
        load_scene(required_file(kinova_config.SCENE)),
    )  # fmt: skip
    return CertifiedRun(
        model,
        history,
        Tracking(np.array([1.0]), 0.0 * q[:1], 0.0 * q[:1], np.array([usage])),
        Distances(np.array([1.0]), np.array([0.2]), np.array([0.1]), "platform"),
        (Margin("torque", "N m", 1.0, 2.0 if kept else 0.5, kept),),
        np.array(kinova_config.GOAL),
        0.05,
        {"real_time_factor": 0.5},
    )


def told(watch: Watch, loop: CertifiedRun, **options: Any) -> str:
    usage = options.pop("usage", {})
    document = options.pop("document", build_document(run()))
    return summary(watch, document, loop, agree=options.pop("agree", True), usage=usage)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: robot"),
        (["ur10"], "invalid choice: 'ur10'"),
        (["kinova", "--identify", "0.5"], "argument --identify: expected a number from 1 to 60, got '0.5'"),
        (["kinova", "--identify", "nan"], "argument --identify: expected a number from 1 to 60, got 'nan'"),
        (["kinova", "--speed", "2"], "argument --speed: expected a number from 0.05 to 1, got '2'"),
        (["kinova", "--payload", "four"], "argument --payload: expected a number from 0.1 to 3.6, got 'four'"),
        (["kinova", "--payload", "3.8"], "argument --payload: expected a number from 0.1 to 3.6, got '3.8'"),
        (["kinova", "--seed", "-1"], "argument --seed: expected a whole number from 0 on, got '-1'"),
        (["kinova", "--domain-id", "233"], "argument --domain-id: expected 0 to 232, got '233'"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["demo", *words]) == 2
    text = capsys.readouterr().err
    assert message in text
    assert text.count("\n") == 1


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["demo", "--help"]) == 0
    assert "  sysid demo kinova" in capsys.readouterr().out


@pytest.mark.parametrize(("module", "name"), [("rclpy", "ROS 2"), ("online_sysid", "this package's messages")])
def test_without_ros_it_says_what_is_missing(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda asked: None if asked == module else asked)
    assert command.main(["demo", "kinova", "--out", str(tmp_path / "out")]) == 2
    assert f"the live demo needs {name}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda asked: asked)
    (tmp_path / "thesis.tex").write_text("do not touch")
    assert command.main(["demo", "kinova", "--out", str(tmp_path)]) == 2
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]


def test_rviz_is_asked_for_only_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(InputError, match="needs rviz2"):
        rviz_files(tmp_path, kinova_config.VIEW, load_robot(kinova_config.ROBOT))
    monkeypatch.setattr("shutil.which", lambda name: name)
    view, description = rviz_files(tmp_path, kinova_config.VIEW, load_robot(kinova_config.ROBOT))
    assert view.is_file()
    text = yaml.safe_load(description.read_text())["/**"]["ros__parameters"]["robot_description"]
    assert "<visual" in text, "the Gen3's own description has no shapes"
    leg = limb(load_robot("go2"), "FL")
    _, description = rviz_files(tmp_path, "rviz/actuators.rviz", leg)
    text = yaml.safe_load(description.read_text())["/**"]["ros__parameters"]["robot_description"]
    assert text.count('type="revolute"') == 3, "nobody reads the other legs"


@pytest.mark.parametrize(
    ("demo", "line"),
    [
        ("go2", "needs rviz2 and ros2 on the PATH"),
        ("actuators", "needs rviz2 and ros2 on the PATH"),
        ("spi", "needs rviz2 and ros2 on the PATH"),
        ("fourbar", "encoders do not tell where all of a linkage is"),
    ],
)
def test_no_demo_passes_over_that_rviz_is_wanted(
    demo: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("rclpy", "online_sysid.msg"):
        pytest.importorskip(module, reason="the live demo needs ROS")
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert command.main(["demo", demo, "--rviz", "--out", str(tmp_path / "out")]) == 2
    assert line in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_one_file_serves_all_nodes_and_a_replay(tmp_path: Path) -> None:
    carried = kinova_config.payload(3, 2.5)
    file = tmp_path / "config.yaml"
    file.write_text(kinova_config.parameter_file(kinova_config.parameters(3, carried, 4.0)))
    identifier = load_yaml(IntervalIdentifierConfig, file)
    robot = load_yaml(SimulatedArmConfig, file).simulated_arm
    # the identifier is told of the simulated sensors what they keep
    assert robot.hardware.torque_relative <= identifier.noise.torque_relative[0]
    assert robot.hardware.robot_error <= identifier.known_robot.inertia_relative
    # a stamp of today, in seconds as a double, is off by half a step of the doubles there
    assert identifier.noise.stamp_error > 0.5 * math.ulp(2e9)
    assert identifier.noise.torque_interpolation == "until"
    assert robot.lockstep
    assert robot.seed == 3
    assert kinova_config.parameters(3, carried, 4.0)["certified_planner.excite_time"] == 4.0


def test_the_processes_leave_something_of_the_cores() -> None:
    speeds = [kinova_config.affordable_speed(cores) for cores in (1, 2, 3, 4, 64)]
    assert speeds[0] > 0.0 and speeds[-2:] == [1.0, 1.0]
    assert speeds == sorted(speeds)
    assert 0.5 < speeds[1] < 2.0 / 2.1, "what they take in real time, on two cores"
    assert kinova_config.parameters(3, kinova_config.payload(3, None), 4.0, speed=0.3)["simulated_arm.speed"] == 0.3


def test_the_robot_carries_the_dumbbell_that_was_asked_for() -> None:
    robot = load_robot(kinova_config.ROBOT)
    for mass in (2.5, None):
        wanted = kinova_config.payload(7, mass)
        values = kinova_config.parameters(7, wanted, 7.5)
        made = build_payload(robot, ArmSimulationConfig(payload=tuple(values["simulated_arm.payload"])))
        assert made is not None
        one, other = (body.spatial_inertia(robot)[1].toDynamicParameters() for body in (made, wanted))
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
    assert kinova_config.payload(7, 2.5).mass == 2.5
    assert kinova_config.payload(7, None).mass == random_dumbbell(np.random.default_rng(7)).mass


def test_errors_at_the_goal_are_smaller_when_the_load_is_known(model: CertifiedModel) -> None:
    """What the demo is about; a tenth of Table I is what the identification leaves."""
    scene, goal = load_scene(required_file(kinova_config.SCENE)), np.array(kinova_config.GOAL)
    before = goal_check(model, goal, PRIOR, scene)
    _, inertia = kinova_config.payload(1, 3.6).spatial_inertia(model.robot)
    loaded = model.robot.inertial_parameters()[6] + inertia.toDynamicParameters()
    known = type(PRIOR)(loaded - 0.1 * PRIOR.half_width, loaded + 0.1 * PRIOR.half_width)
    after = goal_check(model, goal, known, scene)
    assert after["certified"]
    assert 0.0 < after["position_error"] < 0.7 * before["position_error"]


def test_a_domain_in_use_and_the_users_own_are_avoided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_PORT_BASE", 1100)  # where no test that runs beside this one has a participant
    monkeypatch.setattr(nodes, "_DOMAINS", range(1, 4))
    monkeypatch.setenv("ROS_DOMAIN_ID", "1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("", 1100 + 250 * 2 + 12))
        assert {nodes.free_domain() for _ in range(20)} == {3}


def test_a_domain_is_in_use_while_a_node_takes_part_in_it() -> None:
    rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed")
    own = int(os.environ["ROS_DOMAIN_ID"])
    context = rclpy.Context()
    context.init(domain_id=own)
    node = rclpy.create_node("participant", context=context)
    try:
        assert not nodes._is_free(own)
    finally:
        node.destroy_node()
        context.try_shutdown()


def test_nothing_leads_the_processes_off_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISCOVERY_SERVER", "192.0.2.1:11811")
    monkeypatch.setenv("ROS_STATIC_PEERS", "192.0.2.1")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    variables = nodes.environment(42)
    assert variables["ROS_DOMAIN_ID"] == "42"
    assert variables["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert not {"ROS_DISCOVERY_SERVER", "ROS_STATIC_PEERS"} & set(variables)


@pytest.mark.parametrize("chosen", ["SHM", "DEFAULT", "LARGE_DATA"])
def test_nothing_leads_the_processes_into_shared_memory(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTDDS_BUILTIN_TRANSPORTS", chosen)
    variables = nodes.environment(42)
    use_udp(variables)
    assert variables["FASTDDS_BUILTIN_TRANSPORTS"] == "UDPv4"
    assert variables["FASTRTPS_DEFAULT_PROFILES_FILE"].endswith("loopback.xml")
    assert variables["SKIP_DEFAULT_XML"] == "1"


def test_the_watch_knows_when_all_has_arrived(watch: Watch) -> None:
    assert watch.time == 3.0
    assert watch.complete
    watch.take(diagnostics_line(5000, received=4990))
    assert not watch.complete
    watch.take(diagnostics_line(5000, received=5000, waiting=3))
    assert not watch.complete
    watch.take(diagnostics_line(5000, received=5000))
    assert watch.complete


def test_what_the_robot_does_is_what_the_planner_has_planned_it_for(watch: Watch) -> None:
    assert watch.phase == "identifying the load"
    watch.take(status_line(Mode.TRACKING, "three"))
    assert watch.phase == "moving"  # its trajectory has not arrived yet
    watch.take(plan_line("three", Phase.REACH))
    assert watch.phase == "carrying the load"
    assert watch.executed == {"one", "three"}


def test_the_end_is_when_nothing_is_left_to_do_and_the_robot_rests(watch: Watch) -> None:
    watch.take(diagnostics_line(4000, received=4000, phase=Phase.REST))
    watch.take(status_line(Mode.BRAKING, "one", 2, "no further trajectory arrived in time"))
    assert (watch.finished, watch.phase) == (False, "coming to rest")
    watch.take(status_line(Mode.HOLDING, "one", 2, "no further trajectory arrived in time"))
    assert watch.finished
    watch.take(diagnostics_line(4000, received=4000, phase=Phase.REACH))
    assert not watch.finished
    assert watch.phase == "at rest: no further trajectory arrived in time"


def test_a_stop_is_seen_whoever_called_for_it(watch: Watch) -> None:
    watch.take({"stop": {"reason": 0, "text": ""}})
    assert not watch.stopped
    watch.take({"stop": {"reason": 60, "text": "COMMAND_TIMEOUT: no command"}})
    assert (watch.stopped, watch.resting) == (True, False)
    assert watch.phase == "STOPPED: COMMAND_TIMEOUT: no command"
    watch.take(diagnostics_line(4000, received=4000, at_rest="True"))
    assert watch.resting


def test_a_controller_s_stop_tells_its_reason(watch: Watch) -> None:
    watch.take(status_line(Mode.STOPPED, "one", 10, "no joint states arrive"))
    assert watch.phase == "STOPPED: no joint states arrive"
    assert "no joint states arrive" in plain_line(watch)


def test_refusals_are_counted_once(watch: Watch) -> None:
    for _ in range(3):
        watch.take(status_line(Mode.TRACKING, "one", refused="two"))
    assert watch.refused == ["the trajectory starts in the past"]


def test_the_least_torque_is_remembered(watch: Watch) -> None:
    assert watch.torque_now == watch.torque_left == pytest.approx(0.5)
    line = status_line(Mode.TRACKING, "one")
    line["status"]["torque"] = [9.0, 0.0]
    watch.take(line)
    assert watch.torque_now == pytest.approx(0.9)
    assert watch.torque_left == pytest.approx(0.5)


def test_a_truth_outside_is_never_forgotten(watch: Watch, model: CertifiedModel) -> None:
    document = build_document(run())
    assert all_missed_truths(watch, document) == []
    upper = TRUTH + 0.01
    upper[3] = TRUTH[3] - 1e-9
    watch.take(bounds_line(TRUTH - 0.01, upper))
    watch.take(bounds_line(TRUTH - 0.01, TRUTH + 0.01))
    assert all_missed_truths(watch, document) == ["m*cz"]
    assert "WRONG" in told(watch, run_of(model))


def test_a_truth_outside_the_final_result_counts_even_if_it_was_not_published(watch: Watch) -> None:
    document = build_document(run())
    document["parameters"][0]["lower"] = TRUTH[0] + 1e-9
    assert all_missed_truths(watch, document) == ["m"]


@pytest.mark.parametrize(
    ("options", "names"), [({}, []), ({"kept": False}, ["torque"]), ({"usage": 1.01}, ["tracking error"])]
)
def test_what_was_certified_and_not_kept_is_loud(
    watch: Watch, model: CertifiedModel, options: dict[str, Any], names: list[str]
) -> None:
    loop = run_of(model, **options)
    assert broken_margins(loop) == names
    assert ("WRONG: what was certified was not kept" in told(watch, loop)) is bool(names)


def test_a_contradiction_keeps_the_last_bounds_on_the_screen(watch: Watch) -> None:
    before = watch.bounds
    watch.take(bounds_line([math.nan] * 10, [math.nan] * 10, Status.INCONSISTENT))
    assert watch.contradicted == "clash"
    assert watch.bounds is before


def drawn(watch: Watch, encoding: str = "utf-8", width: int = 100) -> str:
    shown = Screen("title")
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    shown.console = Console(file=stream, width=width)
    shown.console.print(shown.table(watch))
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_table_shows_every_interval_on_any_terminal(watch: Watch, encoding: str) -> None:
    text = drawn(watch, encoding)
    rows = text.splitlines()[1:]
    assert [row.split()[0] for row in rows] == list(PARAMETER_NAMES)
    assert all(row.rstrip().endswith("inside") for row in rows)
    # ends are rounded outward: what is shown is true
    lower, truth, upper = (float(cell) for cell in rows[0].split()[2:5])
    assert lower <= TRUTH[0] - 0.01 <= TRUTH[0] + 0.01 <= upper
    assert truth == pytest.approx(TRUTH[0], abs=1e-4)
    assert max(map(len, text.splitlines())) <= 100


def test_after_a_contradiction_the_intervals_are_called_withdrawn(watch: Watch) -> None:
    assert "Withdrawn" not in drawn(watch)
    assert "mass" in plain_line(watch)
    watch.take(bounds_line([math.nan] * 10, [math.nan] * 10, Status.INCONSISTENT))
    assert "Withdrawn: the data contradict the stated assumptions" in drawn(watch)
    line = plain_line(watch)
    assert "no bounds are claimed: clash" in line
    assert "mass" not in line


@pytest.mark.parametrize(
    ("failed", "timed_out", "words", "blamed"),
    [
        (3, False, "not even standing still is certified: torque of joint_5, -3 N m to its limit", False),
        (3, True, "no trajectory was certified in time: there was no time for a certificate", True),
        (0, False, "torque of joint_5, +3 N m to its limit", True),
    ],
)
def test_a_planner_with_time_that_certifies_nothing_is_not_the_machines_fault(
    model: CertifiedModel, watch: Watch, failed: int, timed_out: bool, words: str, blamed: bool
) -> None:
    line = diagnostics_line(4000, received=4000)
    line["diagnostics"][PLANNER] |= {LAST_OUTCOME: words, UNCERTIFIED: str(failed), TIMED_OUT: str(timed_out)}
    watch.take(line)
    ending = short_of_goal(run_of(model, goal=False), watch)
    assert ending.status == NOT_THERE
    assert ending.timing is blamed
    assert (words in ending.fault and "a shorter delay" in ending.fault) is not blamed


def test_what_stopped_the_robot_is_told_before_what_the_planner_says(model: CertifiedModel, watch: Watch) -> None:
    line = diagnostics_line(4000, received=4000)
    line["diagnostics"][PLANNER] |= {UNCERTIFIED: "2"}
    watch.take(line)
    ending = short_of_goal(run_of(model, stop="TRACKING_ERROR: far off"), watch)
    assert "far off" in ending.fault and not ending.timing


def test_a_miss_is_loud_in_the_table(watch: Watch) -> None:
    watch.take(bounds_line(TRUTH + 0.001, TRUTH + 0.01))
    assert drawn(watch).count("OUTSIDE") == 10


def test_the_bar_spans_the_prior_and_marks_the_truth() -> None:
    truth = PRIOR.lower + 0.5 * (PRIOR.upper - PRIOR.lower)
    watch = Watch(PRIOR, truth, tick=1e-3)
    assert screen._bar(watch, 0, 20, True).plain == "━" * 10 + "┃" + "━" * 9
    width = PRIOR.upper - PRIOR.lower
    watch.take(bounds_line(PRIOR.lower + 0.26 * width, PRIOR.lower + 0.74 * width))
    assert screen._bar(watch, 0, 20, True).plain == "·" * 5 + "━" * 5 + "┃" + "━" * 4 + "·" * 5


def test_elsewhere_a_line_tells_the_same(watch: Watch, capsys: pytest.CaptureFixture[str]) -> None:
    with Screen("starting") as shown:
        shown.console = Console(file=io.StringIO(), width=100)
        shown.show(watch)
        shown.show(watch)  # not due yet
        shown.say("something else")
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["starting", plain_line(watch), "something else"]
    assert "10/10 truths inside" in lines[1]
    assert "torque left 50 %" in lines[1]
    assert "errors 5 % of proven" in lines[1]
    assert "0.50 of real time" in lines[1]


def test_a_terminal_shows_plans_margins_and_distances(watch: Watch) -> None:
    watch.take(status_line(Mode.TRACKING, "one", refused="two"))
    text = "\n".join(line.plain for line in Screen("title")._lines(watch, ""))
    assert "identifying the load" in text
    assert "1 certified, 1 executed, 1 refused (the trajectory starts in the past)" in text
    assert "4.0 cm off obstacles and 0.5 N m off torque limits" in text
    assert "nearest to a limit is torque of joint_2" in text
    assert "nearest to an obstacle so far: 12.3 cm (what joint_7 moves and 'shelf')" in text


def test_the_summary_tells_pace_and_processors(watch: Watch, model: CertifiedModel) -> None:
    text = told(watch, run_of(model), agree=False, usage={"robot": 0.2})
    assert "passed at 0.50 of real time" in text
    assert "robot 20 %" in text
    assert "did not hear all of it" in text
    assert "carried to its goal" in text


@pytest.mark.parametrize(
    ("options", "status", "line"),
    [
        ({}, 0, ""),
        ({"stop": "no command came"}, 4, "sysid: demo: The robot was stopped: no command came."),
        ({"goal": False}, 4, "sysid: demo: The robot rests short of its goal."),
        ({"kept": False, "stop": "no command came"}, 1, "sysid: demo: SOMETHING PROVEN DID NOT HOLD: torque"),
    ],
)
def test_the_exit_status_tells_how_it_ended(
    watch: Watch,
    model: CertifiedModel,
    options: dict[str, Any],
    status: int,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Everything but the live part and what is made of its recording."""
    loop = run_of(model, **options)
    monkeypatch.setattr("importlib.util.find_spec", lambda asked: asked)
    monkeypatch.setattr(Load, "full", False)
    monkeypatch.setattr(kinova, "_live", lambda *_: kinova.Ended(watch, {"robot": 0.3}, 0.5, {}))
    monkeypatch.setattr(kinova.summary, "evaluate", lambda *_: (build_document(run()), loop, True))
    assert command.main(["demo", "kinova", "--seed", "1", "--out", str(tmp_path / "out")]) == status
    errors = capsys.readouterr().err
    assert errors == (f"{line}\n" if line else "")


def test_a_contradiction_has_a_status_of_its_own(
    watch: Watch,
    model: CertifiedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    watch.take(bounds_line([math.nan] * 10, [math.nan] * 10, Status.INCONSISTENT))
    monkeypatch.setattr("importlib.util.find_spec", lambda asked: asked)
    monkeypatch.setattr(Load, "full", False)
    monkeypatch.setattr(kinova, "_live", lambda *_: kinova.Ended(watch, {}, None, {}))
    contradicted = build_document(run(Status.INCONSISTENT))
    monkeypatch.setattr(kinova.summary, "evaluate", lambda *_: (contradicted, run_of(model, goal=False), True))
    assert command.main(["demo", "kinova", "--out", str(tmp_path / "out")]) == 3
    assert capsys.readouterr().err == "sysid: demo: clash\n"


def test_results_are_the_same_only_to_the_last_bit() -> None:
    one, other = build_document(run()), build_document(run())
    assert have_same_numbers(one, other)
    other["history"][7]["lower"][3] = np.nextafter(other["history"][7]["lower"][3], -1.0)
    assert not have_same_numbers(one, other)


def test_arguments_have_defaults_that_ask_nothing() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    args = parser.parse_args(["kinova"])
    assert (args.out, args.identify, args.seed, args.payload) == (Path("demo_output"), 7.5, None, None)
