# SPDX-License-Identifier: Apache-2.0
"""Joints and motors stay within their limits, and nothing changes where they do anyway."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from shared.legged_log import LeggedLog, simulate, simulated_config

from sysid_nodes.results.prime import EstimateStatus, PrimeEstimate
from sysid_nodes.robots import Robot
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.systems.prime import Model, PrimeConfig, build_model, estimate_motion
from sysid_nodes.systems.prime.config import LimitsConfig
from sysid_nodes.systems.prime.full_information import meet_limits, solve_by_continuation
from sysid_nodes.systems.prime.horizon_config import HorizonConfig
from sysid_nodes.systems.prime.initialisation import initial_configurations, initial_trajectory
from sysid_nodes.systems.prime.moving_horizon import MovingHorizon
from sysid_nodes.systems.prime.problem import PrimeProblem, build_problem, first_arrival
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]
KNEE = 2


@pytest.fixture(scope="module")
def log() -> LeggedLog:
    """0.5 s of a Go2's trot."""
    return simulate(LeggedSimulationConfig(motion="trot"), 0.5, seed=3, skip=1.0)


def within(robot: Robot, log: LeggedLog, *, knee: float = 0.0, torque: float = 1.0) -> Robot:
    """The robot with one knee that stops so much [rad] before its largest angle, and so much of its motor's peak."""
    limits, torques = robot.limits, log.steps.samples["joint_torque"].values
    upper, most = limits.position_upper.copy(), limits.torque.copy()
    upper[KNEE] = log.q[:, 7 + KNEE].max() - knee if knee else upper[KNEE]
    most[KNEE] = torque * np.abs(torques[:, KNEE]).max() if torque < 1.0 else most[KNEE]
    return replace(robot, limits=replace(limits, position_upper=upper, torque=most))


def config_of(limits: LimitsConfig) -> PrimeConfig:
    return replace(simulated_config(), limits=limits)


def problem_of(model: Model, log: LeggedLog) -> tuple[PrimeProblem, Trajectory]:
    steps = log.steps
    q = initial_configurations(model, steps.samples, len(steps.times))
    problem = build_problem(model, steps.samples, len(steps.times), first_arrival(model, q[0]))
    return problem, initial_trajectory(problem, q, model.parameters.mean)


def estimate(robot: Robot, log: LeggedLog, limits: LimitsConfig) -> PrimeEstimate:
    found = estimate_motion(build_model(robot, config_of(limits)), log.steps.times, log.steps.samples)
    assert found.status is not EstimateStatus.FAILED
    return found


def test_a_joint_stays_within_its_range(log: LeggedLog) -> None:
    """A knee that was .03 rad beyond its limit is at it, to a tenth of the encoder's noise, and others hardly move."""
    robot = within(log.robot, log, knee=0.03)
    free, held = (estimate(robot, log, LimitsConfig(joints=asked)) for asked in (False, True))
    upper = robot.limits.position_upper[KNEE]
    assert free.q[:, 7 + KNEE].max() > upper + 0.02
    assert held.q[:, 7 + KNEE].max() < upper + 1e-4
    beyond = free.q[:, 7 + KNEE] > upper + 0.005
    np.testing.assert_allclose(held.q[beyond, 7 + KNEE], upper, atol=0.015)
    before = np.all(free.q[:, 7:] < robot.limits.position_upper - 0.1, axis=1)
    assert np.abs(held.q[before, 7:] - free.q[before, 7:]).max() < 0.02
    assert held.status is EstimateStatus.DOUBTFUL  # for it was beyond
    assert "joint_limits" not in free.fit
    assert "joint_limits" in held.fit


def test_a_motor_stays_within_its_torque(log: LeggedLog) -> None:
    """Nine tenths of what a knee's motor gave at most: what the solution asks of it is less, to a thousandth."""
    robot = within(log.robot, log, torque=0.9)
    limit, peaks = robot.limits.torque[KNEE], []
    for asked in (False, True):
        model = build_model(robot, config_of(LimitsConfig(torques=asked)))
        problem, start = problem_of(model, log)
        problem, solved = meet_limits(*solve_by_continuation(problem, start.q, model.parameters.mean))
        rows, point = problem.inner.dynamics.at(model.base, solved.point.theta), solved.point
        needed = problem.residuals(point)[0][:, 6:] / rows.scale[:, 6:] + rows.torque
        peaks.append(np.abs(needed[:, KNEE]).max())
    assert peaks[0] > 1.03 * limit
    assert peaks[1] < 1.002 * limit


def test_a_window_obeys_limits_as_far_as_readings_let_it(log: LeggedLog) -> None:
    """A knee that is read .03 rad beyond its limit stays within 10 mrad of it, window by window, after a step each.

    The arrival cost holds the oldest stages where their readings were. Sigmas are an encoder's, not the limit's 1e-4.
    """
    robot = within(log.robot, log, knee=0.03)
    model = build_model(robot, config_of(LimitsConfig(joints=True, torques=True)))
    horizon, solved = MovingHorizon(model, HorizonConfig(window=15, first=10), clock=lambda: 0.0), 0
    for k in range(len(log.steps.times)):
        samples = {name: own.between(k, k + 1) for name, own in log.steps.samples.items()}
        horizon.push(AlignedSteps(0, k, log.steps.times[k : k + 1], samples))
        found = horizon.step()
        if found is not None:
            solved += 1
            assert found.q[:, 7 + KNEE].max() < robot.limits.position_upper[KNEE] + 1e-2
            assert found.q_covariance[-1, 6 + KNEE, 6 + KNEE] > 2e-4**2
    assert solved > 20


@pytest.mark.parametrize("implementation", ["reference", ""])
def test_derivatives_are_those_of_the_residuals(log: LeggedLog, implementation: str) -> None:
    """Of limits that both bite, by stages, contact variables and constants, against differences."""
    robot = within(log.robot, log, knee=0.03, torque=0.6)
    config = config_of(LimitsConfig(joints=True, torques=True))
    model = build_model(robot, config, implementation=implementation)
    problem, point = problem_of(model, log)
    blocks = dict(zip(problem.groups, problem.linearise(point), strict=True))
    rng, layout, step = np.random.default_rng(1), problem.layout, 1e-6
    move = rng.standard_normal((layout.stages, layout.size))
    by_theta, by_local = rng.standard_normal(layout.parameters), rng.standard_normal((layout.stages, layout.local))
    ends = [
        dict(zip(problem.groups, problem.residuals(problem.move_point(point, *moved)), strict=True))
        for moved in ([sign * step * part for part in (move, by_theta, by_local)] for sign in (1.0, -1.0))
    ]
    for name in ("joint_limits", "torque_limits"):
        group = blocks[name]
        assert np.any(group.residual)
        wide = group.jacobian.shape[2] // layout.size
        moved = move[group.first[:, None] + np.arange(wide)].reshape(len(group.first), -1)
        slope = np.einsum("bmj,bj->bm", group.jacobian, moved)
        if group.parameter_jacobian is not None and group.local_jacobian is not None and group.local is not None:
            slope += group.parameter_jacobian @ by_theta
            slope += np.einsum("bml,bl->bm", group.local_jacobian, by_local[group.local])
        wanted = (ends[0][name] - ends[1][name]) / (2.0 * step)
        np.testing.assert_allclose(slope, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


def test_pieces_are_the_whole(log: LeggedLog) -> None:
    """What is assembled piece by piece has the rows of the limits as well."""
    robot = within(log.robot, log, knee=0.03, torque=0.6)
    problem, point = problem_of(build_model(robot, config_of(LimitsConfig(joints=True, torques=True))), log)
    whole = sum(float(np.sum(group.residual**2)) for group in problem.linearise(point))
    parts = sum(float(np.sum(group.residual**2)) for piece in problem.pieces(point) for group in piece)
    assert parts == pytest.approx(whole, rel=1e-9)
    assert len(problem.shapes()) == len(problem.groups)


def test_sigmas_are_of_the_readings_alone(log: LeggedLog) -> None:
    """A limit tells on which side the truth is and not where, so that a knee at it is as uncertain as without it.

    The stop is half a milliradian before where the knee truly was at its most, two of its sigmas. A few per cent come
    from residuals of another solution. Held as if measured the knee would be sure to a tenth of its encoder's noise.
    """
    robot = within(log.robot, log, knee=5e-4)
    free, held = (estimate(robot, log, LimitsConfig(joints=asked, torques=asked)) for asked in (False, True))
    at = np.flatnonzero(free.q[:, 7 + KNEE] > robot.limits.position_upper[KNEE])
    assert len(at) > 0
    sigmas = [np.sqrt(found.q_covariance[at, 6 + KNEE, 6 + KNEE]) for found in (free, held)]
    np.testing.assert_allclose(sigmas[1], sigmas[0], rtol=0.05)
    assert np.all(np.abs(held.q[at, 7 + KNEE] - log.q[at, 7 + KNEE]) < 3.0 * sigmas[1])
    found = [np.diag(estimated.parameter_covariance) for estimated in (free, held)]
    np.testing.assert_allclose(found[1], found[0], rtol=0.02)
