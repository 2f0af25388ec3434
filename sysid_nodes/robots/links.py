# SPDX-License-Identifier: Apache-2.0
"""Names of links: of the base, and of what a joint moves."""

from __future__ import annotations

import numpy as np
import pinocchio

from sysid_nodes.robots.robot import Robot


def joint_link(robot: Robot, joint: int) -> str:
    """The link that sits at the frame of a joint of the model, by its index.

    Raises:
        ValueError: no link moves with it.
    """
    links = [f for f in robot.model.frames if f.type == pinocchio.FrameType.BODY and int(f.parentJoint) == joint]
    return str(min(links, key=lambda link: float(np.linalg.norm(link.placement.homogeneous - np.eye(4)))).name)


def moving_link(robot: Robot, body: str) -> str:
    """The link that sits at the frame of the joint which carries body.

    Raises:
        RobotError: the robot has no such link, or it does not move.
    """
    return joint_link(robot, robot.body_index(body) + 1)


def moved_part(robot: Robot, joint: int) -> str:
    """Words for what a joint, by its index among the names, moves; -1 is the base."""
    return "the base" if joint < 0 else f"what {robot.joint_names[joint]} moves"


def base_link(robot: Robot) -> str:
    """The link whose pose q begins with."""
    return joint_link(robot, 1)


def base_frame(robot: Robot) -> str:
    """Name of the link that does not move, in which obstacles are given."""
    return str(next(frame.name for frame in robot.model.frames if frame.name != "universe"))
