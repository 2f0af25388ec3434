# SPDX-License-Identifier: Apache-2.0
"""Derivatives of momentum against differences of the regressors, which pinocchio confirms elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from shared.row_scene import random_tree

from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.momentum_derivatives import momentum_derivatives
from sysid_nodes.models.regressors import momentum_regressors
from sysid_nodes.robots import load_robot


@pytest.mark.parametrize("name", ["kinova_gen3", "panda", "tree"])
def test_derivatives_are_the_limits_of_differences(name: str) -> None:
    rng = np.random.default_rng(1)
    chain = Chain.from_robot(random_tree(rng) if name == "tree" else load_robot(name))
    n, step = chain.n, 1e-6
    q, qd, theta = rng.uniform(-1.0, 1.0, (3, n)), rng.uniform(-2.0, 2.0, (3, n)), rng.normal(size=10 * n)
    found = momentum_derivatives(chain, theta, reference.forward_kinematics(chain.tree, q, qd))
    for joint in range(n):
        move = step * np.eye(n)[joint]
        by_q, by_qd = (
            [(a - b) @ theta / (2.0 * step) for a, b in zip(ahead, behind, strict=True)]
            for ahead, behind in (
                (momentum_regressors(chain, q + move, qd), momentum_regressors(chain, q - move, qd)),
                (momentum_regressors(chain, q, qd + move), momentum_regressors(chain, q, qd - move)),
            )
        )
        close = {"rtol": 1e-6, "atol": 1e-7 * np.abs(theta).max()}
        np.testing.assert_allclose(found.by_position[:, :, joint], by_q[0], **close)
        np.testing.assert_allclose(found.rate_by_position[:, :, joint], by_q[1], **close)
        np.testing.assert_allclose(found.mass[:, :, joint], by_qd[0], **close)
        np.testing.assert_allclose(found.rate_by_velocity[:, :, joint], by_qd[1], **close)
