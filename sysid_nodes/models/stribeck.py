# SPDX-License-Identifier: Apache-2.0
"""Smooth joint friction with stiction and Stribeck effect (Makkar et al. 2005; the paper's eq. 56), in numbers of use:

    f(v) = F_c tanh(v / v_t) + F_s [tanh(v / v_t) - tanh(v / v_s)] + F_v v |v|^(p - 1),

F_c Coulomb's friction, F_v viscous, F_s what stiction adds at rest, gone beyond the Stribeck speed v_s; all of it turns
its sign over the speed v_t. The power p is known: 1, or less where a lubricant thins with the speed; |v| is rounded off
below SLOW, so that it has a derivative at rest. The paper's coefficients are g1 = F_s, g4 = F_c, g6 = F_v, g2 = g5 =
1 / v_t, g3 = 1 / v_s.
Friction opposes every motion if F_c, F_s, F_v >= 0 and v_s >= v_t.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SLOW = 0.02
"""Speed below which a power other than one is a straight line [rad/s]."""


def friction(coefficients: Array, v: Array, power: Array | float = 1.0) -> Array:
    """f (N, n) [N m] for coefficients (5, n), velocities v (N, n) [rad/s] and powers (n,)."""
    coulomb, stiction, viscous, turning, stribeck = coefficients
    turned = np.tanh(v / turning)
    dragged = viscous * viscous_curve(v, power)
    return np.asarray(coulomb * turned + stiction * (turned - np.tanh(v / stribeck)) + dragged)


def viscous_curve(v: Array, power: Array | float) -> Array:
    """Factor of viscous friction, (N, n): v |v|^(p - 1), rounded off at rest."""
    return np.asarray(v * (v**2 + SLOW**2) ** (0.5 * (np.asarray(power) - 1.0)))


def friction_by_velocity(coefficients: Array, v: Array, power: Array | float = 1.0) -> Array:
    """df/dv (N, n) [N m s/rad]."""
    coulomb, stiction, viscous, turning, stribeck = coefficients
    slope = (1.0 - np.tanh(v / turning) ** 2) / turning
    square, less = v**2 + SLOW**2, np.asarray(power) - 1.0
    drag = viscous * (square + less * v**2) * square ** (0.5 * less - 1.0)
    return np.asarray((coulomb + stiction) * slope - stiction * (1.0 - np.tanh(v / stribeck) ** 2) / stribeck + drag)


def friction_by_coefficients(coefficients: Array, v: Array, power: Array | float = 1.0) -> Array:
    """df/d coefficients (N, 5, n), of the speeds themselves."""
    coulomb, stiction, _, turning, stribeck = coefficients
    turned, mixed = np.tanh(v / turning), np.tanh(v / stribeck)
    by_turning = -(coulomb + stiction) * (1.0 - turned**2) * v / turning**2
    by_stribeck = stiction * (1.0 - mixed**2) * v / stribeck**2
    return np.stack([turned, turned - mixed, viscous_curve(v, power), by_turning, by_stribeck], axis=1)
