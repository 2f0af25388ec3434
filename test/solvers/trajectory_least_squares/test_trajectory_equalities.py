# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.linear_trajectory import LinearPoint, dense, random_blocks, random_groups, select
from shared.trajectory_smoother import smooth

from sysid_nodes.solvers.trajectory_least_squares.marginal import marginalise
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout


def equalities(rng: np.random.Generator, layout: Layout) -> tuple[Blocks, ...]:
    """One equality between neighbours, one that holds local variables, one on the parameters alone."""
    pairs = np.arange(layout.stages - 1)
    found = [random_blocks(rng, layout, pairs[:-1], 1, 2)]
    if layout.local and layout.stages > 2:
        found.append(random_blocks(rng, layout, pairs[1:], 1, 1, local=pairs[1:]))
    if layout.parameters > 1:
        alone = random_blocks(rng, layout, [0], 1, 1)
        found.append(replace(alone, jacobian=np.zeros_like(alone.jacobian)))
    return tuple(found)


def kkt(groups: list[Blocks], hard: tuple[Blocks, ...], layout: Layout) -> tuple[Array, Array]:
    """Solution and covariance of the dense problem; unused local variables stay zero."""
    rows, residual = dense(groups, layout)
    c, value = dense(hard, layout)
    hessian = rows.T @ rows
    unused = np.diag(hessian) == 0.0
    hessian += np.diag(unused.astype(float))
    matrix = np.block([[hessian, c.T], [c, np.zeros((c.shape[0], c.shape[0]))]])
    found = np.linalg.solve(matrix, -np.concatenate([rows.T @ residual, value]))
    inverse = np.linalg.inv(matrix)
    return found[: rows.shape[1]], inverse[: rows.shape[1], : rows.shape[1]]


problems = st.builds(
    Layout, stages=st.integers(2, 8), size=st.integers(2, 3), parameters=st.integers(0, 3), local=st.integers(0, 2)
)


@settings(max_examples=40, deadline=None)
@given(layout=problems, width=st.integers(1, 3), seed=st.integers(0, 2**31))
def test_the_smoother_is_the_dense_kkt_solution(layout: Layout, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, hard = random_groups(rng, layout, width), equalities(rng, layout)
    expected, covariance = kkt(groups, hard, layout)
    found = smooth(groups, layout, hard)
    assert found is not None
    assert found.contradiction < 1e-9
    step = LinearPoint(found.step.stage, found.step.parameter, found.step.local).flat()
    # Dense KKT systems of random rows have condition numbers up to about 1e6.
    assert step == pytest.approx(expected, abs=1e-8 * (1.0 + np.abs(expected).max()))
    near = {"abs": 1e-8 * (1.0 + np.abs(covariance).max())}
    n, states = layout.size, layout.stages * layout.size
    theta = slice(states, states + layout.parameters)
    assert found.posterior.parameter == pytest.approx(covariance[theta, theta], **near)
    for k in range(layout.stages):
        own, start = slice(k * n, (k + 1) * n), states + layout.parameters + k * layout.local
        assert found.posterior.stage[k] == pytest.approx(covariance[own, own], **near)
        assert found.posterior.stage_parameter[k] == pytest.approx(covariance[own, theta], **near)
        mine = slice(start, start + layout.local)
        if not np.isnan(found.posterior.local[k]).any():
            assert found.posterior.local[k] == pytest.approx(covariance[mine, mine], **near)
        if k + 1 < layout.stages:
            assert found.posterior.neighbour[k] == pytest.approx(covariance[own, (k + 1) * n : (k + 2) * n], **near)


def test_equalities_that_repeat_one_another_are_fine() -> None:
    rng = np.random.default_rng(0)
    layout = Layout(5, 2, 1)
    groups = random_groups(rng, layout, 2)
    once = random_blocks(rng, layout, np.arange(4), 1, 2)
    expected, _ = kkt(groups, (once,), layout)
    smoothed = smooth(groups, layout, (once, once))
    assert smoothed is not None
    assert smoothed.contradiction < 1e-12
    assert smoothed.step.stage.ravel() == pytest.approx(expected[:10], abs=1e-9)


def test_equalities_that_contradict_one_another_are_reported() -> None:
    rng = np.random.default_rng(0)
    layout = Layout(5, 2, 1)
    groups = random_groups(rng, layout, 2)
    once = random_blocks(rng, layout, np.arange(4), 1, 2)
    other = replace(once, residual=once.residual + 1.0)
    smoothed = smooth(groups, layout, (once, other))
    assert smoothed is not None
    assert smoothed.contradiction > 0.1


def test_equalities_survive_marginalisation() -> None:
    """A window that carries both arrival cost and arrival equalities on has the full problem's solution."""
    rng = np.random.default_rng(5)
    layout = Layout(7, 3, 2, 1)
    groups, hard = random_groups(rng, layout, 3), equalities(rng, layout)
    expected, _ = kkt(groups, hard, layout)
    marginal = marginalise(groups, layout, 3, hard)
    assert marginal.equality is not None
    zero = np.zeros((marginal.prior.width, 3))
    left = [select(blocks, ~used, 3) for blocks, used in zip(groups, marginal.used, strict=True)]
    bound = [select(blocks, ~used, 3) for blocks, used in zip(hard, marginal.equalities_used, strict=True)]
    window = smooth(
        [*left, marginal.prior.at(0).blocks(zero)],
        replace(layout, stages=4),
        (*bound, marginal.equality.at(0).blocks(zero)),
    )
    assert window is not None
    assert window.step.stage.ravel() == pytest.approx(expected[9:21], abs=1e-9)
    assert window.step.parameter == pytest.approx(expected[21:23], abs=1e-9)


def test_data_that_leave_a_coordinate_free_have_no_smoothed_solution() -> None:
    layout = Layout(3, 2)
    groups = random_groups(np.random.default_rng(0), layout, 1)
    for blocks in groups:
        blocks.jacobian[:, :, 1] = 0.0
    assert smooth(groups, layout) is None
    pinned = Blocks(np.arange(3), np.ones((3, 1)), np.tile(np.array([[[0.0, 1.0]]]), (3, 1, 1)))
    found = smooth(groups, layout, (pinned,))
    assert found is not None
    assert found.step.stage[:, 1] == pytest.approx(-np.ones(3))
    assert found.posterior.stage[:, 1, 1] == pytest.approx(np.zeros(3), abs=1e-15)
