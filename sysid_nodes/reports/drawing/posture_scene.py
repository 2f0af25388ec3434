# SPDX-License-Identifier: Apache-2.0
"""One robot in several versions of its motion, as a scene over time: measured, replayed, predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.reports.drawing.moving_scene import JOINT, LINK, MovingScene, frames, robot_bodies
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]

FAINT = 0.35
"""Opacity of a version that another is compared with, or that something inside must be seen of."""

LONGEST = 20.0
"""Of a motion [s]; more would leave too few moments of what is fast."""


class Version(NamedTuple):
    """A motion of the robot.

    Attributes:
        name: for the reader, who shows or hides it.
        q: (N, nq) configurations; NaN where it is not to be seen.
        colour: as CSS has it; of links and joints, unless it is the robot's own.
        opacity: 1 for a solid one.
    """

    name: str
    q: Array
    colour: str = LINK
    opacity: float = 1.0


def posture_scene(robot: Robot, t: Array, versions: Sequence[Version], label: str) -> MovingScene:
    """The versions in one another.

    Args:
        t: (N,) increasing times [s]; what is later than `LONGEST` after the first is left out.
        versions: one at least.
        label: read out in place of the scene.
    """
    count = int(np.searchsorted(t, t[0] + LONGEST, side="right"))
    rows = frames(count)
    scene = MovingScene(t[rows], label)
    for name, q, colour, opacity in versions:
        joint = JOINT if colour == LINK else colour
        bodies = robot_bodies(robot, q[rows], group=name, colour=colour, joint_colour=joint, opacity=opacity)
        scene.bodies.extend(bodies)
    return scene


def on_a_stand(robot: Robot, joints: Array) -> Array:
    """(N, nq) configurations with a base, where it floats, that stays at the origin; joints (N, n)."""
    base = pinocchio.neutral(robot.model)[: robot.model.nq - joints.shape[1]]
    return np.column_stack([np.tile(base, (len(joints), 1)), joints])
