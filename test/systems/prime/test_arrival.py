# SPDX-License-Identifier: Apache-2.0
"""The arrival cost on its own."""

from __future__ import annotations

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares import GaussianPrior
from sysid_nodes.systems.prime.arrival import let_parameters_drift
from sysid_nodes.systems.prime.carried import Carried
from sysid_nodes.systems.prime.problem import Arrival
from sysid_nodes.systems.prime.score import Score


def test_drift_adds_to_the_parameters_covariance() -> None:
    """A random walk's variance on top of the parameters', nothing else; and the mean stays."""
    rng = np.random.default_rng(0)
    n, p = 4, 3
    root = rng.normal(size=(2 * n + p, 2 * n + p)) + 3.0 * np.eye(2 * n + p)
    offset = rng.normal(size=2 * n + p)
    effect = rng.normal(size=(2 * n + p, 2))
    carried = Carried(root.T @ effect, effect.T @ effect, effect.T @ offset)
    prior = GaussianPrior(root, offset, n, p)
    arrival = Arrival(prior, np.zeros((2, n + 1)), np.zeros(p), Score.as_stated(root), carried)
    spread = np.array([[0.1, 0.2], [1.0, 0.0], [0.0, 10.0]])
    widened = let_parameters_drift(arrival, spread)
    after = widened.prior
    np.testing.assert_allclose(widened.score.covariance, after.root.T @ after.root, rtol=1e-7, atol=1e-9)
    added = np.zeros_like(root)
    added[-p:, -p:] = spread @ spread.T
    wanted = np.linalg.inv(root.T @ root) + added
    np.testing.assert_allclose(np.linalg.inv(after.root.T @ after.root), wanted, rtol=1e-9, atol=1e-9)
    mean, moved = np.linalg.solve(root, -offset), np.linalg.solve(after.root, -after.offset)
    np.testing.assert_allclose(moved, mean, rtol=1e-9, atol=1e-9)
    # Rows of an effect have the noise of the walk, which they share, on top of their own.
    drifts = np.eye(2 * n + p) + root @ added @ root.T
    seen = widened.carried
    np.testing.assert_allclose(seen.information, effect.T @ np.linalg.solve(drifts, effect), rtol=1e-9)
    np.testing.assert_allclose(seen.cross, root.T @ np.linalg.solve(drifts, effect), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(seen.gradient, effect.T @ np.linalg.solve(drifts, offset), rtol=1e-9)


def test_noise_of_what_was_eliminated_stays_in_the_covariance() -> None:
    """H^-1 S H^-1 of the unknowns that stay, from a dense problem with all of them; and the prior's pull likewise."""
    rng = np.random.default_rng(1)
    rows, gone = rng.normal(size=(30, 9)), 4
    variance, residual = rng.uniform(0.1, 10.0, 30), rng.normal(size=30)
    information = rows.T @ rows
    whole = Score((rows.T * variance) @ rows, rows.T @ residual)
    left = whole.eliminate(information, gone)
    assert left is not None
    inverse = np.linalg.inv(information)
    wanted = (inverse @ whole.covariance @ inverse)[gone:, gone:]
    own = inverse[gone:, gone:]
    np.testing.assert_allclose(own @ left.covariance @ own, wanted, rtol=1e-9)
    np.testing.assert_allclose(own @ left.pull, (inverse @ whole.pull)[gone:], rtol=1e-9)
    stated = Score.as_stated(rows).eliminate(information, gone)
    assert stated is not None
    np.testing.assert_allclose(stated.covariance, np.linalg.inv(own), rtol=1e-9)
    assert whole.eliminate(np.zeros((9, 9)), gone) is None
