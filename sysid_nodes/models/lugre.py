# SPDX-License-Identifier: Apache-2.0
"""LuGre's dry friction as a function of velocity and acceleration: bristles bend over where a motion turned round.

Bristles z obey zd = v - s0 |v| z / g(v) and hold with s0 z, which depends on all that went before (Canudas de Wit et
al., IEEE Trans. Automatic Control 40 (1995) 3). They forget it over a distance of a few d = g(0) / s0, though, so that
near a turn only the turn itself counts. With the acceleration of the moment the joint has come v^2 / (2 |a|) from
there, hence

    f = [F_c + F_s exp(-(v / v_s)^2)] s + F_v v |v|^(p - 1),
    s = sgn(v) where it slows down,    s = sgn(v) [1 - 2 exp(-v^2 / (2 |a| d))] where it speeds up.

That is s0 z for an acceleration that stays the same while bristles bend, and has all first derivatives but at rest with
no acceleration. Left out is their damping s1 zd, which acts within d of a turn alone. Coefficients are F_c, F_s, F_v,
v_s, d.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.stribeck import SLOW, viscous_curve

Array = npt.NDArray[np.float64]

_LEAST = 1e-9
"""Acceleration below which there is none [rad/s^2]."""


class Slopes(NamedTuple):
    """Attributes: by_v, by_a (N, n); by_coefficients (N, 5, n), of the logarithms of v_s and d."""

    by_v: Array
    by_a: Array
    by_coefficients: Array


def steady_friction(coefficients: Array, v: Array, power: Array | float = 1.0) -> Array:
    """f [N m] at steady speeds (N, n), coefficients (5, n)."""
    coulomb, stiction, viscous, stribeck, _ = coefficients
    dry = coulomb + stiction * np.exp(-((v / stribeck) ** 2))
    return np.asarray(dry * np.sign(v) + viscous * viscous_curve(v, power))


def friction(coefficients: Array, v: Array, a: Array, power: Array | float = 1.0) -> Array:
    """f (N, n) [N m] at velocities and accelerations (N, n), coefficients (5, n)."""
    coulomb, stiction, viscous, stribeck, deflection = coefficients
    share, _, _ = _bend(v, a, deflection)
    dry = coulomb + stiction * np.exp(-((v / stribeck) ** 2))
    return np.asarray(dry * share + viscous * viscous_curve(v, power))


def friction_slopes(coefficients: Array, v: Array, a: Array, power: Array | float = 1.0) -> Slopes:
    """Derivatives of `friction`."""
    coulomb, stiction, viscous, stribeck, deflection = coefficients
    share, left, way = _bend(v, a, deflection)
    peak = np.exp(-((v / stribeck) ** 2))
    dry, sign = coulomb + stiction * peak, np.sign(v)
    size = np.maximum(np.abs(a), _LEAST)
    drag = (v**2 + SLOW**2 + (np.asarray(power) - 1.0) * v**2) * (v**2 + SLOW**2) ** (0.5 * (np.asarray(power) - 3.0))
    by_v = -2.0 * v / stribeck**2 * stiction * peak * share + dry * 2.0 * left * np.abs(v) / (size * deflection)
    by_a = -dry * 2.0 * sign * left * way / np.where(a < 0.0, -size, size)
    by_speed = stiction * peak * 2.0 * (v / stribeck) ** 2 * share
    by_deflection = -dry * 2.0 * sign * left * way
    parts = (share, peak * share, viscous_curve(v, power), by_speed, by_deflection)
    return Slopes(by_v + viscous * drag, np.asarray(by_a), np.stack(parts, axis=1))


def _bend(v: Array, a: Array, deflection: Array) -> tuple[Array, Array, Array]:
    """s, exp(-way) where it speeds up and zero elsewhere, and way = v^2 / (2 |a| d), each (N, n)."""
    way = v**2 / (2.0 * np.maximum(np.abs(a), _LEAST) * deflection)
    left = np.where(v * a > 0.0, np.exp(-way), 0.0)
    share = np.where(v == 0.0, -np.sign(a), np.sign(v) * (1.0 - 2.0 * left))
    return np.asarray(share), np.asarray(left), np.asarray(way)
