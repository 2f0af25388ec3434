# SPDX-License-Identifier: Apache-2.0
"""Leverages and covariances for another noise, against dense linear algebra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.linear_trajectory import dense, random_groups

from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, factorise
from sysid_nodes.solvers.trajectory_least_squares.influence import influences, leverages, white_residuals
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.posterior import covariances, posterior
from sysid_nodes.solvers.trajectory_least_squares.problem import Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.robust import Cauchy, reweight
from sysid_nodes.solvers.trajectory_least_squares.sandwich import sandwich
from sysid_nodes.solvers.trajectory_least_squares.variance_components import correlation_time

shapes = {
    "stages": st.integers(1, 7),
    "size": st.integers(1, 3),
    "parameters": st.integers(0, 3),
    "local": st.integers(0, 2),
    "width": st.integers(1, 4),
    "seed": st.integers(0, 2**31),
}


def factor_of(groups: list[Blocks], layout: Layout) -> Factor:
    factor = factorise(assemble(groups, layout), 0.0)
    assert factor is not None
    return factor


@settings(max_examples=30, deadline=None)
@given(**shapes | {"width": st.integers(1, 3)})
def test_influence_is_that_of_the_dense_hat_matrix(
    stages: int, size: int, parameters: int, local: int, width: int, seed: int
) -> None:
    layout = Layout(stages, size, parameters, local)
    groups = random_groups(np.random.default_rng(seed), layout, width)
    groups[1] = replace(groups[1], loss=Cauchy())
    factor = factorise(assemble(groups, layout), 0.0)
    assert factor is not None
    found = influences(groups, factor)
    assert found is not None
    posterior_, rows = found
    plain = posterior(assemble(groups, layout))
    assert plain is not None
    assert posterior_.stage == pytest.approx(plain.stage)

    weighted = [reweight(blocks) for blocks in groups]
    jacobian, residual = dense(weighted, layout)
    gain = jacobian @ np.linalg.pinv(jacobian.T @ jacobian)
    # A dense pseudo-inverse of a matrix with a condition number up to about 1e6.
    near = {"rel": 1e-6, "abs": 1e-7 * (1.0 + np.abs(gain).max())}
    leverage = np.concatenate([own.leverage.ravel() for own in rows])
    assert leverage == pytest.approx(np.sum(gain * jacobian, axis=1), **near)
    theta = slice(stages * size, stages * size + parameters)
    moved = np.concatenate([own.gain.reshape(own.leverage.size, parameters) for own in rows])
    assert moved == pytest.approx(gain[:, theta], **near)
    assert np.concatenate([own.residual.ravel() for own in rows]) == pytest.approx(residual)


@settings(max_examples=30, deadline=None)
@given(**shapes)
def test_sandwich_is_the_dense_one(stages: int, size: int, parameters: int, local: int, width: int, seed: int) -> None:
    layout, rng = Layout(stages, size, parameters, local), np.random.default_rng(seed)
    groups = random_groups(rng, layout, width)
    plain = posterior(assemble(groups, layout))
    assert plain is not None
    variances = [rng.uniform(0.0, 3.0, blocks.residual.shape) for blocks in groups]
    found = sandwich(groups, factor_of(groups, layout), plain, variances)
    assert found is not None

    jacobian, _ = dense(groups, layout)
    gain = jacobian @ np.linalg.pinv(jacobian.T @ jacobian)
    noise = np.concatenate([variance.ravel() for variance in variances])
    covariance = gain.T @ (noise[:, None] * gain)
    # Too large by a thousandth at most, and rounding may add as much.
    near = {"rel": 2e-3, "abs": 1e-3 * (1e-3 + np.abs(covariance).max())}
    n, states = size, stages * size
    theta = slice(states, states + parameters)
    assert found.parameter == pytest.approx(covariance[theta, theta], **near)
    assert np.isnan(found.stage_parameter).all()
    for k in range(stages):
        own = slice(k * n, (k + 1) * n)
        assert found.stage[k] == pytest.approx(covariance[own, own], **near)
        if k + 1 < stages:
            assert found.neighbour[k] == pytest.approx(covariance[own, (k + 1) * n : (k + 2) * n], **near)
        if not np.isnan(found.local[k]).any():
            mine = slice(states + parameters + k * local, states + parameters + (k + 1) * local)
            assert found.local[k] == pytest.approx(covariance[mine, mine], **near)


def test_leverages_of_some_rows() -> None:
    layout = Layout(6, 2, 2, 1)
    groups = random_groups(np.random.default_rng(4), layout, 3)
    factor = factorise(assemble(groups, layout), 0.0)
    assert factor is not None
    found = influences(groups, factor)
    assert found is not None
    asked = [slice(1, None), *[slice(0)] * (len(groups) - 1)]
    some = leverages(groups, factor, found[0], asked)
    assert groups[0].residual.shape[1] > 1
    assert some[0][:, 1:] == pytest.approx(found[1][0].leverage[:, 1:])
    assert np.isnan(some[0][:, 0]).all()
    assert all(np.isnan(own).all() for own in some[1:])


def test_noise_as_stated_leaves_the_posterior_as_it_is() -> None:
    layout = Layout(6, 2, 2, 1)
    groups = random_groups(np.random.default_rng(3), layout, 3)
    plain = posterior(assemble(groups, layout))
    assert plain is not None
    found = sandwich(groups, factor_of(groups, layout), plain, [np.ones(blocks.residual.shape) for blocks in groups])
    assert found is not None
    # Too large by a thousandth at most.
    assert found.parameter == pytest.approx(plain.parameter, rel=1.1e-3)
    assert found.second == pytest.approx(plain.second, rel=1.1e-3, abs=1e-6, nan_ok=True)
    assert np.all(np.diagonal(found.stage, axis1=1, axis2=2) > 0.0)


def test_one_inversion_does_where_rounding_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is larger than two by up to a thousandth of the largest noise's share, and never smaller but for rounding."""
    layout, rng = Layout(12, 3, 2, 2), np.random.default_rng(8)
    groups = random_groups(rng, layout, 3)
    plain = posterior(assemble(groups, layout))
    assert plain is not None
    variances, found = [rng.uniform(0.5, 9.0, blocks.residual.shape) for blocks in groups], []
    for rounding in (2e-15, np.inf):
        monkeypatch.setattr("sysid_nodes.solvers.trajectory_least_squares.sandwich._PIVOT_ROUNDING", rounding)
        own = sandwich(groups, factor_of(groups, layout), plain, variances)
        assert own is not None
        found.append(np.diagonal(own.stage, axis1=1, axis2=2))
    one, two = found
    assert np.all(one > two * (1.0 - 1e-5))
    assert 1e-4 < np.max(one / two - 1.0) < 1.1e-3


@pytest.mark.parametrize("variance", [0.0, np.nan, np.inf])
def test_no_noise_at_all_is_no_answer(variance: float) -> None:
    layout = Layout(2, 1)
    groups = random_groups(np.random.default_rng(0), layout, 1)
    plain = posterior(assemble(groups, layout))
    assert plain is not None
    assert (
        sandwich(
            groups, factor_of(groups, layout), plain, [np.full(blocks.residual.shape, variance) for blocks in groups]
        )
        is None
    )


def test_rounding_leaves_no_covariance_beyond_what_the_variances_allow() -> None:
    """A chain that only a wide prior at its beginning ties down: the inverses have few digits left for a difference."""
    layout, rng = Layout(200, 2, 1, 0), np.random.default_rng(5)
    steps = np.arange(199)
    move = np.tile(1e4 * np.hstack([-np.eye(2), np.eye(2)]), (199, 1, 1))
    chain = Blocks(steps, np.zeros((199, 2)), move, parameter_jacobian=1e3 * rng.normal(size=(199, 2, 1)))
    own, of_theta = np.eye(3)[None, :, :2], np.eye(3)[None, :, 2:]
    tie = Blocks(np.zeros(1, dtype=int), np.zeros((1, 3)), own, parameter_jacobian=of_theta)
    groups = [chain, tie]
    plain = posterior(assemble(groups, layout))
    assert plain is not None
    variances = [rng.uniform(0.5, 500.0, blocks.residual.shape) for blocks in groups]
    found = sandwich(groups, factor_of(groups, layout), plain, variances)
    assert found is not None
    least, largest = min(v.min() for v in variances), max(v.max() for v in variances)
    for covariance, stated in zip(found.stage, plain.stage, strict=True):
        root = np.linalg.inv(np.linalg.cholesky(stated))
        relative = np.linalg.eigvalsh(root @ covariance @ root.T)
        assert least * (1.0 - 1e-6) <= relative[0] and relative[-1] <= largest * (1.0 + 1e-6)


def test_white_noise_leaves_residuals_of_one_less_the_leverage() -> None:
    """A trajectory that is read, with accelerations that are read, too: quick changes go into the trajectory."""
    stages = 600
    read = Blocks(np.arange(stages), np.zeros((stages, 1)), np.ones((stages, 1, 1)))
    bend = np.tile(np.array([1.0, -2.0, 1.0]), (stages - 2, 1, 1))
    told = Blocks(np.arange(stages - 2), np.zeros((stages - 2, 1)), bend, np.ones((stages - 2, 1, 1)))
    layout = Layout(stages, 1, 1)
    factor = factorise(assemble([read, told], layout), 0.0)
    assert factor is not None
    found = influences([read, told], factor)
    assert found is not None
    rng = np.random.default_rng(0)
    draws = [white_residuals([read, told], layout, rng) for _ in range(60)]
    for group, own in enumerate(found[1]):
        left = np.array([draw[group] for draw in draws if draw is not None])
        np.testing.assert_allclose(np.mean(left**2), np.mean(1.0 - own.leverage), rtol=0.05)
    bends = [draw[1] for draw in draws if draw is not None]
    raw, own = (np.median([correlation_time(rows, white) for rows in bends[20:]]) for white in ((), bends[:20]))
    assert raw > 1.4
    assert own < 1.2


@pytest.mark.parametrize("stiffness", [1e5, 3e5, 1e6])
def test_rounding_makes_nothing_better_known_than_its_prior_tells(stiffness: float) -> None:
    """The place of a whole chain is known from its wide prior alone, whose noise is the stated one.

    The smaller noise of the stiff links, a fiftieth of what is stated, is the least that a covariance may be by its
    bounds, and rounding took the place's down to that.
    """
    layout, rng = Layout(200, 2), np.random.default_rng(6)
    move = np.tile(stiffness * np.hstack([-np.eye(2), np.eye(2)]), (199, 1, 1))
    chain = Blocks(np.arange(199), np.zeros((199, 2)), move)
    tie = Blocks(np.zeros(1, dtype=int), np.zeros((1, 2)), np.eye(2)[None])
    factor = factor_of([chain, tie], layout)
    plain = covariances(factor)
    assert plain is not None
    found = sandwich([chain, tie], factor, plain, [rng.uniform(0.02, 9.0, (199, 2)), np.ones((1, 2))])
    assert found is not None
    # Half of it: where the mean of both inversions shows no rounding, that of their difference is at most a fifth.
    assert np.linalg.eigvalsh(found.stage).min() > 0.5
    assert np.linalg.eigvalsh(found.stage).max() < 1.1 * 9.0
