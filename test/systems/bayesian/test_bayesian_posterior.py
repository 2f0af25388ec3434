# SPDX-License-Identifier: Apache-2.0
"""Friction bands against quantiles of the draws taken at each speed by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.bayesian_log import CONFIG, leg
from sysid_nodes.models.lugre import steady_friction
from sysid_nodes.models.stribeck import friction
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.posterior import friction_curves


@pytest.mark.parametrize("kind", ["coulomb", "lugre"])
def test_friction_bands(kind: str) -> None:
    config = replace(CONFIG, friction=replace(CONFIG.friction, viscous_power=(0.7,), motors=kind))
    own = build_mechanism(leg(), config, power=False).parameters
    rng = np.random.default_rng(0)
    draws = own.mean + 0.3 * own.sigma * np.abs(rng.standard_normal((500, len(own.mean))))
    covered = np.array([[-1.0, -0.5, -0.2, -0.1], [0.5, 2.0, 0.1, 0.3]])
    curves = friction_curves(own, draws, covered)
    assert len(curves) == 4
    for j, curve in enumerate(curves):
        reach = np.abs(covered[:, j]).max()
        np.testing.assert_allclose(curve.speed[[0, 40, -1]], [-reach, 0.0, reach])
        terms, law = (own.lugre, steady_friction) if own.bristles[j] else (own.friction, friction)
        coefficients = np.array([terms(draw)[:, j] for draw in draws]).T
        for k in (0, 13, 40, 60, 80):
            values = law(coefficients[:, None], curve.speed[k : k + 1], 0.7)[0]
            expected = np.quantile(values, [0.025, 0.5, 0.975])
            np.testing.assert_allclose([curve.lower[k], curve.median[k], curve.upper[k]], expected, atol=1e-12)
