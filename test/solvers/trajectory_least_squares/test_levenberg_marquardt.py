# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from shared import attitude_trajectory, pendulum_trajectory
from shared.linear_trajectory import LinearPoint, LinearProblem, dense, random_groups
from shared.pendulum_trajectory import TRUTH, Pendulum, PendulumPoint

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.results.least_squares import Iteration, SolveStatus
from sysid_nodes.solvers.trajectory_least_squares import Cauchy, LevenbergMarquardtConfig, solve
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.posterior import posterior
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.robust import cost


def pendulum(seed: int, stages: int = 150, outliers: int = 0, **options: Any) -> tuple[Pendulum, Array]:
    """A simulated pendulum, measured with the noise that the problem states, and its true stages."""
    rng = np.random.default_rng(seed)
    truth = pendulum_trajectory.simulate(rng, stages, 0.05)
    angles = truth[:, 0] + 0.02 * rng.normal(size=stages)
    angles[rng.choice(stages, outliers, replace=False)] += 1.0
    return Pendulum(angles, **options), truth


@pytest.mark.parametrize("seed", range(4))
def test_a_linear_problem_is_solved_to_working_precision(seed: int) -> None:
    layout = Layout(12, 4, 3, 3)
    groups = random_groups(np.random.default_rng(seed), layout, 3)
    config = LevenbergMarquardtConfig(cost_tolerance=0.0, step_tolerance=1e-12, gradient_tolerance=1e-11)
    found = solve(LinearProblem(layout, groups), LinearPoint.zero(layout), config)
    rows, residual = dense(groups, layout)
    expected = -np.linalg.lstsq(rows, residual)[0]
    assert found.status.converged
    assert found.point.flat() == pytest.approx(expected, abs=1e-9)
    assert found.cost == pytest.approx(0.5 * np.sum((rows @ expected + residual) ** 2))
    assert found.iterations <= 6


def test_derivatives_of_the_test_problems_are_right() -> None:
    problem, _ = pendulum(0, 5)
    check_derivatives(problem, problem.start())
    rng = np.random.default_rng(0)
    attitude, truth = attitude_trajectory.simulate(rng, 5, np.array([0.1, -0.2, 0.3]))
    check_derivatives(attitude, attitude.retract(truth, 0.3 * rng.normal(size=(5, 3)), np.ones(3), np.zeros((5, 0))))


def check_derivatives(problem: Any, point: Any) -> None:
    layout: Layout = problem.layout
    rows, _ = dense(problem.linearise(point), layout)
    states, h = layout.stages * layout.size, 1e-6
    for i in range(rows.shape[1]):
        e = np.zeros(rows.shape[1])
        e[i] = h
        ahead, back = (
            np.concatenate(
                [
                    r.ravel()
                    for r in problem.residuals(
                        problem.retract(
                            point,
                            sign * e[:states].reshape(layout.stages, layout.size),
                            sign * e[states:],
                            np.zeros((layout.stages, 0)),
                        )
                    )
                ]
            )
            for sign in (1.0, -1.0)
        )
        # Central differences of residuals up to 1e4: 1e-16 * 1e4 / 1e-6 and h^2.
        assert rows[:, i] == pytest.approx((ahead - back) / (2.0 * h), rel=1e-5, abs=1e-4)


def test_a_pendulum_tells_its_parameters() -> None:
    problem, truth = pendulum(0)
    found = solve(problem, problem.start())
    assert found.status.converged
    covariance = posterior(assemble(problem.linearise(found.point), problem.layout))
    assert covariance is not None
    sigmas = np.sqrt(np.diag(covariance.parameter))
    assert np.all(np.abs(found.point.parameter - TRUTH) < 4.0 * sigmas)
    assert sigmas[0] < 0.1  # the interval says something: the start was off by 4
    assert np.std(found.point.stage[:, 0] - truth[:, 0]) < 0.5 * problem.sigma


def test_a_tumbling_body_tells_its_attitude_and_gyroscope_bias() -> None:
    bias = np.array([0.1, -0.2, 0.05])
    problem, truth = attitude_trajectory.simulate(np.random.default_rng(1), 100, bias)
    found = solve(problem, problem.start())  # all rotations start at the identity, up to 180 degrees off
    assert found.status.converged
    covariance = posterior(assemble(problem.linearise(found.point), problem.layout))
    assert covariance is not None
    assert np.all(np.abs(found.point.bias - bias) < 4.0 * np.sqrt(np.diag(covariance.parameter)))
    error = (found.point.rotation.inv() * truth.rotation).as_rotvec()
    nees = np.einsum("ki,kij,kj->k", error, np.linalg.inv(covariance.stage), error)
    assert 1.0 < nees.mean() < 8.0  # 3 expected; stages are correlated over seconds


def test_covariances_cover_the_truth_as_often_as_they_claim() -> None:
    """50 seeds: the sum of normalised squared errors is chi-squared; 1e-4 of correct solvers would fail each check."""
    seeds, nees, inside = 50, 0.0, 0
    stage_nees = 0.0
    for seed in range(seeds):
        problem, truth = pendulum(seed + 100, 100)
        found = solve(problem, problem.start())
        covariance = posterior(assemble(problem.linearise(found.point), problem.layout))
        assert covariance is not None
        error = found.point.parameter - TRUTH
        nees += float(error @ np.linalg.solve(covariance.parameter, error))
        inside += int(abs(error[0]) < np.sqrt(covariance.parameter[0, 0]))
        error = found.point.stage[50] - truth[50]
        stage_nees += float(error @ np.linalg.solve(covariance.stage[50], error))
    low, high = stats.chi2.ppf([1e-4, 1.0 - 1e-4], 2 * seeds)
    assert low < nees < high
    assert low < stage_nees < high
    low, high = stats.binom.ppf([1e-4, 1.0 - 1e-4], seeds, 0.6827)
    assert low <= inside <= high


def test_where_a_fit_suffices_it_ends_with_the_first() -> None:
    """From a start far off, as soon as twice the cost is less than there are residuals; else iterations go on."""
    problem, _ = pendulum(0)
    whole = solve(problem, problem.start())
    short = solve(problem, problem.start(), LevenbergMarquardtConfig(fit_suffices=True))
    count = sum(group.size for group in problem.residuals(short.point))
    assert short.status is SolveStatus.CONVERGED_COST
    assert short.iterations < whole.iterations
    assert whole.cost < short.cost <= 0.5 * count < whole.initial_cost


def test_a_robust_loss_ignores_outliers() -> None:
    plain, _ = pendulum(3, outliers=15)
    robust = replace(plain, loss=Cauchy())
    naive, found = solve(plain, plain.start()), solve(robust, robust.start())
    assert found.status.converged
    covariance = posterior(assemble(robust.linearise(found.point), robust.layout))
    assert covariance is not None
    sigma = np.sqrt(covariance.parameter[0, 0])
    assert abs(found.point.parameter[0] - TRUTH[0]) < 5.0 * sigma
    assert abs(naive.point.parameter[0] - TRUTH[0]) > 5.0 * sigma


def test_a_loss_is_the_square_near_zero_and_its_derivative_is_right() -> None:
    loss = Cauchy(2.0)
    s = np.array([0.0, 1e-6, 1.0, 2.0, 9.0, 1e6])
    value, slope = loss(s)
    assert value[:2] == pytest.approx(s[:2], rel=1e-5)
    assert slope[0] == 1.0
    h = 1e-6 * (1.0 + s)
    assert slope[2:] == pytest.approx(((loss(s + h)[0] - loss(s - h)[0]) / (2.0 * h))[2:], rel=1e-5)
    assert np.all(np.diff(slope) <= 0.0)


def test_the_gradient_is_that_of_the_robust_cost() -> None:
    problem, _ = pendulum(0, 6, outliers=2, loss=Cauchy())
    point = problem.start()
    groups = problem.linearise(point)
    gradient = assemble(groups, problem.layout).gradient
    losses = [blocks.loss for blocks in groups]
    for index in np.ndindex(6, 2):
        step = np.zeros((6, 2))
        step[index] = 1e-7
        ahead, back = (
            cost(problem.residuals(PendulumPoint(point.stage + sign * step, point.parameter)), losses)
            for sign in (1.0, -1.0)
        )
        assert gradient[index] == pytest.approx((ahead - back) / 2e-7, rel=1e-4, abs=1e-2)


def test_progress_sees_every_iteration_and_the_cost_never_rises() -> None:
    problem, _ = pendulum(0)
    seen: list[Iteration] = []
    found = solve(problem, problem.start(), progress=seen.append)
    assert [entry.number for entry in seen] == list(range(1, found.iterations + 1))
    costs = np.array([found.initial_cost, *(entry.cost for entry in seen)])
    assert np.all(np.diff(costs) <= 1e-12 * costs[:-1])  # but for rounding
    assert seen[-1].cost == found.cost
    assert found.initial_cost - found.cost == pytest.approx(sum(entry.decrease for entry in seen))


@dataclass
class Ticking:
    """A clock that advances by a second whenever it is read."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_the_time_limit_returns_the_best_point_so_far() -> None:
    problem, _ = pendulum(0)
    config = LevenbergMarquardtConfig(time_limit=4.0)
    found = solve(problem, problem.start(), config, clock=Ticking())
    assert found.status is SolveStatus.TIME_LIMIT
    assert 0 < found.iterations < 5
    assert found.cost < found.initial_cost
    assert found.cost == pytest.approx(cost(problem.residuals(found.point), [None] * 3))
    none = solve(problem, problem.start(), replace(config, time_limit=1.0), clock=Ticking())
    assert none.status is SolveStatus.TIME_LIMIT
    assert none.iterations == 0
    assert none.cost == none.initial_cost


def test_a_time_limit_needs_a_clock() -> None:
    problem, _ = pendulum(0, 5)
    with pytest.raises(SamplesError, match="a time limit needs a clock"):
        solve(problem, problem.start(), LevenbergMarquardtConfig(time_limit=1.0))


def test_the_iteration_limit_is_kept() -> None:
    problem, _ = pendulum(0)
    found = solve(problem, problem.start(), LevenbergMarquardtConfig(max_iterations=1))
    assert found.status is SolveStatus.MAX_ITERATIONS
    assert found.iterations == 1
    assert not found.status.converged


def test_a_start_that_is_not_finite_is_a_status() -> None:
    problem, _ = pendulum(0, 5)
    start = problem.start()
    start.stage[2, 0] = np.nan
    found = solve(problem, start)
    assert found.status is SolveStatus.NOT_FINITE
    assert found.point is start


def test_steps_into_the_undefined_are_shortened() -> None:
    """log(x) = -2 from x = 3: the full Gauss-Newton step lands at a negative x."""
    found = solve(Logarithm(-2.0), np.array([[3.0]]))
    assert found.status.converged
    assert found.point[0, 0] == pytest.approx(np.exp(-2.0), rel=1e-6)


def test_wrong_derivatives_stall() -> None:
    found = solve(Logarithm(-2.0, sign=-1.0), np.array([[3.0]]))
    assert found.status is SolveStatus.STALLED
    assert "derivatives" in found.status.message


def test_coordinates_that_no_residual_holds_stay_where_they_are() -> None:
    layout = Layout(4, 2, 2, 1)
    problem = LinearProblem(layout, [Blocks(np.arange(4), np.ones((4, 1)), np.tile([[[1.0, 0.0]]], (4, 1, 1)))])
    found = solve(problem, LinearPoint.zero(layout))
    assert found.status.converged
    assert found.point.stage == pytest.approx(np.tile([-1.0, 0.0], (4, 1)), abs=1e-6)
    assert not found.point.parameter.any()


def test_a_degenerate_hessian_raises_the_damping_and_is_reported() -> None:
    """Only the sum of two coordinates is measured, and no damping at the start."""
    layout = Layout(3, 2)
    rows = np.tile(np.array([[[1.0, 1.0]]]), (3, 1, 1))
    problem = LinearProblem(layout, [Blocks(np.arange(3), np.ones((3, 1)), rows)])
    config = LevenbergMarquardtConfig(initial_damping=0.0)
    seen: list[Iteration] = []
    found = solve(problem, LinearPoint.zero(layout), config, progress=seen.append)
    assert found.status.converged
    assert found.degenerate == sum(entry.degenerate for entry in seen) > 0
    assert found.point.stage.sum(axis=1) == pytest.approx(-np.ones(3), abs=1e-5)


@dataclass(frozen=True)
class Logarithm:
    """log x - target, NaN for negative x."""

    target: float
    sign: float = 1.0

    @property
    def layout(self) -> Layout:
        return Layout(1, 1)

    def linearise(self, point: Array) -> list[Blocks]:
        return [Blocks(np.zeros(1, dtype=np.intp), self.residuals(point)[0], self.sign / point[:, :, None])]

    def residuals(self, point: Array) -> list[Array]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return [np.log(point) - self.target]

    def retract(self, point: Array, stage_step: Array, parameter_step: Array, local_step: Array) -> Array:
        assert parameter_step.size == local_step.size == 0
        return point + stage_step


class Valley:
    """A narrow valley that bends, and hardly falls along its floor."""

    layout = Layout(1, 1, 1)

    def linearise(self, point: Array) -> list[Blocks]:
        by_stage = np.array([[[1e3], [0.0], [0.0]]])
        by_parameter = np.array([[[500.0 * np.sin(0.5 * point[1])], [0.01], [0.0]]])
        return [Blocks(np.zeros(1, dtype=np.intp), self.residuals(point)[0], by_stage, by_parameter)]

    def residuals(self, point: Array) -> list[Array]:
        return [np.array([[1e3 * (point[0] - np.cos(0.5 * point[1])), 0.01 * (point[1] - 5.0), 1.0]])]

    def retract(self, point: Array, stage_step: Array, parameter_step: Array, local_step: Array) -> Array:
        assert local_step.size == 0
        return point + np.array([stage_step[0, 0], parameter_step[0]])


def test_along_a_valley_that_bends_not_every_other_step_is_rejected() -> None:
    seen: list[Iteration] = []
    solve(Valley(), np.array([1.0, 0.3]), LevenbergMarquardtConfig(max_iterations=100), progress=seen.append)
    assert len(seen) == 100
    assert sum(entry.accepted for entry in seen) > 80
