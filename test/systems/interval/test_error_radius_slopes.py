# SPDX-License-Identifier: Apache-2.0
"""Slopes of the quadrature's integrand: where everything adds up they are derivatives, to the last factor."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.systems.interval.error_radius import _slopes

Array = np.ndarray


def product(a: Array, b: Array) -> Array:
    """Magnitudes (..., [linear, angular]) of a motion cross product: those of a dual number's product."""
    return np.stack([a[..., 0] * b[..., 1] + a[..., 1] * b[..., 0], a[..., 1] * b[..., 1]], axis=-1)


def integrand(unit: Array, rate: Array) -> Array:
    """(n, 3) coefficients of w_k' I v for unit motions (n, 2) at rates (n,), all of them in the same direction."""
    moving = unit * rate[:, None]
    before, v = np.cumsum(moving, axis=0) - moving, moving.sum(axis=0)
    w = product(before, unit)
    return np.stack([w[:, 0] * v[0], w[:, 0] * v[1] + w[:, 1] * v[0], w[:, 1] * v[1]], axis=-1)


def drift(unit: Array, rate: Array) -> Array:
    """dJ_k/dt = (v - v_k) x J_k."""
    moving = unit * rate[:, None]
    return product(moving.sum(axis=0) - np.cumsum(moving, axis=0), unit)


def carried(unit: Array, speed: Array, acceleration: Array, jerk: Array, until: float) -> Array:
    """The integrand at a time, unit motions carried along by Runge and Kutta's rule."""
    steps = 20
    step = until / steps
    rate = lambda t: speed + acceleration * t + 0.5 * jerk * t**2  # noqa: E731
    for k in range(steps):
        t = k * step
        one = drift(unit, rate(t))
        two = drift(unit + 0.5 * step * one, rate(t + 0.5 * step))
        three = drift(unit + 0.5 * step * two, rate(t + 0.5 * step))
        four = drift(unit + step * three, rate(t + step))
        unit = unit + step / 6.0 * (one + 2.0 * two + 2.0 * three + four)
    return integrand(unit, rate(until))


@pytest.mark.parametrize("alone", ["all", "speed", "acceleration", "jerk"])
def test_slopes_are_derivatives_where_everything_adds_up(alone: str) -> None:
    rng = np.random.default_rng(3)
    unit, speed = rng.uniform(0.2, 1.0, (4, 2)), rng.uniform(0.2, 1.0, 4)
    acceleration = rng.uniform(0.2, 1.0, 4) * (alone in ("all", "acceleration"))
    jerk = rng.uniform(0.2, 1.0, 4) * (alone in ("all", "jerk"))
    slope, curvature = _slopes(
        (unit[None, :, 0, None], unit[None, :, 1, None]), speed[None], acceleration[None], jerk[None]
    )
    h = 2e-3
    behind, here, ahead = (carried(unit, speed, acceleration, jerk, t) for t in (-h, 0.0, h))
    np.testing.assert_allclose(slope[0, :, 0], (ahead - behind) / (2.0 * h), rtol=1e-3, atol=1e-9)
    np.testing.assert_allclose(curvature[0, :, 0], (ahead - 2.0 * here + behind) / h**2, rtol=1e-3, atol=1e-6)
