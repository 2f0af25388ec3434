# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from sysid_nodes.solvers.sampling import minimise

LOWER, UPPER = np.array([-2.0, 0.0, 5.0]), np.array([2.0, 10.0, 7.0])


def bowl(points):
    return ((points - np.array([0.5, 9.0, 8.0])) ** 2).sum(axis=1)


def test_it_finds_the_least_value_within_the_bounds():
    found = minimise(bowl, np.array([0.0, 5.0, 6.0]), LOWER, UPPER, spread=0.3, iterations=60, seed=1)
    np.testing.assert_allclose(found.best, [0.5, 9.0, 7.0], atol=1e-3)
    assert found.cost == pytest.approx(1.0, abs=1e-2)
    assert (np.diff(found.history) <= 0.0).all()
    assert found.evaluations >= len(found.history) * 4


def test_costs_that_are_not_finite_are_avoided():
    def holed(points):
        return np.where(points[:, 0] > 0.0, np.nan, bowl(points))

    found = minimise(holed, np.array([-1.0, 5.0, 6.0]), LOWER, UPPER, spread=0.3, iterations=40, seed=2)
    assert found.best[0] <= 0.0
    assert np.isfinite(found.cost)
