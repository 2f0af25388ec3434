# SPDX-License-Identifier: Apache-2.0
"""A part of a robot whose other joints, and base, are held."""

from __future__ import annotations

from dataclasses import replace

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.description import build_robot
from sysid_nodes.robots.robot import Robot


def limb(robot: Robot, beginning: str) -> Robot:
    """The joints whose names begin so, on a fixed base, the others locked at zero.

    Raises:
        RobotError: there is no such joint.
    """
    others = tuple(name for name in robot.joint_names if not name.startswith(beginning))
    if len(others) == robot.n:
        line = f"robot '{robot.name}' has no joint whose name begins with '{beginning}'"
        raise RobotError(f"{line}; it has {', '.join(robot.joint_names)}")
    part = build_robot(robot.urdf, name=f"{robot.name}_{beginning.strip('_')}", locked=others)
    return replace(part, motor_order=robot.motor_order)
