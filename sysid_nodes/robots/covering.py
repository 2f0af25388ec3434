# SPDX-License-Identifier: Apache-2.0
"""All shapes that a certificate keeps apart from obstacles: the robot's and its load's."""

from __future__ import annotations

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume
from sysid_nodes.robots.robot import Primitive, Robot


def covering_shapes(robot: Robot, load: PayloadVolumeConfig) -> tuple[Primitive, ...]:
    """Shapes that cover all of the robot and its load.

    Raises:
        RobotError: the robot has no such shapes, so nothing could be certified; or its base floats.
        ConfigError: the load's room is impossible.
    """
    if robot.floating_base:
        raise RobotError(f"the base of robot '{robot.name}' floats; certified motion needs a fixed one")
    if not robot.geometry:
        raise RobotError(f"robot '{robot.name}' has no shapes that cover it; a contact could not be excluded")
    # The room of what the hand holds is known for the Gen3's hand alone, on a URDF of the user's too.
    return (*robot.geometry, *payload_volume(load)) if robot.name == "kinova_gen3" else robot.geometry
