# SPDX-License-Identifier: Apache-2.0
"""Least distances of a simulated robot to obstacles, to itself and to its torque limits, over a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.models.self_collision import self_collision_pairs
from sysid_nodes.robots import Primitive, Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.rollouts.contact_watch import FARTHEST, Closest, ContactWatch

_NONE = Closest(FARTHEST, "", "")


class TrueClearance:
    """The least of what was measured.

    Args:
        robot: kinematics.
        shapes: of robot and load.
        scene: obstacles at the start.
        period: between two measurements [s]; 0 measures none.

    Attributes:
        obstacle, itself: the closest pairs so far.
    """

    def __init__(self, robot: Robot, shapes: Sequence[Primitive], scene: Scene, period: float) -> None:
        self._robot, self._shapes, self._period = robot, shapes, period
        self._pairs = self_collision_pairs(robot, shapes).kept
        self.obstacle, self.itself = _NONE, _NONE
        self._due = -np.inf
        self.surround(scene)

    def surround(self, scene: Scene) -> None:
        """Takes other obstacles from now on."""
        self._watch = ContactWatch(self._robot, self._shapes, scene.obstacles, self._pairs)

    def measure(self, t: float, q: Array) -> None:
        """Takes the true posture (n,) at a time [s]; measures where that is due."""
        if self._period <= 0.0 or t < self._due:
            return
        self._due = t + self._period - 1e-9
        if (outer := self._watch.to_obstacles(q)).distance < self.obstacle.distance:
            self.obstacle = outer
        if (inner := self._watch.to_itself(q)).distance < self.itself.distance:
            self.itself = inner
