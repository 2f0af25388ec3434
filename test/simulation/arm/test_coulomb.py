# SPDX-License-Identifier: Apache-2.0
"""The set-valued friction law: what is found satisfies it, for any mass matrix and force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.simulation.arm.coulomb import breakaway, sliding_directions, solve


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.sampled_from([0.1, 1.0, 10.0]))
def test_friction_is_in_its_set_and_fits_the_motion(seed: int, n: int, size: float) -> None:
    """M a = u - f to rounding; f in [-F_c, F_c]; f = F_c sign(qd) in motion, F_c sign(a) in breaking away."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, n))
    mass = factor @ factor.T + 0.05 * np.eye(n)
    limit = rng.uniform(0.0, 1.0, n) * rng.choice([0.0, 1.0], n, p=[0.1, 0.9])
    qd = np.where(rng.uniform(size=n) < 0.6, 0.0, rng.normal(size=n))
    force = size * rng.normal(size=n)
    direction = sliding_directions(mass, force, limit, qd)
    acceleration, friction = solve(mass, force, limit, direction)
    np.testing.assert_allclose(mass @ acceleration, force - friction, atol=1e-9 * size)
    assert (np.abs(friction) <= breakaway(limit)).all()
    moving, resting = qd != 0.0, qd == 0.0
    np.testing.assert_array_equal(friction[moving], (limit * np.sign(qd))[moving])
    assert (acceleration[resting & (direction == 0.0)] == 0.0).all()
    starting = resting & (direction != 0.0)
    assert (acceleration[starting] * direction[starting] >= 0.0).all()
    np.testing.assert_array_equal(friction[starting], (limit * direction)[starting])


@pytest.mark.parametrize(
    ("force", "expected"),
    [(0.5, 0.0), (-0.5, 0.0), (1.0, 0.0), (-1.0, 0.0), (1.1, 1.0), (-1.1, -1.0)],
)
def test_one_joint_breaks_away_beyond_its_friction(force: float, expected: float) -> None:
    one = np.ones(1)
    assert sliding_directions(np.eye(1), force * one, one, 0.0 * one) == expected


def test_moving_joint_can_drag_another_off() -> None:
    """Force on joint 1 alone; the coupling would take joint 2 along, unless its friction holds it."""
    mass, force, still = np.array([[2.0, -1.0], [-1.0, 2.0]]), np.array([3.0, 0.0]), np.zeros(2)
    np.testing.assert_array_equal(sliding_directions(mass, force, np.array([1.0, 0.9]), still), [1.0, 1.0])
    np.testing.assert_array_equal(sliding_directions(mass, force, np.array([1.0, 1.1]), still), [1.0, 0.0])
