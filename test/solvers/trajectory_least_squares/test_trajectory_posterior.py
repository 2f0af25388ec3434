# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.linear_trajectory import dense, random_groups

from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.posterior import posterior
from sysid_nodes.solvers.trajectory_least_squares.problem import Layout


@settings(max_examples=40, deadline=None)
@given(
    stages=st.integers(1, 8),
    size=st.integers(1, 3),
    parameters=st.integers(0, 3),
    local=st.integers(0, 2),
    width=st.integers(1, 4),
    seed=st.integers(0, 2**31),
    last=st.integers(1, 8),
)
def test_every_block_is_that_of_the_dense_inverse(
    stages: int, size: int, parameters: int, local: int, width: int, seed: int, last: int
) -> None:
    layout = Layout(stages, size, parameters, local)
    groups = random_groups(np.random.default_rng(seed), layout, width)
    equations = assemble(groups, layout)
    found = posterior(equations, last=last)
    assert found is not None

    hessian = np.array(dense(groups, layout)[0].T @ dense(groups, layout)[0])
    unused = np.diag(hessian) == 0.0
    covariance = np.linalg.inv(hessian + np.diag(unused.astype(float)))
    # Two inversions of matrices with condition numbers up to about 1e6.
    near = {"rel": 1e-6, "abs": 1e-7 * (1.0 + np.abs(covariance).max())}
    n, states = size, stages * size
    theta = slice(states, states + parameters)
    assert found.parameter == pytest.approx(covariance[theta, theta], **near)
    assert found.first == max(0, stages - last)
    for k in range(stages):
        own = slice(k * n, (k + 1) * n)
        if k < found.first:
            assert np.isnan(found.stage[k]).all()
            continue
        assert found.stage[k] == pytest.approx(covariance[own, own], **near)
        assert found.stage_parameter[k] == pytest.approx(covariance[own, theta], **near)
        start = states + parameters + k * local
        if equations.windows.local_used[k] and equations.windows.local_first[k] >= found.first:
            mine = slice(start, start + local)
            assert found.local[k] == pytest.approx(covariance[mine, mine], **near)
        else:
            assert np.isnan(found.local[k]).all()
        if k + 1 < stages:
            assert found.neighbour[k] == pytest.approx(covariance[own, (k + 1) * n : (k + 2) * n], **near)
        if k + 2 < stages and equations.windows.width > 2:
            assert found.second[k] == pytest.approx(covariance[own, (k + 2) * n : (k + 3) * n], **near)


def test_an_undetermined_coordinate_has_no_posterior() -> None:
    layout = Layout(3, 2)
    groups = random_groups(np.random.default_rng(0), layout, 1)
    for blocks in groups:
        blocks.jacobian[:, :, 1] = 0.0
    assert posterior(assemble(groups, layout)) is None
