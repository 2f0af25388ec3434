# SPDX-License-Identifier: Apache-2.0
"""Sharing a wrench among the feet: what the feet can give is found, and no force leaves its pyramid."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sysid_nodes.simulation.legged.force_distribution import distribute

WEIGHTS = np.array([1.0, 1.0, 2.0, 20.0, 20.0, 10.0])
FEET = np.array([[0.2, 0.14, -0.3], [0.2, -0.14, -0.3], [-0.2, 0.14, -0.3], [-0.2, -0.14, -0.3]])


def wrench_of(points, forces):
    return np.concatenate([forces.sum(axis=0), np.cross(points, forces).sum(axis=0)])


def in_pyramid(forces, friction):
    return (np.abs(forces[:, :2]).sum(axis=1) <= friction * forces[:, 2] + 1e-9).all()


@given(
    st.lists(st.tuples(*[st.floats(-1.0, 1.0)] * 2, st.floats(1.0, 200.0)), min_size=4, max_size=4),
    st.floats(0.1, 1.0),
)
def test_a_wrench_the_feet_can_give_is_given(draws, friction):
    """Feasible forces make a feasible wrench; it is met but for the regularisation."""
    forces = np.array([[0.45 * x * friction * z, 0.45 * y * friction * z, z] for x, y, z in draws])
    wrench = wrench_of(FEET, forces)
    found = distribute(FEET, wrench, friction, weights=WEIGHTS, regularisation=np.full(4, 1e-9))
    assert in_pyramid(found, friction)
    np.testing.assert_allclose(wrench_of(FEET, found), wrench, atol=1e-4 * np.abs(wrench).max())


@given(st.lists(st.floats(-500.0, 500.0), min_size=6, max_size=6), st.integers(1, 4))
def test_any_wrench_keeps_the_pyramids(wrench, count):
    found = distribute(FEET[:count], np.array(wrench), 0.5, weights=WEIGHTS, regularisation=np.full(count, 1e-3))
    assert found.shape == (count, 3)
    assert in_pyramid(found, 0.5)


def test_a_foot_to_be_unloaded_is():
    penalty = np.array([1e-3, 1e-3, 1e-3, 10.0])
    weight = np.array([0.0, 0.0, 150.0, 0.0, 0.0, 0.0])
    even = distribute(FEET, weight, 0.5, weights=WEIGHTS, regularisation=np.full(4, 1e-3))
    np.testing.assert_allclose(even[:, 2], 37.5, rtol=1e-3)
    assert distribute(FEET, weight, 0.5, weights=WEIGHTS, regularisation=penalty)[3, 2] < 5.0


def test_no_foot_gives_no_force():
    assert distribute(np.zeros((0, 3)), np.ones(6), 0.5, weights=WEIGHTS, regularisation=np.zeros(0)).shape == (0, 3)
