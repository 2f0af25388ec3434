# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.linear_trajectory import dense, random_blocks, random_groups, select

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.trajectory_least_squares.marginal import Marginal, marginalise
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout


def rest(groups: list[Blocks], marginal: Marginal, layout: Layout, count: int) -> tuple[list[Blocks], Layout]:
    """The window that is left, with the arrival cost in place of what was marginalised."""
    left = [select(blocks, ~used, count) for blocks, used in zip(groups, marginal.used, strict=True)]
    prior = marginal.prior.at(0)
    return [*left, prior.blocks(np.zeros((prior.width, layout.size)))], replace(layout, stages=layout.stages - count)


def solution(groups: list[Blocks], layout: Layout) -> Array:
    """Stages then parameters of the dense least-squares solution; local variables of no block are zero."""
    rows, residual = dense(groups, layout)
    return np.asarray(-np.linalg.lstsq(rows, residual)[0][: layout.stages * layout.size + layout.parameters])


@settings(max_examples=60, deadline=None)
@given(
    stages=st.integers(2, 9),
    size=st.integers(1, 3),
    parameters=st.integers(0, 3),
    local=st.integers(0, 2),
    width=st.integers(1, 3),
    seed=st.integers(0, 2**31),
    data=st.data(),
)
def test_moving_horizon_is_full_information(
    stages: int, size: int, parameters: int, local: int, width: int, seed: int, data: st.DataObject
) -> None:
    layout = Layout(stages, size, parameters, local)
    groups = random_groups(np.random.default_rng(seed), layout, width)
    full = solution(groups, layout)
    left, window, gone = groups, layout, 0
    while window.stages > 1:
        count = data.draw(st.integers(1, window.stages - 1))
        left, window = rest(left, marginalise(left, window, count), window, count)
        gone += count
        # The same minimiser from two factorisations of matrices with condition numbers up to 1e4.
        assert solution(left, window) == pytest.approx(full[gone * size :], abs=1e-9 * (1.0 + np.abs(full).max()))


def test_the_information_left_is_the_schur_complement() -> None:
    layout = Layout(6, 3, 2)
    groups = random_groups(np.random.default_rng(3), layout, 3)
    marginal = marginalise(groups, layout, 2)
    taken = [select(blocks, used) for blocks, used in zip(groups, marginal.used, strict=True)]
    rows, residual = dense(taken, layout)
    hessian, gradient = rows.T @ rows, rows.T @ residual
    kept = np.r_[6:12, 18:20]  # stages 2 and 3, the parameters
    gain = np.linalg.solve(hessian[:6, :6], hessian[:6][:, kept]).T
    root = marginal.prior.root
    assert marginal.prior.width == 2
    assert root.T @ root == pytest.approx(hessian[np.ix_(kept, kept)] - gain @ hessian[:6][:, kept], abs=1e-10)
    assert root.T @ marginal.prior.offset == pytest.approx(gradient[kept] - gain @ gradient[:6], abs=1e-10)


def test_undetermined_stages_leave_what_is_known_of_their_difference() -> None:
    """x_1 - x_0 and x_2 - x_1 are measured, nothing else: no information on x_2, however it is computed."""
    layout = Layout(3, 1)
    difference = Blocks(np.arange(2), np.array([[1.0], [2.0]]), np.array([[[-1.0, 1.0]]]).repeat(2, axis=0))
    marginal = marginalise([difference], layout, 1)
    assert marginal.prior.root.T @ marginal.prior.root == pytest.approx(np.zeros((1, 1)), abs=1e-15)
    together = Blocks(np.zeros(2, dtype=np.intp), np.array([[1.0], [2.0]]), np.array([[[0.0, 1.0]]]).repeat(2, axis=0))
    marginal = marginalise([together], layout, 1)
    assert marginal.prior.root.T @ marginal.prior.root == pytest.approx(np.array([[2.0]]))


def test_owners_of_local_variables_go_as_a_whole() -> None:
    layout = Layout(4, 1, 0, 1)
    rng = np.random.default_rng(0)
    groups = [
        random_blocks(rng, layout, [0, 1], 2, 2, local=[1, 2]),
        random_blocks(rng, layout, [1, 2], 2, 1, local=[1, 2]),
        random_blocks(rng, layout, [0, 1], 1, 1),
    ]
    marginal = marginalise(groups, layout, 1)
    assert [used.tolist() for used in marginal.used] == [[True, False], [True, False], [True, False]]


@pytest.mark.parametrize("count", [0, 4, -1])
def test_some_stage_must_go_and_some_must_stay(count: int) -> None:
    layout = Layout(4, 1)
    groups = random_groups(np.random.default_rng(0), layout, 2)
    with pytest.raises(SamplesError, match=f"can marginalise 1 to 3 of 4 stages, got {count}"):
        marginalise(groups, layout, count)
