# SPDX-License-Identifier: Apache-2.0
"""LuGre's friction as a function against its own differential equation, and derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest
from shared.quick_and_slow import mark_slow

from sysid_nodes.models.lugre import friction, friction_slopes, steady_friction
from sysid_nodes.simulation.legged.lugre import LuGre

COEFFICIENTS = np.array([[1.2, 0.4], [0.5, 0.2], [0.4, 0.1], [0.3, 0.2], [0.01, 0.03]])
POWER = np.array([0.7, 1.0])


def test_derivatives() -> None:
    rng = np.random.default_rng(0)
    v, a, eps = rng.uniform(-0.5, 0.5, (200, 2)), rng.uniform(-3.0, 3.0, (200, 2)), 1e-6
    found = friction_slopes(COEFFICIENTS, v, a, POWER)

    def slope(of: tuple[np.ndarray, ...]) -> np.ndarray:
        ends = [friction(COEFFICIENTS * np.exp(s * of[0]), v + s * of[1], a + s * of[2], POWER) for s in (1.0, -1.0)]
        return np.asarray((ends[0] - ends[1]) / (2.0 * eps))

    none, still = np.zeros_like(COEFFICIENTS), np.zeros_like(v)
    np.testing.assert_allclose(found.by_v, slope((none, still + eps, still)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.by_a, slope((none, still, still + eps)), rtol=1e-5, atol=1e-6)
    for row in range(5):
        step = none.copy()
        step[row] = eps
        unit = COEFFICIENTS[row] if row < 3 else 1.0  # the last two are of logarithms
        expected = slope((step, still, still)) / unit
        np.testing.assert_allclose(found.by_coefficients[:, row], expected, rtol=1e-5, atol=1e-6)


def test_does_not_jump_where_a_motion_turns() -> None:
    """From either side of v = 0 it is what held the joint before; the bristles bend over behind it."""
    v, a = np.array([[-1e-9], [0.0], [1e-9]]), np.full((3, 1), 2.0)
    np.testing.assert_allclose(friction(COEFFICIENTS[:, :1], v, a), -1.7, atol=1e-6)
    late = np.array([[0.5]])
    np.testing.assert_allclose(
        friction(COEFFICIENTS[:, :1], late, a[:1]), steady_friction(COEFFICIENTS[:, :1], late), atol=0.01
    )


@pytest.mark.parametrize(
    ("amplitude", "rate"), mark_slow([(0.5, 2.0), (0.3, 1.0), (0.05, 2.0), (0.2, 5.0)], but=[(0.5, 2.0), (0.05, 2.0)])
)
def test_is_lugres_equation(amplitude: float, rate: float) -> None:
    """Along motions of two harmonics, bristles' damping included, to a tenth of what Coulomb's law misses at most.

    Its truth: f = 1 N m, half of it more at rest, gone beyond .15 rad/s; bristles of 1 mrad per N m. The quickest
    motion turns within some steps of 1 ms, where damping tells.
    """
    step = 1e-4
    t = np.arange(0.0, 6.0, step)
    v = amplitude * rate * (np.cos(rate * t) + 0.3 * np.cos(2.3 * rate * t))
    a = -amplitude * rate**2 * (np.sin(rate * t) + 0.69 * np.sin(2.3 * rate * t))
    bristles = LuGre(np.ones(1), step)
    truth = np.array([bristles.torque(np.array([speed]))[0] for speed in v])
    coefficients = np.array([[1.0], [0.5], [0.0], [0.15], [1.5e-3]])
    settled = t > 0.5

    def missed(value: np.ndarray) -> float:
        return float(np.sqrt(np.mean((value - truth)[settled] ** 2)))

    ours = missed(friction(coefficients, v[:, None], a[:, None])[:, 0])
    smooth = missed(np.tanh(v / 0.02) * (1.0 + 0.5 * np.exp(-((v / 0.15) ** 2))))
    assert ours < 0.08
    assert ours < 0.25 * smooth
