"""Shapes that cover the Gen3, in its joint frames.

The spheres are RAPTOR's (Robots/kinova-gen3 planner files, all twenty); they leave out base, shoulder, the housings of
joints 3 and 5, the bracelet and the sides of the gripper, 6 cm in the worst place. ARMOUR's link boxes (KinovaInfo.h)
cover those: they are the bounding boxes of the vendor's meshes (ros2_kortex, Gen3 7dof with vision), whose every vertex
lies inside within 1e-6 m. Base and gripper are ours, from the same meshes and from those of ros2_robotiq_gripper: the
base's rim stands 14 mm above joint 1, and open fingers 6 mm out of ARMOUR's gripper box. ``cover`` is the tightest set
that leaves nothing out.
"""

from __future__ import annotations

import numpy as np

from sysid_nodes.robots.robot import Primitive

ARM_SPHERES = (  # joint, centre [m], radius [m]
    ("joint_2", (0.0, -0.05, -0.01), 0.06),
    ("joint_2", (0.0, -0.11, -0.01), 0.06),
    ("joint_2", (0.0, -0.17, -0.01), 0.06),
    ("joint_2", (0.0, -0.24, -0.01), 0.06),
    ("joint_2", (0.0, -0.3, -0.01), 0.06),
    ("joint_2", (0.0, -0.36, -0.01), 0.06),
    ("joint_2", (0.0, -0.43, -0.01), 0.07),
    ("joint_4", (0.0, -0.07, 0.0), 0.07),
    ("joint_4", (0.0, -0.14, 0.0), 0.06),
    ("joint_4", (0.0, -0.21, 0.0), 0.06),
    ("joint_4", (0.0, -0.28, 0.0), 0.06),
    ("joint_4", (0.0, -0.32, 0.0), 0.06),
    ("joint_6", (0.0, -0.07, 0.0), 0.05),
    ("joint_6", (0.0, -0.14, 0.0), 0.05),
)
GRIPPER_SPHERES = (
    ("joint_7", (-0.03, -0.06, -0.055), 0.02),
    ("joint_7", (0.0, -0.06, -0.055), 0.02),
    ("joint_7", (0.03, -0.06, -0.055), 0.02),
    ("joint_7", (0.0, 0.0, -0.1), 0.05),
    ("joint_7", (0.0, 0.0, -0.15), 0.05),
    ("joint_7", (0.0, 0.0, -0.2), 0.05),
)
BASE_BOX = ("universe", (0.0, 0.0, 0.0855), (0.0465, 0.0465, 0.0855))
LINK_BOXES = (  # joint, centre [m], half extents [m]
    ("joint_1", (0.0, -0.001297, -0.088375), (0.046358, 0.047354, 0.086)),
    ("joint_2", (0.0, -0.0894, -0.007877), (0.046, 0.1354, 0.047501)),
    ("joint_3", (0.0, -0.001502, -0.129375), (0.046, 0.047501, 0.127)),
    ("joint_4", (0.0, -0.08745, -0.013648), (0.046, 0.13345, 0.042293)),
    ("joint_5", (0.000001, -0.009023, -0.071752), (0.034999, 0.044023, 0.069252)),
    ("joint_6", (0.0, -0.041661, -0.009251), (0.035, 0.076739, 0.044076)),
    ("joint_7", (0.0, -0.018585, -0.033462), (0.0455, 0.056085, 0.030963)),
)
# ARMOUR's gripper box sits in a frame turned by pi/2 about the x axis of joint 7.
GRIPPER_BOX = ("joint_7", (0.0, 0.0, -0.163075), (0.07, 0.09, 0.07))
GRIPPER_BOX_ROTATION = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
# The 2F-85 with its coupling and fingers in any position, which open along x: its meshes reach 0.0762, 0.0375 and from
# the mounting face at z = -0.0615 to -0.2356.
FINGERS_BOX = ("joint_7", (0.0, 0.0, -0.149), (0.077, 0.038, 0.091))


def primitives(variant: str) -> tuple[Primitive, ...]:
    """All shapes of a variant: the published ones, and what covers their gaps."""
    spheres = [_primitive("sphere", frame, centre, (radius,)) for frame, centre, radius in ARM_SPHERES]
    boxes = [_primitive("box", *box) for box in (BASE_BOX, *LINK_BOXES)]
    if variant == "gripper":
        spheres += [_primitive("sphere", frame, centre, (radius,)) for frame, centre, radius in GRIPPER_SPHERES]
        boxes.append(_primitive("box", *GRIPPER_BOX, rotation=GRIPPER_BOX_ROTATION))
        boxes.append(_primitive("box", *FINGERS_BOX))
    return tuple(spheres + boxes)


def cover(variant: str) -> tuple[Primitive, ...]:
    """One box a body, base first, then the gripper: covers the whole robot, and no two bodies with a third between them
    overlap unless the robot touches itself.
    """
    boxes = (BASE_BOX, *LINK_BOXES, *((FINGERS_BOX,) if variant == "gripper" else ()))
    return tuple(_primitive("box", *box) for box in boxes)


def _primitive(
    kind: str,
    frame: str,
    centre: tuple[float, ...],
    size: tuple[float, ...],
    rotation: tuple[tuple[float, ...], ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
) -> Primitive:
    return Primitive(frame, kind, np.array(centre), np.array(rotation), np.array(size))
