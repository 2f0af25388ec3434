# SPDX-License-Identifier: Apache-2.0
"""Smooth joint friction with stiction and Stribeck effect (Makkar et al. 2005; the paper's eq. 56), in numbers of use:

    f(v) = F_c tanh(v / v_t) + F_s [tanh(v / v_t) - tanh(v / v_s)] + F_v v,

F_c Coulomb's friction, F_v viscous, F_s what stiction adds at rest, gone beyond the Stribeck speed v_s; all of it turns
its sign over the speed v_t. The paper's coefficients are g1 = F_s, g4 = F_c, g6 = F_v, g2 = g5 = 1 / v_t, g3 = 1 / v_s.
Friction opposes every motion if F_c, F_s, F_v >= 0 and v_s >= v_t.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def friction(coefficients: Array, v: Array) -> Array:
    """f (N, n) [N m] for coefficients (5, n) and velocities v (N, n) [rad/s]."""
    coulomb, stiction, viscous, turning, stribeck = coefficients
    turned = np.tanh(v / turning)
    return np.asarray(coulomb * turned + stiction * (turned - np.tanh(v / stribeck)) + viscous * v)


def friction_by_velocity(coefficients: Array, v: Array) -> Array:
    """df/dv (N, n) [N m s/rad]."""
    coulomb, stiction, viscous, turning, stribeck = coefficients
    slope = (1.0 - np.tanh(v / turning) ** 2) / turning
    return np.asarray((coulomb + stiction) * slope - stiction * (1.0 - np.tanh(v / stribeck) ** 2) / stribeck + viscous)


def friction_by_coefficients(coefficients: Array, v: Array) -> Array:
    """df/d coefficients (N, 5, n), of the speeds themselves."""
    coulomb, stiction, _, turning, stribeck = coefficients
    turned, mixed = np.tanh(v / turning), np.tanh(v / stribeck)
    by_turning = -(coulomb + stiction) * (1.0 - turned**2) * v / turning**2
    by_stribeck = stiction * (1.0 - mixed**2) * v / stribeck**2
    return np.stack([turned, turned - mixed, v, by_turning, by_stribeck], axis=1)
