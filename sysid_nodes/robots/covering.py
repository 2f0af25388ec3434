"""All shapes that a certificate keeps apart from obstacles: the robot's and its load's."""

from __future__ import annotations

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.kinova_gen3.geometry import cover
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
    gen3 = robot.name == "kinova_gen3" and robot.variant != "urdf"
    shapes = cover(robot.variant) if gen3 else robot.geometry
    if not shapes:
        raise RobotError(f"robot '{robot.name}' has no shapes that cover it; a contact could not be excluded")
    return (*shapes, *payload_volume(load)) if gen3 else shapes
