# SPDX-License-Identifier: Apache-2.0
"""Configuration of an actuator identification from messages."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.robots import Robot, limb, load_robot
from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.online import OnlineConfig


@dataclass(frozen=True)
class ActuatorSessionConfig:
    """Which robot, which topics, and the identification."""

    robot: str = option("go2", "registered robot, or urdf")
    urdf: str = option("", "URDF file, for any other robot or for one's own of a registered one")
    joints: str = option(
        "", "how the names of the joints begin that are driven; the others are held at zero; empty: all"
    )
    commands: str = option("joint_commands", "topic of the commands, JointTrajectory, JointState or Unitree's LowCmd")
    drive: str = option(
        "commands",
        "whether commands drive the joints or, in logs that have none, the efforts measured with their states",
        choices=("commands", "effort"),
    )
    actuators: ActuatorConfig = section(ActuatorConfig, "the identification")
    online: OnlineConfig = section(OnlineConfig, "how the node's models follow the motion")


def actuator_robot(config: ActuatorSessionConfig) -> Robot:
    """The robot that a configuration names, with no other joints than those that are driven.

    Raises:
        RobotError: it is unknown, has no such joints, or its description is unusable.
    """
    robot = load_robot(config.robot, urdf=config.urdf)
    return limb(robot, config.joints) if config.joints else robot
