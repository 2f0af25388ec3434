# SPDX-License-Identifier: Apache-2.0
"""Dry friction of gears as LuGre's bristles have it: they hold a joint like springs, and give way.

    zd = w - s0 |w| z / g(w),    g(w) = f (1 + b exp(-(w / v)^2)),    F = s0 z + s1 zd

(Canudas de Wit, Olsson, Astrom, Lischinsky, IEEE Trans. Automatic Control 40 (1995) 3), f Coulomb's friction, b by how
much more a joint at rest takes to come loose.
"""

from __future__ import annotations

import numpy as np

from sysid_nodes.robots.robot import Array

_GIVES = 1e-3  # deflection of the bristles at which they slide [rad]
_DAMPING = 2e-3  # s1 over s0 [s]
_BREAKAWAY, _SPEED = 0.5, 0.15  # b; v [rad/s]


class LuGre:
    """Friction of n joints.

    Args:
        coulomb: (n,) f [N m].
        step: between two calls [s].
    """

    def __init__(self, coulomb: Array, step: float) -> None:
        self._coulomb, self._step = coulomb, step
        self._stiffness = coulomb / _GIVES
        self._bend = np.zeros_like(coulomb)

    def torque(self, w: Array) -> Array:
        """(n,) friction against speeds (n,) [rad/s] of the step that begins [N m]."""
        most = self._coulomb * (1.0 + _BREAKAWAY * np.exp(-((w / _SPEED) ** 2)))
        rate = self._stiffness * np.abs(w) / np.maximum(most, 1e-12)
        before = self._bend
        self._bend = (before + self._step * w) / (1.0 + self._step * rate)  # implicit, hence never beyond `most`
        return np.asarray(self._stiffness * (self._bend + _DAMPING * (self._bend - before) / self._step))
