# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a Bayesian problem against finite differences."""

from __future__ import annotations

import numpy as np

from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.problem import MechanismProblem


def check_derivatives(problem: MechanismProblem, point: Estimate, group: int, eps: float = 1e-6) -> None:
    """Those of one group of residuals, in six random directions.

    Rounding of residuals is 1e-10 of their size, and so 2e-6 of derivatives, which are much larger, is far above it.
    """
    layout = problem.layout
    rng = np.random.default_rng(group)
    blocks = problem.linearise(point)[group]
    np.testing.assert_array_equal(blocks.residual, problem.residuals(point)[group])
    for _ in range(6):
        stage = rng.standard_normal((layout.stages, layout.size))
        theta = 0.1 * rng.standard_normal(layout.parameters)
        local = rng.standard_normal((layout.stages, layout.local))
        ends = [
            problem.residuals(problem.retract(point, s * eps * stage, s * eps * theta, s * eps * local))[group]
            for s in (1.0, -1.0)
        ]
        width = blocks.jacobian.shape[2] // layout.size
        windows = stage[blocks.first[:, None] + np.arange(width)].reshape(len(blocks.first), -1)
        expected = np.einsum("bmj,bj->bm", blocks.jacobian, windows)
        if blocks.parameter_jacobian is not None:
            expected = expected + blocks.parameter_jacobian @ theta
        if blocks.local_jacobian is not None and blocks.local is not None:
            expected = expected + np.einsum("bml,bl->bm", blocks.local_jacobian, local[blocks.local])
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * eps), expected, atol=2e-6 * scale)
