# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.linear_trajectory import LinearPoint, dense, random_groups

from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.influence import gains
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.problem import Layout

layouts = st.builds(
    Layout,
    stages=st.integers(1, 9),
    size=st.integers(1, 4),
    parameters=st.integers(0, 3),
    local=st.integers(0, 3),
)


@settings(max_examples=60, deadline=None)
@given(layout=layouts, width=st.integers(1, 4), seed=st.integers(0, 2**31), damping=st.sampled_from([0.0, 1e-3, 10.0]))
def test_the_step_is_that_of_the_dense_normal_equations(layout: Layout, width: int, seed: int, damping: float) -> None:
    groups = random_groups(np.random.default_rng(seed), layout, width)
    factor = factorise(assemble(groups, layout), damping)
    assert factor is not None
    step = factor.step()
    found = LinearPoint(step.stage, step.parameter, step.local).flat()

    rows, residual = dense(groups, layout)
    hessian = rows.T @ rows
    diagonal = np.diag(hessian).copy()
    diagonal[diagonal == 0.0] = 1.0  # local variables of no block
    damped = hessian + np.diag(damping * diagonal + (np.diag(hessian) == 0.0))
    expected = -np.linalg.solve(damped, rows.T @ residual)
    # Both square the condition number; random matrices of this size reach 1e4.
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6 * (1.0 + np.abs(expected).max()))


@settings(max_examples=40, deadline=None)
@given(layout=layouts, width=st.integers(1, 3), seed=st.integers(0, 2**31))
def test_covariances_with_a_stage_are_columns_of_the_inverse(layout: Layout, width: int, seed: int) -> None:
    """And the gains that follow from them make its covariance of rows of unit variance."""
    groups = random_groups(np.random.default_rng(seed), layout, width)
    factor = factorise(assemble(groups, layout), 0.0)
    assert factor is not None
    stage, n, stages = seed % layout.stages, layout.size, layout.stages * layout.size
    rows, _ = dense(groups, layout)
    hessian = rows.T @ rows
    inverse = np.linalg.inv(hessian + np.diag(np.diag(hessian) == 0.0))  # local variables of no block
    own = slice(stage * n, (stage + 1) * n)
    by_stage, by_parameter = factor.covariances_with(stage)
    both = factor.covariances_with(stages // n - 1, stage)
    close = 1e-6 * np.abs(inverse).max()
    np.testing.assert_allclose(by_stage.reshape(stages, n), inverse[:stages, own], atol=close)
    np.testing.assert_allclose(by_parameter, inverse[stages : stages + layout.parameters, own], atol=close)
    for together, alone in zip(both, (by_stage, by_parameter), strict=True):
        np.testing.assert_allclose(together[..., n:], alone, atol=close)
    total = sum(np.einsum("bmi,bmj->ij", gain, gain) for gain in gains(groups, factor, by_stage, by_parameter))
    np.testing.assert_allclose(total, inverse[own, own], atol=close)
