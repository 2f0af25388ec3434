# SPDX-License-Identifier: Apache-2.0
"""Steps and posteriors of parameters against SciPy's programs and rejection sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from sysid_nodes.results.least_squares import SolveResult, SolveStatus
from sysid_nodes.solvers.trajectory_least_squares.multi_start import SearchStatus, judge
from sysid_nodes.solvers.trajectory_least_squares.parameter_posterior import ParameterPosterior, _bounce
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows, constrained_step


def random_program(seed: int) -> tuple[np.ndarray, np.ndarray, ParameterRows]:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3.0, 3.0, 6)  # units that have nothing to do with one another
    a = rng.standard_normal((9, 6)) / scale
    lower = np.where(rng.random(6) < 0.5, -0.3 * scale, -np.inf)
    upper = np.where(rng.random(6) < 0.5, 0.3 * scale, np.inf)
    equality = np.concatenate([rng.standard_normal((1, 6)) / scale, [[0.1]]], axis=1)
    return a.T @ a, a.T @ rng.standard_normal(9) * 3.0, ParameterRows(equality, lower, upper)


@pytest.mark.parametrize("seed", range(12))
def test_step_is_that_of_another_program(seed: int) -> None:
    hessian, gradient, rows = random_program(seed)
    found = constrained_step(np.linalg.cholesky(hessian), gradient, rows)
    assert found is not None
    scale = 1.0 / np.sqrt(np.diag(hessian))
    other = minimize(
        lambda z: 0.5 * (z * scale) @ hessian @ (z * scale) + gradient @ (z * scale),
        np.zeros(6),
        jac=lambda z: scale * (hessian @ (z * scale) + gradient),
        bounds=list(zip(rows.lower / scale, rows.upper / scale, strict=True)),
        constraints=LinearConstraint(rows.equality[:, :6] * scale, -rows.equality[:, 6], -rows.equality[:, 6]),
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    np.testing.assert_allclose(found.step / scale, other.x, atol=2e-5)
    assert np.all(found.step >= rows.lower * (1 + 1e-9))
    assert np.all(found.step <= rows.upper * (1 + 1e-9))
    np.testing.assert_allclose(rows.equality[:, :6] @ found.step, -rows.equality[:, 6], atol=1e-9)
    # The promised decrease: -g's - s'Hs / 2 = -(g's + slack product) / 2.
    decrease = -gradient @ found.step - 0.5 * found.step @ hessian @ found.step
    assert -0.5 * (gradient @ found.step + found.bent) == pytest.approx(decrease, rel=1e-6, abs=1e-9)


def test_constraints_that_clash() -> None:
    rows = ParameterRows(np.array([[1.0, 0.0, -2.0]]), np.full(2, -np.inf), np.array([1.0, np.inf]))
    assert constrained_step(np.eye(2), np.zeros(2), rows) is None


def test_draws_are_the_truncated_gaussians() -> None:
    """Against rejection: three parameters, strongly correlated, two with bounds."""
    sigma = np.array([1.0, 2.0, 0.5])
    correlation = np.array([[1.0, 0.9, -0.6], [0.9, 1.0, -0.4], [-0.6, -0.4, 1.0]])
    covariance = correlation * np.outer(sigma, sigma)
    lower, upper = np.array([0.0, -np.inf, -np.inf]), np.array([np.inf, np.inf, 0.2])
    mean = np.array([-1.0, 0.5, 0.1])
    found = ParameterPosterior(mean, covariance, lower, upper).samples(20000, np.random.default_rng(0))
    plain = np.random.default_rng(1).multivariate_normal(mean, covariance, 400000)
    kept = plain[np.all((plain >= lower) & (plain <= upper), axis=1)]
    for k in range(3):
        for q in (0.025, 0.25, 0.5, 0.75, 0.975):
            # quantiles of 20000 draws against those of some 60000: a twentieth of a sigma is four standard errors
            assert abs(np.quantile(found[:, k], q) - np.quantile(kept[:, k], q)) < 0.05 * sigma[k]
    np.testing.assert_allclose(np.cov(found.T), np.cov(kept.T), atol=0.06 * np.outer(sigma, sigma).max())


def test_draws_along_a_ridge_between_bounds() -> None:
    """Coordinates whose sum alone is known, as of frictions of joints that turn together."""
    ridge = np.array([1.0, -1.4, -0.8])
    covariance = 1e-4 * np.eye(3) + 0.04 * np.outer(ridge, ridge)
    mean, lower, upper = np.array([0.3, 0.1, 0.2]), np.zeros(3), np.full(3, np.inf)
    found = ParameterPosterior(mean, covariance, lower, upper).samples(8000, np.random.default_rng(0))
    plain = np.random.default_rng(1).multivariate_normal(mean, covariance, 400000)
    kept = plain[np.all(plain >= lower, axis=1)]
    assert found.min() >= 0.0
    np.testing.assert_allclose(found.std(axis=0), kept.std(axis=0), rtol=0.05)
    np.testing.assert_allclose(found.mean(axis=0), kept.mean(axis=0), atol=0.1 * kept.std(axis=0).min())


@pytest.mark.parametrize("far", [20.0, 100.0])
def test_far_beyond_a_bound(far: float) -> None:
    """Where the Gaussian has its mean many sigmas beyond the bound, what is left is an exponential."""
    for side, lower, upper in ((1.0, 0.0, np.inf), (-1.0, -np.inf, 0.0)):
        found = ParameterPosterior(np.array([-side * far]), np.eye(1), np.array([lower]), np.array([upper]))
        draws = side * found.samples(20000, np.random.default_rng(0))[:, 0]
        assert draws.min() >= 0.0
        assert draws.mean() == pytest.approx(1.0 / far, rel=0.05)


def test_a_bound_far_away_leaves_the_other_coordinates_their_spread() -> None:
    """The first is at its bound, given which the second has its mean at its own: half a Gaussian of variance 3/4."""
    covariance, lower = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([4000.0, 2000.0])
    found = ParameterPosterior(np.zeros(2), covariance, lower, np.full(2, np.inf))
    above = found.samples(600, np.random.default_rng(0)) - lower
    assert above[:, 0].mean() == pytest.approx(1.0 / 4000.0, rel=0.2)
    assert above[:, 1].mean() == pytest.approx(np.sqrt(0.75 * 2.0 / np.pi), rel=0.1)
    assert above[:, 1].std() == pytest.approx(np.sqrt(0.75 * (1.0 - 2.0 / np.pi)), rel=0.1)


def test_a_particle_that_rounding_left_outside_comes_in_again() -> None:
    found = _bounce(np.array([[-1e-6]]), np.ones((1, 1)), np.ones((1, 1)), np.zeros(1))
    assert found[0, 0] > 0.0


@pytest.mark.parametrize(
    ("costs", "status"),
    [
        ((3.0,), SearchStatus.FOUND),
        ((3.0, 3.01, 9.0), SearchStatus.FOUND),
        ((3.0, 3.2), SearchStatus.LOCAL_MINIMUM_SUSPECTED),
        ((3.0, -1.0), SearchStatus.STALLED),
    ],
)
def test_search_tells_what_is_known(costs: tuple[float, ...], status: SearchStatus) -> None:
    results = []
    for cost in costs:
        ended = SolveStatus.CONVERGED_STEP if cost > 0.0 else SolveStatus.STALLED
        results.append(SolveResult(ended, cost, cost, 10.0, 1, 0, 1.0, 0.0))
    found = judge(results)
    assert found.status is status
    assert found.best.cost == min(costs)
