# SPDX-License-Identifier: Apache-2.0
"""Boxes that cover the Gen3, one a body, in its joint frames.

They are ours: bounding boxes of every vertex of the makers' meshes, rounded outwards to 0.01 mm. Arm: ros2_kortex
(Kinova, BSD-3-Clause), kortex_description/arms/gen3/7dof/meshes at 1fdbef3; the bracelet's box holds the one with the
camera and the one without. Gripper: ros2_robotiq_gripper (PickNik, BSD-3-Clause), robotiq_description/meshes/collision.
"""

from __future__ import annotations

import numpy as np

from sysid_nodes.robots.robot import Array, Primitive

BASE_BOX = ("universe", (-0.0465, -0.0465, 0.0), (0.0465, 0.0465, 0.171))
"""The base's rim stands 14 mm above joint 1."""

LINK_BOXES = (  # joint, lower and upper corner [m]
    ("joint_1", (-0.04636, -0.04866, -0.17438), (0.04636, 0.04606, -0.00237)),
    ("joint_2", (-0.04601, -0.22481, -0.05538), (0.04601, 0.04601, 0.03963)),
    ("joint_3", (-0.04601, -0.04901, -0.25638), (0.04601, 0.04600, -0.00237)),
    ("joint_4", (-0.04601, -0.22091, -0.05595), (0.04601, 0.04601, 0.02865)),
    ("joint_5", (-0.03500, -0.05305, -0.14101), (0.03501, 0.03501, -0.00249)),
    ("joint_6", (-0.03501, -0.11841, -0.05333), (0.03501, 0.03508, 0.03483)),
    ("joint_7", (-0.04551, -0.07468, -0.06443), (0.04551, 0.03751, 0.00001)),
)
FINGERS_BOX = ("joint_7", (-0.077, -0.038, -0.24), (0.077, 0.038, -0.058))
"""The 2F-85 with its coupling and its fingers, which open along x, in any position: from the mounting face at
z = -0.0615 to -0.2356, and at most 0.0762 and 0.0375 to the sides."""


def cover(variant: str) -> tuple[Primitive, ...]:
    """A box for each body, base first, then the gripper: covers the whole robot, and no two bodies with a third between
    them overlap unless the robot touches itself.
    """
    boxes = (BASE_BOX, *LINK_BOXES, *((FINGERS_BOX,) if variant == "gripper" else ()))
    return tuple(_box(frame, np.array(lower), np.array(upper)) for frame, lower, upper in boxes)


def _box(frame: str, lower: Array, upper: Array) -> Primitive:
    return Primitive(frame, "box", 0.5 * (lower + upper), np.eye(3), 0.5 * (upper - lower))
