# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.models import stribeck
from sysid_nodes.models.stribeck import friction, friction_by_coefficients, friction_by_velocity

COEFFICIENTS = np.array([[1.2, 0.0], [0.7, 0.3], [0.4, 0.1], [0.05, 0.02], [0.3, 0.2]])
SPEEDS = np.linspace(-1.0, 1.0, 41)[:, None] * np.array([1.0, 0.7])


@pytest.mark.parametrize("power", [1.0, np.array([0.7, 1.0])])
def test_derivatives(power: np.ndarray | float) -> None:
    eps = 1e-6

    def friction(coefficients: np.ndarray, v: np.ndarray) -> np.ndarray:
        return stribeck.friction(coefficients, v, power)

    slope = (friction(COEFFICIENTS, SPEEDS + eps) - friction(COEFFICIENTS, SPEEDS - eps)) / (2 * eps)
    np.testing.assert_allclose(friction_by_velocity(COEFFICIENTS, SPEEDS, power), slope, rtol=1e-6, atol=1e-7)
    found = friction_by_coefficients(COEFFICIENTS, SPEEDS, power)
    for row in range(5):
        for joint in range(2):
            step = np.zeros_like(COEFFICIENTS)
            step[row, joint] = eps
            by = (friction(COEFFICIENTS + step, SPEEDS) - friction(COEFFICIENTS - step, SPEEDS)) / (2 * eps)
            np.testing.assert_allclose(found[:, row, joint], by[:, joint], rtol=1e-6, atol=1e-7)


def test_a_power_of_the_speed() -> None:
    """Away from rest, where it is rounded off over 0.02 rad/s."""
    v = np.array([[0.5, -0.5], [1.0, -2.0]])
    drag = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 3.0], [0.05, 0.05], [0.3, 0.3]])
    expected = np.sign(v) * np.array([2.0, 3.0]) * np.abs(v) ** [0.7, 1.0]
    np.testing.assert_allclose(friction(drag, v, np.array([0.7, 1.0])), expected, rtol=1e-3)


def test_opposes_every_motion_and_shows_stiction() -> None:
    value = friction(COEFFICIENTS, SPEEDS)
    assert np.all(value * SPEEDS >= 0.0)
    slow, fast = friction(COEFFICIENTS, np.array([[0.1, 0.1], [1.0, 1.0]]))[:, 0]
    assert slow > 1.2  # more than Coulomb's: stiction
    assert abs(fast - (1.2 + 0.4)) < 0.01  # gone at speed


def test_is_makkars_form() -> None:
    """g1 [tanh g2 v - tanh g3 v] + g4 tanh g5 v + g6 v."""
    g = (0.7, 1 / 0.05, 1 / 0.3, 1.2, 1 / 0.05, 0.4)
    v = SPEEDS[:, 0]
    published = g[0] * (np.tanh(g[1] * v) - np.tanh(g[2] * v)) + g[3] * np.tanh(g[4] * v) + g[5] * v
    np.testing.assert_allclose(friction(COEFFICIENTS, SPEEDS)[:, 0], published, atol=1e-14)
