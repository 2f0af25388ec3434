# SPDX-License-Identifier: Apache-2.0
"""What dry friction of a joint that turns leaves open of torques, and of the power that is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from shared.bayesian_problem import ALL_TERMS, problem_and_point

from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_trial import METER_ALONE, OURS, trial
from benchmarks.bayesian_world import bench_log, readings, simulate, true_mechanism
from sysid_nodes.systems.bayesian import descent
from sysid_nodes.systems.bayesian.config import FrictionPriorConfig
from sysid_nodes.systems.bayesian.descent import start_point, stated_noise
from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.problem import GROUPS, MechanismProblem
from sysid_nodes.systems.bayesian.turning import with_doubts


def power_rows(problem: MechanismProblem, point: Estimate) -> npt.NDArray[np.float64]:
    return np.asarray(problem.residuals(point)[GROUPS.index("power")][:, 0])


def test_power_of_stages_that_turn_counts_by_what_friction_may_take() -> None:
    problem, point = problem_and_point(1.6, replace(ALL_TERMS, friction=FrictionPriorConfig(passive="viscous")))
    assert not problem.log.is_short
    (first, second), turning = np.flatnonzero(problem.mechanism.parameters.motors), problem.turning
    one = turning[:, 0] & ~turning[:, 1]
    assert one.any(), "of the first motor alone"
    before, own = power_rows(problem, point), problem.mechanism.parameters
    assert not before[turning.any(axis=1)].any()
    found = power_rows(with_doubts(problem, point), point)
    still = ~turning.any(axis=1)
    np.testing.assert_array_equal(found[still], before[still])
    plain = power_rows(replace(problem, turning=np.zeros_like(turning)), point)
    motion = problem.motion(point)
    speed, torque = motion.v[one, first], problem.mechanism.torque(motion, point.x)[one, first]
    friction = own.constants(point.x, "coulomb")[first] + own.sigma[own.joint("coulomb")][first]
    off = friction * (np.abs(speed) + own.constants(point.x, "loss")[first] * (2.0 * np.abs(torque) + friction))
    np.testing.assert_allclose(plain[one] / found[one], np.hypot(1.0, off / problem.noise.power), rtol=1e-12)
    both = turning.all(axis=1)
    assert np.all(np.abs(found[both]) < np.abs(plain[both])), f"of {second} as well"


@pytest.mark.parametrize(("duration", "passive"), [(1.6, "stribeck"), (0.4, "viscous")])
def test_joints_without_a_motor_that_rub_dry_and_short_logs_leave_all_of_it_open(duration: float, passive: str) -> None:
    config = replace(ALL_TERMS, friction=replace(ALL_TERMS.friction, passive=passive))
    problem, point = problem_and_point(duration, config)
    np.testing.assert_array_equal(power_rows(with_doubts(problem, point), point), power_rows(problem, point))


def test_loops_with_forces_that_only_torques_tell_let_torques_count_in_the_doubt_of_friction() -> None:
    """A quadruped's feet push against each other as they like where its hips' torques are left out."""
    own = bench_robot("quadruped")
    own = replace(own, config=replace(own.config, step=0.002))
    mechanism, truth = true_mechanism(own), simulate(own, 1, 0.5)
    q, torque, power = readings(own, truth, 1e-4, 1)
    log = bench_log(own, q, torque, power)
    start = start_point(mechanism, log, mechanism.parameters.mean)
    turning = np.zeros((log.stages - 2, int(mechanism.parameters.motors.sum())), np.bool_)
    plain = MechanismProblem(mechanism, log, stated_noise(mechanism, own.config), turning)
    turning = turning.copy()
    turning[5:9, 0], turning[20, 0] = True, True
    problem = with_doubts(replace(plain, turning=turning), start)
    assert not log.is_short
    assert problem.power_doubt is None, "which torques would tell"
    counted, every = (one.residuals(start)[GROUPS.index("torque")][:, 0] for one in (problem, plain))
    (first,) = mechanism.parameters.sigma[mechanism.parameters.joint("coulomb")][mechanism.parameters.motors][:1]
    noise = plain.noise.torque[0]
    np.testing.assert_allclose(every[20] / counted[20], np.hypot(noise, first) / noise, rtol=1e-12)
    # Four stages in a row may be off the same way, and count as one.
    np.testing.assert_allclose(every[5:9] / counted[5:9], np.hypot(noise, 2.0 * first) / noise, rtol=1e-12)
    np.testing.assert_array_equal(every[~turning[:, 0]], counted[~turning[:, 0]])


@pytest.mark.slow
def test_a_biped_whose_motors_turn_slowly_is_told_by_torques_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """One or another of its twelve turns at nearly all times: rigid-body torques to 1.5 % of 26, 15 without."""
    found = trial("biped", 101, 4.0, 1e-3, OURS)
    assert found["errors"][1] < 0.03
    monkeypatch.setattr(descent, "with_doubts", lambda problem, _: problem)
    assert trial("biped", 101, 4.0, 1e-3, OURS)["errors"][1] > 2.0 * found["errors"][1]


def test_a_meter_alone_tells_more_where_joints_that_turn_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A double pendulum turns in a third of the stages; friction to a third and inertia to a tenth of the prior's."""
    found = trial("pendulum", 1, 4.0, 3e-4, METER_ALONE)
    (friction, torque, _), (_, nominal, _) = found["errors"], found["prior"]
    assert found["status"] == "FOUND"
    assert friction < found["expected"][0] / 3.0
    assert torque < nominal / 10.0
    assert found["inside"] >= found["observed"] - 2
    monkeypatch.setattr(descent, "with_doubts", lambda problem, _: problem)
    fewer = trial("pendulum", 1, 4.0, 3e-4, METER_ALONE)
    assert fewer["observed"] < found["observed"] or fewer["errors"][0] > friction
