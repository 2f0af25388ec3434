# SPDX-License-Identifier: Apache-2.0
"""Uneven ground: where a foot comes down again, the ground is at another height."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from sysid_nodes.robots import ContactPoint
from sysid_nodes.robots.robot import Array
from sysid_nodes.rollouts.legged_model import foothold

_CLEAR = 0.01
"""Above the highest foothold that a foot has to be for its ground to change [m]."""


class Footholds:
    """Level ground of each foot, at a height of its own; all points of a foot have the same.

    Args:
        model: of ``build_legged_mujoco`` with footholds, whose planes are moved.
        points: the k contact points.
        highest: of a foothold, above or below zero [m].
        rng: of the heights, uniformly distributed.
    """

    def __init__(
        self, model: mujoco.MjModel, points: Sequence[ContactPoint], highest: float, rng: np.random.Generator
    ) -> None:
        self._model, self._highest, self._rng = model, highest, rng
        self._planes = np.array([model.geom(foothold(point.name)).id for point in points])
        model.geom_sameframe[self._planes] = 0  # else their places count as the world's
        joints = np.array([point.joint for point in points])
        self._feet = [np.flatnonzero(joints == joint) for joint in dict.fromkeys(joints)]
        self._drawn = [False] * len(self._feet)

    @property
    def height(self) -> Array:
        """(k,) of the ground below each contact point [m]."""
        return np.array(self._model.geom_pos[self._planes, 2])

    def move(self, lowest: Array) -> None:
        """Draws the height of each foot that has just left the ground, from its points' lowest places (k,) [m]."""
        for number, points in enumerate(self._feet):
            clear = bool(lowest[points].min() > self._highest + _CLEAR)
            if clear and not self._drawn[number]:
                self._model.geom_pos[self._planes[points], 2] = self._rng.uniform(-self._highest, self._highest)
            self._drawn[number] = clear
