# SPDX-License-Identifier: Apache-2.0
"""The comparison's motions, methods and judgements; the whole of it only when slow tests are asked for."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from shared.quick_and_slow import mark_slow

from benchmarks import comparison, comparison_certificates, comparison_trial
from benchmarks.adaptive_control import AdaptiveRobust, SlotineLi, passive_regressor
from benchmarks.certified_motion import make_planner
from benchmarks.comparison_cases import Case, Found
from benchmarks.comparison_certificates import certify, error_bound, fastest, is_certified
from benchmarks.comparison_experiments import EXPERIMENTS
from benchmarks.comparison_learning import FOURIER, OURS, RANDOM, RANDOM_WIDE, Learned, identify_by_pid
from benchmarks.comparison_methods import (
    CONSERVATIVE,
    METHODS,
    NOMINAL,
    PID,
    PID_EXCIT,
    PID_OURS,
    TABLE_II,
    WRONG,
    assumed_models,
    true_robot,
)
from benchmarks.comparison_paper import TABLE_III
from benchmarks.comparison_report import summarise, verdict
from benchmarks.comparison_task import Task, facts, make_task
from benchmarks.comparison_trial import Outcome, adaptive_follower, execute, pid_follower, robust_follower
from benchmarks.report import Report
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.inertia import is_consistent
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import State
from sysid_nodes.systems.certified.search.config import PlannerConfig
from sysid_nodes.systems.certified.search.planner import Planner

HALF_WIDTHS = np.array([0.25, 0.01, 0.01, 0.06, 0.06, 0.03, 0.06, 0.05, 0.04, 0.05])
"""About what 7.5 s of exciting motion leave."""


@lru_cache(maxsize=1)
def planner() -> Planner:
    return make_planner(PlannerConfig(), 0)


@lru_cache(maxsize=2)
def motion(index: int) -> Task:
    return make_task(EXPERIMENTS[index], planner().robot, planner().nearness)


@lru_cache(maxsize=1)
def learned() -> Learned:
    theta = NOMINAL.arm(8.0, 1).theta
    return Learned(Bounds(theta - 0.8 * HALF_WIDTHS, theta + HALF_WIDTHS), 20.0, True)


@pytest.mark.parametrize("index", mark_slow([0, 1, 2], but=[2]))
def test_motion_is_smooth_and_within_limits(index: int) -> None:
    task, experiment = motion(index), EXPERIMENTS[index]
    first, second = task.curves(experiment.duration)
    for end, begin in zip(first(0.5 * experiment.duration), second(0.0), strict=True):
        np.testing.assert_allclose(begin, end, atol=1e-12)
    np.testing.assert_array_equal(task(0.0).q, experiment.start)
    np.testing.assert_allclose(task(experiment.duration + 1.0).q, experiment.goal, atol=1e-12)
    found = facts(task, planner().robot, planner().nearness, 8.0)
    # Least squares may give way a little where limits meet.
    assert found.speed < 0.93 and found.torque < 0.7 and found.clearance > experiment.clearance - 0.015
    # The platform is under the goal: 0.25 and 0.50 m in front of the robot, as in the paper.
    np.testing.assert_allclose(found.goal[:2], [0.25 if index == 0 else 0.5, 0.0], atol=1e-3)


def test_the_same_path_at_any_duration() -> None:
    task = motion(0)
    for slow, fast in zip(task.curves(4.0), task.curves(2.0), strict=True):
        np.testing.assert_allclose(slow(2.0 * 0.7).q, fast(0.7).q, atol=1e-12)
        np.testing.assert_allclose(2.0 * slow(2.0 * 0.7).qd, fast(0.7).qd, atol=1e-12)


def test_impossible_motion_is_refused() -> None:
    task = motion(0)
    through = Task(EXPERIMENTS[0], task.k + np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]), task.stretch)
    with pytest.raises(RuntimeError, match=r"no motion found for experiment \(a\)"):
        facts(through, planner().robot, planner().nearness, 8.0)


def test_true_robot_is_physical_and_as_assumed() -> None:
    arm = NOMINAL.arm(8.0, 1)
    truth = true_robot(arm)
    assert (np.abs(arm.problem.p - arm.centre)[:60] <= arm.radius[:60] * (1.0 + 1e-12)).all()
    assert all(is_consistent(body.toDynamicParameters()) for body in truth.bodies)
    np.testing.assert_allclose(truth.bodies[-1].toDynamicParameters(), arm.theta, atol=1e-12)
    parameters = np.array([body.toDynamicParameters() for body in truth.bodies])
    reckoned = {
        m: assumed_models(m, planner(), {OURS: learned()}, NOMINAL.told)
        for m in (OURS, CONSERVATIVE, WRONG, PID_OURS, RANDOM)
    }
    assert reckoned[RANDOM] is None
    for method, holds in ((OURS, True), (CONSERVATIVE, True), (PID_OURS, True), (WRONG, False)):
        box = reckoned[method]
        assert box is not None and box.contains(parameters, truth.motor) is holds


@pytest.mark.slow
def test_bounds_decide_what_is_certified_and_hold_in_execution() -> None:
    task, scene = motion(0), EXPERIMENTS[0].surroundings()
    wide = assumed_models(CONSERVATIVE, planner(), {}, NOMINAL.told)
    assert wide is not None and not is_certified(certify(planner(), task, 2.0, wide, scene))
    box = assumed_models(OURS, planner(), {OURS: learned()}, NOMINAL.told)
    assert box is not None
    certificates = certify(planner(), task, 2.0, box, scene)
    assert is_certified(certificates)
    follower, truth = robust_follower(planner(), task, box, certificates), true_robot(NOMINAL.arm(8.0, 1))
    outcome = execute(planner().robot, task.motion, truth, 8.0, follower, 1, error_bound(task, certificates))
    assert outcome.failures == () and outcome.share < 1.0 and outcome.torque < 1.0
    # What the certificates promise of distances, less the 1 cm between two looks at 1 m/s.
    promised = min(c.margins.obstacle for c in certificates if c is not None)
    assert outcome.clearance > promised - 0.01


@pytest.mark.slow
def test_pid_without_payload_model_fails() -> None:
    truth = true_robot(NOMINAL.arm(8.0, 1))
    outcome = execute(planner().robot, motion(0).motion, truth, 8.0, pid_follower(planner().robot, None), 1)
    assert any(reason.startswith("placed") for reason in outcome.failures) and np.isnan(outcome.share)
    case = Case("a", PID, 8.0, None, "", float("nan"), outcome)
    assert "placed" in verdict(case) and verdict(Case("a", PID, 8.0, None, "", 0.0, None)) == "nothing was identified"


def test_methods_have_their_rows() -> None:
    assert set(TABLE_II) == set(TABLE_III) == set(METHODS)


def test_passive_regressor_is_the_equation_of_motion() -> None:
    robot, rng = planner().robot, np.random.default_rng(0)
    (q, qd, qd_a, qdd_a), data = rng.normal(size=(4, robot.n)), robot.model.createData()
    coriolis = pinocchio.computeCoriolisMatrix(robot.model, data, q, qd) @ qd_a
    mass = pinocchio.crba(robot.model, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    expected = mass @ qdd_a + coriolis + pinocchio.computeGeneralizedGravity(robot.model, data, q)
    found = passive_regressor(robot.model, robot.model.createData(), q, qd, qd_a, qdd_a)
    np.testing.assert_allclose(found @ robot.inertial_parameters().ravel(), expected, atol=1e-12)


def test_adaptive_controllers_adapt_to_the_payload() -> None:
    robot, arm = planner().robot, NOMINAL.arm(8.0, 1)
    box = assumed_models(CONSERVATIVE, planner(), {}, NOMINAL.told)
    assert box is not None
    slotine, robust = SlotineLi(robot, box), AdaptiveRobust(robot, box)
    short = motion(0).motion._replace(duration=0.4, hold=0.0)
    for controller in (slotine, robust):
        assert not execute(robot, short, true_robot(arm), 8.0, adaptive_follower(robot, controller), 1).failures
    before, after = (abs(model[-1, 0] - arm.theta[0]) for model in (box.theta, slotine.theta))
    assert after < 0.5 * before and robust.rho > 0.0
    np.testing.assert_array_equal(slotine.theta[:-1], box.theta[:-1])


def test_identification_by_pid_tells_what_went_wrong() -> None:
    robot, arm = planner().robot, NOMINAL.arm(8.0, 1)
    bare = assumed_models(PID, planner(), {}, NOMINAL.told)
    assert bare is not None
    short = motion(0).motion._replace(duration=0.4, hold=0.0, scene=EXPERIMENTS[2].surroundings())
    found = identify_by_pid(robot, short, bare, arm, true_robot(arm), 8.0, NOMINAL.told, 1)
    assert found.bounds is not None and found.contains
    assert found.trouble == ("touches high_obstacle",) and found.plans == ()  # where the motion starts


def test_a_command_beyond_the_limits_counts() -> None:
    robot, task = planner().robot, motion(0)
    box = assumed_models(OURS, planner(), {OURS: learned()}, NOMINAL.told)
    assert box is not None
    inner = robust_follower(planner(), task, box, certify(planner(), task, 2.0, box, EXPERIMENTS[0].surroundings()))

    def once(t: float, desired: State, q: np.ndarray, qd: np.ndarray) -> comparison_trial.Command:
        torque, exceeded = inner(t, desired, q, qd)
        return torque, exceeded | ((np.arange(robot.n) == 3) & (0.5 < t < 0.5015))

    outcome = execute(robot, task.motion._replace(hold=0.0), true_robot(NOMINAL.arm(8.0, 1)), 8.0, once, 1)
    assert outcome.failures == ("torque limit of joint_4",)


@pytest.mark.parametrize("least", [1.8, 2.0, 2.05, 3.3, 19.0])
def test_fastest_duration(least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def judged(_: object, __: object, duration: float, *___: object) -> float:
        tried.append(duration)
        return duration

    monkeypatch.setattr(comparison_certificates, "certify", judged)
    monkeypatch.setattr(comparison_certificates, "is_certified", lambda duration: duration >= least)
    box = assumed_models(CONSERVATIVE, planner(), {}, NOMINAL.told)
    assert box is not None
    found = fastest(planner(), motion(0), box, Scene(()))
    assert least <= found < max(least, 2.0 / 1.05**2) * 1.05 * (1.0 + 1e-12) and len(tried) < 14


def test_no_duration_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison_certificates, "certify", lambda *_: None)
    monkeypatch.setattr(comparison_certificates, "is_certified", lambda _: False)
    box = assumed_models(CONSERVATIVE, planner(), {}, NOMINAL.told)
    assert box is not None and fastest(planner(), motion(0), box, Scene(())) == np.inf


def test_report_tells_failures_from_successes(tmp_path: Path) -> None:
    good = Outcome(0.001, 0.0, 0.0, 0.5, 0.9, 0.05, 0.04, ())
    bad = replace(good, share=float("nan"), failures=("touches platform", "placed 80 mm off"))
    cases = [Case("a", method, 8.0, True, "speed", 2.0, good) for method in METHODS]
    cases[METHODS.index(CONSERVATIVE)] = Case("a", CONSERVATIVE, 8.0, False, "no bound", np.inf, good)
    cases[METHODS.index(WRONG)] = Case("a", WRONG, 8.0, True, "speed", 2.0, replace(good, share=3.0))
    cases[METHODS.index(PID)] = Case("a", PID, 8.0, None, "", float("nan"), bad)
    cases[METHODS.index(RANDOM)] = Case("a", RANDOM, 8.0, False, "nothing was identified", np.inf, None)
    unsafe = replace(cases[METHODS.index(PID_EXCIT)], certified=None, trouble=("touches wall",))
    cases[METHODS.index(PID_EXCIT)] = unsafe
    report = Report("comparison", "Comparison", tmp_path, "command")
    tasks = {"a": (motion(0), facts(motion(0), planner().robot, planner().nearness, 8.0))}
    hit = learned()._replace(trouble=("touches wall",))
    known: dict[str, Learned | None] = {OURS: learned(), RANDOM: None, RANDOM_WIDE: learned(), FOURIER: hit}
    found = Found(tasks, {8.0: known}, cases, {8.0: 4.91}, {"another arm": cases})
    summarise(report, found, 4000.0)
    text = report.write().read_text(encoding="utf-8")
    for line in (
        "**`ours` certified and carried out 1 of 1 motions.**",
        "2 of 3 identification phases had all their plans certified; the truth lay inside every interval in 2 of them",
        "| ours | success | 1 of 1 | success |",
        "| random | fail at 8 lb: nothing was identified | 0 of 1 | success |",
        "| conservative | success | 0 of 1 | fail at 8lb |",
        "| wrong | success, errors outside its bound | 1 of 1 (falsely) | fail at 8lb |",
        "| grav-pid | fail at 8 lb: touches platform; placed 80 mm off | no bounds | success |",
        "| (a) conservative | none |",
        "| 8 lb | 20 | - | 20 | 234 | 413 |",
        "| grav-pid-excit | gravity-compensated PID | the paper's Algorithm 1 | - | Fourier series |",
        "identified or controllers adapted: `grav-pid-excit` with 8 lb: touches wall.",
        "| grav-pid-excit | fail at 8 lb: before the task: touches wall | no bounds | fail at 4lb |",
        "## With 8 lb: another arm",
        "| grav-pid | touches platform; placed 80 mm off (1.0 mm) |",
        "| conservative | success (1.0 mm), not certified |",
        "Not certified: conservative: no bound; random: nothing was identified.",
    ):
        assert line in text
    assert "nan" not in text


@pytest.mark.slow
def test_comparison(tmp_path: Path) -> None:
    assert comparison.main(["--quick", "--out", str(tmp_path)]) == 0
    (found,) = tmp_path.glob("*.md")
    text = found.read_text(encoding="utf-8")
    assert "`ours` certified and carried out 1 of 1 motions" in text and "| ours | success | 1 of 1 | success |" in text
    assert "nan" not in text
