# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared.linear_trajectory import random_blocks
from shared.pendulum_trajectory import Pendulum, PendulumPoint, simulate

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.trajectory_least_squares import GaussianPrior, solve
from sysid_nodes.solvers.trajectory_least_squares.marginal import marginalise
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.posterior import posterior
from sysid_nodes.solvers.trajectory_least_squares.problem import Layout


def test_residuals_are_in_sigmas() -> None:
    prior = GaussianPrior.from_sigmas(np.array([[0.1, 2.0], [0.5, 1.0]]), np.array([3.0]))
    assert prior.width == 2
    difference = np.array([[0.1, -2.0], [1.0, 0.0]]), np.array([6.0])
    assert prior.residual(*difference)[0] == pytest.approx([1.0, -1.0, 2.0, 0.0, 2.0])


def test_an_infinite_sigma_is_no_row() -> None:
    prior = GaussianPrior.from_sigmas(np.array([np.inf, 2.0]), np.array([np.inf]))
    assert prior.root.shape == (1, 3)
    assert prior.root[0] == pytest.approx([0.0, 0.5, 0.0])


def test_the_posterior_of_a_prior_alone_is_the_prior() -> None:
    root = np.random.default_rng(0).normal(size=(5, 5))
    covariance = root @ root.T + np.eye(5)
    prior = GaussianPrior(np.linalg.inv(np.linalg.cholesky(covariance)), np.zeros(5), 2, 1)
    found = posterior(assemble([prior.blocks(np.zeros((2, 2)))], Layout(2, 2, 1)))
    assert found is not None
    assert found.stage[1] == pytest.approx(covariance[2:4, 2:4])
    assert found.parameter == pytest.approx(covariance[4:, 4:])


def test_the_difference_jacobian_multiplies_each_stage() -> None:
    rng = np.random.default_rng(0)
    prior = GaussianPrior(rng.normal(size=(3, 5)), rng.normal(size=3), 2, 1)
    jacobians = rng.normal(size=(2, 2, 2))
    blocks = prior.blocks(np.ones((2, 2)), np.ones(1), jacobians)
    assert blocks.jacobian[0, :, :2] == pytest.approx(prior.root[:, :2] @ jacobians[0])
    assert blocks.jacobian[0, :, 2:] == pytest.approx(prior.root[:, 2:4] @ jacobians[1])
    assert blocks.parameter_jacobian is not None
    assert blocks.parameter_jacobian[0] == pytest.approx(prior.root[:, 4:])


@given(seed=st.integers(0, 2**31), scale=st.sampled_from([1e-8, 1.0, 1e8]), rows=st.integers(0, 6))
def test_an_arrival_cost_is_positive_semidefinite_whatever_the_data(seed: int, scale: float, rows: int) -> None:
    rng = np.random.default_rng(seed)
    layout = Layout(4, 2, 2)
    blocks = random_blocks(rng, layout, np.arange(3), rows, 2)
    blocks.jacobian[:, :, 1] *= scale
    prior = marginalise([blocks], layout, 2).prior
    information = prior.root.T @ prior.root
    assert np.isfinite(information).all()
    assert np.linalg.eigvalsh(information).min() >= -1e-14 * np.abs(information).max(initial=0.0)


def test_a_moving_horizon_follows_the_full_information_estimate_of_a_pendulum() -> None:
    """Windows of 30 stages that advance by 10: the arrival cost carries what 170 earlier angles said."""
    rng = np.random.default_rng(2)
    stages, length, advance = 200, 30, 10
    truth = simulate(rng, stages, 0.05)
    whole = Pendulum(truth[:, 0] + 0.02 * rng.normal(size=stages))
    full = solve(whole, whole.start())
    covariance = posterior(assemble(whole.linearise(full.point), whole.layout))
    assert covariance is not None
    window = replace(whole, angles=whole.angles[:length])
    point = window.start()
    for end in range(length, stages + 1, advance):
        found = solve(window, point)
        assert found.status.converged
        if end == stages:
            break
        marginal = marginalise(window.linearise(found.point), window.layout, advance)
        kept = found.point.stage[advance:]
        angles = whole.angles[end - length + advance : end + advance]
        fresh = np.stack([angles[-advance:], np.full(advance, kept[-1, 1])], axis=1)
        reference = PendulumPoint(kept, found.point.parameter)
        window = replace(whole, angles=angles, prior=marginal.prior.at(0), reference=reference)
        point = PendulumPoint(np.concatenate([kept, fresh]), found.point.parameter)
    moving = posterior(assemble(window.linearise(found.point), window.layout))
    assert moving is not None
    sigmas = np.sqrt(np.diag(covariance.parameter))
    # Linearised once where the window stood: a fraction of sigma is lost, no more.
    assert np.all(np.abs(found.point.parameter - full.point.parameter) < 0.5 * sigmas)
    assert np.sqrt(np.diag(moving.parameter)) == pytest.approx(sigmas, rel=0.1)
    assert found.point.stage[-1] == pytest.approx(full.point.stage[-1], abs=0.01)


def test_bad_priors_are_named() -> None:
    with pytest.raises(SamplesError, match=r"a prior needs root \(r, width \* 2 \+ 1\)"):
        GaussianPrior(np.zeros((2, 4)), np.zeros(2), 2, 1)
    with pytest.raises(SamplesError, match=r"offset \(r,\), got \(2, 5\) and \(3,\)"):
        GaussianPrior(np.zeros((2, 5)), np.zeros(3), 2, 1)
    with pytest.raises(SamplesError, match="sigmas of a prior must be positive"):
        GaussianPrior.from_sigmas(np.array([1.0, 0.0]))
