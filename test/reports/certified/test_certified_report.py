# SPDX-License-Identifier: Apache-2.0
"""What a recording of the certified loop is read as, how it compares with its certificates, and the page made of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared.certified_bag import BEGIN, CONFIG, GOAL, TAKEOVER, TICK, TORQUE, trajectories, write_certified_bag
from shared.certified_ride import Q0, ROBOT
from shared.report_pages import without_scripts
from shared.synthetic_run import TRUTH, run

from sysid_nodes.cli import main as command
from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import InputError, LogError
from sysid_nodes.reports.certified.history import CertifiedHistory, read_history
from sysid_nodes.reports.certified.report import render_certified_report
from sysid_nodes.reports.certified.result import (
    CARRY,
    IDENTIFY,
    CertifiedRun,
    certified_fields,
    evaluate_run,
    goal_check,
    load_certified_run,
)
from sysid_nodes.reports.certified.schema import CERTIFIED_FIELDS, validate_certified
from sysid_nodes.reports.interval.result_file import build_document, read_result, write_result
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.sessions.certified.settings import ESTIMATES, CertifiedModel, CertifiedSettings
from sysid_nodes.systems.certified.control.output import Mode

DOC = Path(__file__).parents[3] / "docs" / "certified" / "result.md"
SCENE = Scene((Obstacle("shelf", "box", (1.5, 0.0, 0.5), (0.2, 0.2, 1.0)),))
HERE = {"certified": True, "verdict": "CERTIFIED", "reason": "nothing", "position_error": 0.003}
REFUSED = {
    "certified": False, "verdict": "TORQUE", "reason": "a torque limit may be exceeded <here>", "position_error": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def model() -> CertifiedModel:
    return CertifiedModel(
        CertifiedSettings.of(CONFIG | {"planner.near": 0.1, "certified_planner.seed": 3, "scene": "elsewhere"})
    )


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("loop") / "bag"
    write_certified_bag(path)
    return path


@pytest.fixture(scope="module")
def history(bag: Path) -> CertifiedHistory:
    return read_history(bag, ROBOT.joint_names, SCENE)


def looked_at(model: CertifiedModel, history: CertifiedHistory, goal: Any = GOAL, **facts: Any) -> CertifiedRun:
    told = {"prior_check": REFUSED, "final_check": HERE, "real_time_factor": 0.5, "config": dict(CONFIG)}
    return evaluate_run(model, history, goal, 0.05, told | facts)


@pytest.fixture(scope="module")
def loop(model: CertifiedModel, history: CertifiedHistory) -> CertifiedRun:
    return looked_at(model, history)


@pytest.fixture(scope="module")
def document(loop: CertifiedRun) -> dict[str, Any]:
    made = build_document(run())
    return made | {"truth": TRUTH.tolist(), "certified": certified_fields(loop)}


def test_plans_are_executed_from_their_start_to_that_of_the_next(history: CertifiedHistory) -> None:
    first, second, unused = trajectories()
    assert [plan.record.id for plan in history.plans] == [first.id, second.id, unused.id]
    assert [plan.record.digest() for plan in history.plans] == [first.id, second.id, unused.id]
    one, two = history.executed
    assert one.begun == pytest.approx(BEGIN + 0.2, abs=1e-6)
    assert one.ended == two.begun == pytest.approx(BEGIN + 0.2 + TAKEOVER, abs=1e-6)
    assert two.ended == history.t[-1]
    assert not history.plans[2].executed
    assert history.plans[1].told == pytest.approx(BEGIN + 0.7, abs=TICK)


def test_positions_do_not_jump_by_turns(history: CertifiedHistory) -> None:
    # joint 3 begins at -3.68 rad, which encoders tell as 2.6
    assert np.abs(np.diff(history.q, axis=0)).max() < 0.1
    turns = (history.q[-1] - GOAL) / (2.0 * np.pi)
    np.testing.assert_allclose(turns, np.rint(turns), atol=1e-4)


def test_joints_may_be_named_in_any_order(history: CertifiedHistory, tmp_path: Path) -> None:
    write_certified_bag(tmp_path / "bag", reorder=True)
    other = read_history(tmp_path / "bag", ROBOT.joint_names, SCENE)
    np.testing.assert_array_equal(other.q, history.q)
    np.testing.assert_array_equal(other.command, history.command)


def test_a_recording_of_another_robot_is_refused(bag: Path) -> None:
    with pytest.raises(LogError, match="a joint state has no joint 'wrist'"):
        read_history(bag, ("wrist",), SCENE)


def test_changes_of_the_controller_are_events(history: CertifiedHistory) -> None:
    assert [(event.mode, event.reason) for event in history.events] == [
        (Mode.TRACKING, StopReason.NONE),
        (Mode.BRAKING, StopReason.PLANNER_SILENT),
    ]
    assert history.events[1].text == StopReason.PLANNER_SILENT.message
    assert history.why_stopped == ""


def test_errors_are_those_of_the_joints_on_whatever_turn(model: CertifiedModel, tmp_path: Path) -> None:
    write_certified_bag(tmp_path / "bag", off=0.004)
    found = looked_at(model, read_history(tmp_path / "bag", ROBOT.joint_names, SCENE)).tracking
    np.testing.assert_allclose(found.error[:, 0], -0.004, atol=1e-9)
    np.testing.assert_allclose(found.error[:, 1:], 0.0, atol=1e-9)
    # the certificate's bound on sqrt(sum I_a e^2) is 0.05, of which the encoder may hide half a step
    sure = 0.004 - model.encoder_error[0]
    np.testing.assert_allclose(found.usage, np.sqrt(model.armature[0]) * sure / 0.05, rtol=1e-6)
    np.testing.assert_allclose(found.bound[:, 0], 0.05 / np.sqrt(model.armature[0]))
    assert found.usage.max() < 1.0


def test_an_error_beyond_its_bound_shows(model: CertifiedModel, tmp_path: Path) -> None:
    write_certified_bag(tmp_path / "bag", off=0.004, norm=0.005)
    assert looked_at(model, read_history(tmp_path / "bag", ROBOT.joint_names, SCENE)).tracking.usage.min() > 1.0


@pytest.mark.parametrize(("margin", "kept"), [(45.0 - TORQUE - 0.1, True), (45.0 - TORQUE + 0.1, False)])
def test_a_margin_is_kept_or_it_is_not(model: CertifiedModel, tmp_path: Path, margin: float, kept: bool) -> None:
    """The least limit is 45 N m, and every command is 10 N m."""
    write_certified_bag(tmp_path / "bag", margin=margin)
    torque = looked_at(model, read_history(tmp_path / "bag", ROBOT.joint_names, SCENE)).margins[0]
    assert (torque.name, torque.seen, torque.certified) == ("torque", 45.0 - TORQUE, margin)
    assert torque.kept is kept


def test_arrived_means_near_the_goal_on_whatever_turn(
    model: CertifiedModel, history: CertifiedHistory, loop: CertifiedRun
) -> None:
    assert loop.outcome == "arrived"
    assert loop.goal_error == pytest.approx(0.0, abs=1e-3)
    # joints that turn without end
    assert looked_at(model, history, GOAL + 2.0 * np.pi * np.array([1, 0, -1, 0, 0, 0, 2])).outcome == "arrived"
    away = looked_at(model, history, GOAL + np.array([0, 0.06, 0, 0, 0, 0, 0]))
    assert away.outcome == "ended"
    assert StopReason.PLANNER_SILENT.message in away.sentence


def test_a_stop_is_told_with_its_reason(model: CertifiedModel, tmp_path: Path) -> None:
    write_certified_bag(tmp_path / "bag", stop="COMMAND_TIMEOUT: the robot received no command in time")
    found = looked_at(model, read_history(tmp_path / "bag", ROBOT.joint_names, SCENE))
    assert found.outcome == "stopped"
    assert found.sentence == "The robot was stopped: COMMAND_TIMEOUT: the robot received no command in time."


def test_a_stop_ends_the_plan_in_execution(tmp_path: Path) -> None:
    write_certified_bag(tmp_path / "bag", halt=BEGIN + 2.5)
    history = read_history(tmp_path / "bag", ROBOT.joint_names, SCENE)
    assert history.executed[-1].ended == pytest.approx(BEGIN + 2.5, abs=0.1)
    assert history.t[-1] > BEGIN + 5.0
    assert history.why_stopped == StopReason.JOINT_STATES_LOST.message


def test_joint_states_that_are_not_finite_are_left_out(history: CertifiedHistory, tmp_path: Path) -> None:
    write_certified_bag(tmp_path / "bag", garbage=BEGIN + 3.0)
    other = read_history(tmp_path / "bag", ROBOT.joint_names, SCENE)
    assert other.t[-1] == pytest.approx(BEGIN + 3.0, abs=2.0 * TICK)
    np.testing.assert_array_equal(other.q, history.q[: len(other.q)])


def test_identification_ends_where_the_first_other_plan_takes_over(loop: CertifiedRun) -> None:
    assert loop.identified_at == pytest.approx(BEGIN + 0.2 + TAKEOVER, abs=1e-6)


def test_the_nearest_obstacle_is_named(loop: CertifiedRun) -> None:
    assert loop.distances.nearest == "shelf"
    assert 0.0 < loop.distances.obstacle.min() < 1.5


def test_what_cannot_be_stood_at_is_refused_with_its_reason(model: CertifiedModel) -> None:
    """Inside an obstacle nothing is certified, however well the load is known; in the open it is."""
    inside = Scene((Obstacle("block", "box", (0.0, 0.4, 0.3), (0.2, 0.2, 0.2)),))
    told = goal_check(model, Q0, model.prior, inside)
    assert not told["certified"]
    assert told["verdict"] == "OBSTACLE"
    assert "an obstacle may be touched" in told["reason"]
    assert "'block'" in told["reason"]
    assert goal_check(model, Q0, model.prior, Scene())["certified"]


def test_the_result_keeps_its_schema(document: dict[str, Any]) -> None:
    validate_certified(document)
    told = document["certified"]
    assert [plan["phase"] for plan in told["plans"]] == [IDENTIFY, CARRY, CARRY]
    assert told["plans"][2]["begun"] is None
    assert told["scene"]["obstacles"][0]["name"] == "shelf"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("outcome",), 3, "'certified.outcome' must be a string, got 3"),
        (("plans", 0, "torque"), [None], r"'certified.plans\[0\].torque' must be numbers"),
        (("processor",), {"robot": "much"}, "'certified.processor' must be numbers by name"),
        (("goal",), "there", "'certified.goal' must be a?n? ?numbers or null, got 'there'"),
    ],
)
def test_a_wrong_field_is_named(document: dict[str, Any], path: tuple[Any, ...], value: Any, message: str) -> None:
    node = copied = _copy(document["certified"])
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    with pytest.raises(InputError, match=message):
        validate_certified(document | {"certified": copied})


def test_a_missing_field_is_named(document: dict[str, Any]) -> None:
    told = {name: value for name, value in document["certified"].items() if name != "margins"}
    with pytest.raises(InputError, match=r"'certified\.margins' is missing"):
        validate_certified(document | {"certified": told})


def test_every_field_is_documented() -> None:
    rows = re.findall(r"^\| `(certified[^`]*)` \| ([^|]+) \|", DOC.read_text(encoding="utf-8"), re.MULTILINE)
    assert {path: kind.strip() for path, kind in rows} == {field.path: field.kind for field in CERTIFIED_FIELDS}


@pytest.fixture(scope="module")
def page(document: dict[str, Any], loop: CertifiedRun) -> str:
    return render_certified_report(document, loop)


def test_the_page_tells_all(page: str) -> None:
    for section in ("scene", "plans", "limits", "margins", "tracking", "parameters", "history", "assumptions"):
        assert f'<section id="{section}"' in page
    assert "a torque limit may be exceeded &lt;here&gt;" in page
    assert page.count("The scene, seen from") == 4  # twice a caption, twice a label
    assert "not kept" not in page
    for name in ROBOT.joint_names:
        assert f"Commanded torque of {name}" in page
        assert f"Tracking error of {name}" in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert not re.search(r'(?:src|href)="(?!#|data:)', page), "the page must be self-contained"
    assert not re.search(r"\bnan\b", re.sub(r"base64,[^\"]*", "", without_scripts(page)).lower())


def test_a_run_on_estimates_is_not_called_proven(history: CertifiedHistory) -> None:
    run = looked_at(CertifiedModel(CertifiedSettings(variant="gripper", estimates=True)), history)
    assert run.sentence.endswith(ESTIMATES)


@pytest.mark.usefixtures("blank_figures")
def test_a_page_of_a_run_without_motion_says_so(
    document: dict[str, Any], model: CertifiedModel, history: CertifiedHistory
) -> None:
    still = replace(history, plans=(), events=(), command_t=np.zeros(0), command=np.zeros((0, 7)))
    loop = looked_at(model, still)
    page = render_certified_report(document | {"certified": certified_fields(loop)}, loop)
    assert "No trajectory was executed." in page


@pytest.mark.usefixtures("blank_figures")
def test_the_page_can_be_made_again_from_result_and_bag(
    document: dict[str, Any], loop: CertifiedRun, bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_result(tmp_path / "result.json", document)
    (tmp_path / "bag").symlink_to(bag)
    read = read_result(tmp_path)
    again = load_certified_run(read, tmp_path / "bag")
    assert certified_fields(again) == document["certified"]
    for drawn in ("error", "bound", "usage"):
        np.testing.assert_array_equal(getattr(again.tracking, drawn), getattr(loop.tracking, drawn))
    np.testing.assert_array_equal(again.distances.obstacle, loop.distances.obstacle)
    assert command.main(["report", str(tmp_path)]) == 0
    capsys.readouterr()
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == render_certified_report(document, loop)


@pytest.mark.usefixtures("blank_figures")
def test_without_its_bag_a_result_still_has_the_page_of_the_identification(
    document: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_result(tmp_path / "result.json", document)
    assert command.main(["report", str(tmp_path)]) == 0
    capsys.readouterr()
    page = (tmp_path / "report.html").read_text()
    assert '<section id="parameters"' in page
    assert '<section id="tracking"' not in page


def test_a_run_of_an_earlier_version_is_refused_and_its_page_kept(
    document: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    former = {**document, "loop": document["certified"]}
    del former["certified"]
    write_result(tmp_path / "result.json", former)
    (tmp_path / "bag").mkdir()
    assert command.main(["report", str(tmp_path)]) == 2
    assert "wrote 'loop' for 'certified'; rename that object in result.json" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
