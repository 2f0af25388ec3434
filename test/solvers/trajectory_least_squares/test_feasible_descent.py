# SPDX-License-Identifier: Apache-2.0
"""The constrained descent against programs that share nothing with it: dense KKT systems, and Ipopt where there is."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from shared.linear_trajectory import dense
from shared.mechanism_trajectory import STEP, TRUTH, Sliding, SlidingPoint, sliding, start, true_stages
from shared.trajectory_smoother import smooth

from sysid_nodes.results.least_squares import SolveStatus
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import (
    TOLERANCE,
    FeasiblePoint,
    linear_model,
    solve_feasible,
)
from sysid_nodes.solvers.trajectory_least_squares.levenberg_marquardt import LevenbergMarquardtConfig
from sysid_nodes.solvers.trajectory_least_squares.parameter_posterior import parameter_posterior
from sysid_nodes.solvers.trajectory_least_squares.posterior import Posterior, covariances
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks
from sysid_nodes.solvers.trajectory_least_squares.stage_equalities import StageEqualities, TangentSpace

TIGHT = LevenbergMarquardtConfig(cost_tolerance=1e-15, step_tolerance=1e-10, gradient_tolerance=1e-11)


def hard_blocks(problem: Sliding, at: SlidingPoint) -> list[Blocks]:
    """Every equality as blocks of the general elimination."""
    stages = problem.stage_equalities(at)
    rows = problem.parameter_rows(at).equality
    found = [Blocks(np.arange(len(at.stage)), stages.value, stages.jacobian)]
    if len(rows):
        found.append(Blocks(np.array([0]), rows[None, :, -1], np.zeros((1, len(rows), 3)), rows[None, :, :-1]))
    return found


def expand_posterior(space: TangentSpace, found: Posterior) -> Posterior:
    """Covariances of the stages themselves: none across the manifold."""
    z = space.basis

    def both(reach: int, covariance: Array) -> Array:
        count = len(covariance)
        return np.asarray(z[:count] @ covariance @ z[reach : reach + count].swapaxes(1, 2))

    return replace(
        found,
        stage=both(0, found.stage),
        stage_parameter=z @ found.stage_parameter,
        neighbour=both(1, found.neighbour),
        second=both(2, found.second),
    )


def dense_kkt(problem: Sliding, at: SlidingPoint, pinned: list[int]) -> tuple[Array, Array, Array]:
    """Gradient left across the constraints, their multipliers, and the covariance, all dense."""
    rows, residual = dense(problem.linearise(at), problem.layout)
    c, _ = dense(hard_blocks(problem, at), problem.layout)
    bounds = np.zeros((len(pinned), rows.shape[1]))
    bounds[np.arange(len(pinned)), [3 * len(at.stage) + k for k in pinned]] = 1.0
    c = np.concatenate([c, bounds])
    gradient = rows.T @ residual
    multipliers = np.linalg.lstsq(c.T, -gradient, rcond=None)[0]
    matrix = np.block([[rows.T @ rows, c.T], [c, np.zeros((len(c), len(c)))]])
    inverse = np.linalg.inv(matrix)[: rows.shape[1], : rows.shape[1]]
    return gradient + c.T @ multipliers, multipliers, inverse


@pytest.mark.parametrize("total", [None, float(np.exp(TRUTH[0]) + TRUTH[3])])
def test_solution_meets_the_dense_conditions(total: float | None) -> None:
    problem = sliding(60, 1, sum_of_last=total)
    result = solve_feasible(problem, start(problem), TIGHT)
    assert result.status.converged
    assert result.iterations <= 30
    at = result.point
    assert at.feasible
    assert problem.stage_equalities(at.point).violation <= TOLERANCE
    if total is not None:
        assert abs(problem.parameter_rows(at.point).equality[0, -1]) <= TOLERANCE
    left, _, covariance = dense_kkt(problem, at.point, [])
    sigma = np.sqrt(np.diag(covariance))
    assert np.abs(left * sigma).max() < 1e-5  # in sigmas

    model = linear_model(problem, at)
    assert model.factor is not None
    found = expand_posterior(at.space, covariances(model.factor))  # type: ignore[arg-type]
    theta = parameter_posterior(model.factor, model.rows)
    np.testing.assert_allclose(theta.covariance, covariance[180:, 180:], rtol=1e-6, atol=1e-12)
    if total is None:  # with a constraint on parameters, the stages' covariances are those without it
        for k in (0, 31, 59):
            block = covariance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3]
            np.testing.assert_allclose(found.stage[k], block, rtol=1e-6, atol=1e-12)
            cross = covariance[3 * k : 3 * k + 3, 180:]
            np.testing.assert_allclose(found.stage_parameter[k], cross, rtol=1e-6, atol=1e-12)
        general = smooth(problem.linearise(at.point), problem.layout, hard_blocks(problem, at.point))
        assert general is not None
        np.testing.assert_allclose(general.posterior.parameter, theta.covariance, rtol=1e-6)
        np.testing.assert_allclose(general.posterior.neighbour, found.neighbour, rtol=1e-5, atol=1e-12)


class Loosening(Sliding):
    """The second equality holds in the second half alone; before, z is told by the forces."""

    def stage_equalities(self, point: SlidingPoint) -> StageEqualities:
        found = super().stage_equalities(point)
        held = np.ones(found.value.shape, dtype=np.bool_)
        held[1 : len(held) // 2, 1] = False
        return replace(found, held=held)


def test_equalities_that_hold_at_some_stages_meet_the_dense_conditions() -> None:
    """Estimate and covariances are those of the tangent space of all that hold, made densely."""
    usual = sliding(40, 1)
    problem = Loosening(usual.x, usual.force, bounded=False)
    result = solve_feasible(problem, start(problem), TIGHT)
    assert result.status.converged
    at = result.point
    equalities = problem.stage_equalities(at.point)
    assert equalities.held is not None
    assert np.abs(equalities.value[~equalities.held]).max() > 1e-4  # they are not met by chance
    assert equalities.violation <= TOLERANCE
    rows, residual = dense(problem.linearise(at.point), problem.layout)
    every = Blocks(np.arange(40), equalities.value, equalities.jacobian)
    c = dense([every], problem.layout)[0][equalities.held.ravel()]
    tangent = np.linalg.svd(c)[2][len(c) :].T
    reduced = rows @ tangent
    covariance = tangent @ np.linalg.inv(reduced.T @ reduced) @ tangent.T
    assert np.abs(np.sqrt(np.diag(covariance)) @ np.abs(tangent @ (reduced.T @ residual))) < 1e-3  # in sigmas
    model = linear_model(problem, at)
    assert model.factor is not None
    found = expand_posterior(at.space, covariances(model.factor))  # type: ignore[arg-type]
    np.testing.assert_allclose(found.parameter, covariance[120:, 120:], rtol=1e-6, atol=1e-12)
    for k in (0, 10, 31):
        block = covariance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3]
        np.testing.assert_allclose(found.stage[k], block, rtol=1e-6, atol=1e-12)


def test_active_bound_is_met_exactly_and_pushes_the_right_way() -> None:
    problem = sliding(60, 2, truth=np.array([0.3, -0.25, 0.2, 0.7]))  # "friction" that drives: not allowed
    result = solve_feasible(problem, start(problem), TIGHT)
    assert result.status.converged
    theta = result.point.point.theta
    assert abs(theta[1]) < 1e-12
    pinned = [1, *(k for k in (2,) if theta[k] < 1e-12)]
    left, multipliers, covariance = dense_kkt(problem, result.point.point, pinned)
    assert np.abs(left * np.sqrt(np.abs(np.diag(covariance)))).max() < 1e-6
    assert np.all(multipliers[-len(pinned) :] < 0.0)  # the cost would fall below the bound
    model = linear_model(problem, result.point)
    assert model.factor is not None
    found = parameter_posterior(model.factor, model.rows)
    assert found.mean[1] < 0.0
    draws = found.samples(4000, np.random.default_rng(0)) + theta
    assert draws[:, 1].min() >= 0.0
    assert np.quantile(draws[:, 1], 0.025) < 0.02 * np.sqrt(found.covariance[1, 1])


def test_start_on_no_way_to_the_equalities() -> None:
    problem = sliding(20, 3)
    at = start(problem)
    lost = replace(at, stage=np.zeros_like(at.stage))  # the centre of the circle: no direction leads out
    assert solve_feasible(problem, lost).status is SolveStatus.INFEASIBLE


class Contradicting(Sliding):
    """The second equality says that x is 2."""

    def stage_equalities(self, point: SlidingPoint) -> StageEqualities:
        found = super().stage_equalities(point)
        value, jacobian = found.value.copy(), found.jacobian.copy()
        value[:, 1], jacobian[:, 1] = point.stage[:, 0] - 2.0, (1.0, 0.0, 0.0)
        return StageEqualities(value, jacobian)


def test_equalities_that_contradict_one_another() -> None:
    problem = sliding(20, 3)
    assert solve_feasible(Contradicting(problem.x, problem.force), start(problem)).status is SolveStatus.INFEASIBLE


def test_every_iterate_is_feasible_and_the_cost_never_rises() -> None:
    problem = sliding(40, 4)
    costs: list[float] = []
    for most in range(1, 8):
        result = solve_feasible(problem, start(problem), LevenbergMarquardtConfig(max_iterations=most))
        assert problem.stage_equalities(result.point.point).violation <= TOLERANCE
        costs.append(result.cost)
    assert all(after <= before * (1.0 + 1e-9) for before, after in itertools.pairwise(costs))


def test_coverage_of_parameters() -> None:
    inside = np.zeros(4)
    seeds = 40
    for seed in range(seeds):
        problem = sliding(50, seed, bounded=False, prior=100.0)
        result = solve_feasible(problem, start(problem))
        model = linear_model(problem, result.point)
        assert model.factor is not None
        sigma = np.sqrt(np.diag(parameter_posterior(model.factor, model.rows).covariance))
        inside += np.abs(result.point.point.theta - TRUTH) < 1.96 * sigma
    # 160 trials of 0.95 have a standard deviation of 0.017
    assert 0.89 < inside.sum() / (4 * seeds) <= 0.99


def test_ipopt_finds_the_same_minimum() -> None:
    casadi = pytest.importorskip("casadi", reason="Ipopt comes with CasADi, which is not a dependency")
    problem = sliding(40, 5, truth=np.array([0.3, -0.25, 0.2, 0.7]), sum_of_last=2.0)
    result = solve_feasible(problem, start(problem), TIGHT)
    n = 40
    s, theta = casadi.SX.sym("s", 3, n), casadi.SX.sym("theta", 4)
    x, y, z = s[0, :], s[1, :], s[2, :]
    v, a = (y[2:] - y[:-2]) / (2 * STEP), (y[2:] - 2 * y[1:-1] + y[:-2]) / STEP**2
    mass = casadi.exp(theta[0])
    tau = mass * a + theta[1] * casadi.tanh(v / 0.3) + theta[2] * v + theta[3] * z[1:-1]
    cost = 0.5 * casadi.sumsqr((x - problem.x[None]) / 0.005) + 0.5 * casadi.sumsqr((tau - problem.force[None]) / 0.1)
    cost += 0.5 * casadi.sumsqr(theta)
    g = casadi.horzcat((x**2 + y**2 - 1), (z - x * y), mass + theta[3] - 2.0)
    unknowns = casadi.vertcat(casadi.reshape(s, -1, 1), theta)
    solver = casadi.nlpsol(
        "s", "ipopt", {"x": unknowns, "f": cost, "g": g}, {"ipopt.print_level": 0, "print_time": 0, "ipopt.tol": 1e-10}
    )
    lower = np.concatenate([np.full(3 * n, -np.inf), [-np.inf, 0.0, 0.0, -np.inf]])
    first = np.concatenate([true_stages(n).ravel(), np.zeros(4)])
    found = solver(x0=first, lbx=lower, ubx=np.inf, lbg=0.0, ubg=0.0)
    assert result.cost == pytest.approx(float(found["f"]), rel=1e-7)
    np.testing.assert_allclose(result.point.point.theta, np.array(found["x"])[-4:, 0], atol=1e-5)


def test_feasible_point_says_so() -> None:
    problem = sliding(20, 6)
    assert isinstance(solve_feasible(problem, start(problem)).point, FeasiblePoint)


def test_correlated_noise_widens_what_constraints_leave_free() -> None:
    problem = sliding(40, 7, sum_of_last=2.0)
    model = linear_model(problem, solve_feasible(problem, start(problem)).point)
    assert model.factor is not None
    plain = parameter_posterior(model.factor, model.rows)
    row = model.rows.equality[0, :4]
    extra = 0.01 * np.eye(4)
    wide = parameter_posterior(model.factor, model.rows, extra)
    assert abs(row @ wide.covariance @ row) < 1e-12  # the sum stays known
    assert np.all(np.linalg.eigvalsh(wide.covariance - plain.covariance) > -1e-12)
    free = np.array([0.0, 1.0, 0.0, 0.0])
    assert free @ wide.covariance @ free > free @ plain.covariance @ free + 0.005
