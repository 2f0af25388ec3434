# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.solvers.trajectory_least_squares.influence import Influence
from sysid_nodes.solvers.trajectory_least_squares.variance_components import correlation_time, variance_ratios


def test_two_kinds_of_noise_are_told_apart() -> None:
    """A mean and a slope fitted to noise of two sizes: residuals lose what the fit takes away."""
    rng = np.random.default_rng(0)
    rows = np.stack([np.ones(40), np.linspace(-1.0, 1.0, 40)], axis=1)
    hat = rows @ np.linalg.inv(rows.T @ rows) @ rows.T
    found = []
    for _ in range(300):
        noise = rng.standard_normal((40, 2)) * [3.0, 0.2]
        leverage = np.stack([np.diag(hat)] * 2, axis=1)
        own = Influence(noise - hat @ noise, leverage, np.zeros((40, 2, 0)))
        found.append(variance_ratios(own, np.array([0, 1]), 2, belief=0.0))
    # unbiased: 300 estimates of 38 freedoms each have a standard error of 1.3 %
    np.testing.assert_allclose(np.mean(found, axis=0), [9.0, 0.04], rtol=0.05)


def test_belief_keeps_what_has_no_redundancy() -> None:
    own = Influence(np.zeros((5, 1)), np.ones((5, 1)), np.zeros((5, 1, 0)))
    assert variance_ratios(own, np.array([0]), 1) == pytest.approx([1.0])


def test_correlation_time() -> None:
    rng = np.random.default_rng(1)
    white = rng.standard_normal(4000)
    slow = np.zeros(4000)
    for k in range(1, 4000):
        slow[k] = 0.8 * slow[k - 1] + white[k]
    found = correlation_time(np.stack([white, slow], axis=1))
    assert found[0] < 1.3
    assert found[1] == pytest.approx(1.8 / 0.2, rel=0.3)  # (1 + a) / (1 - a)
