# SPDX-License-Identifier: Apache-2.0
"""Configuration of an actuator identification from messages."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.systems.actuators import ActuatorConfig


@dataclass(frozen=True)
class ActuatorSessionConfig:
    """Which robot, which topics, and the identification."""

    robot: str = option("go2", "registered robot, or urdf")
    urdf: str = option("", "URDF file, for any other robot or for one's own of a registered one")
    commands: str = option("/joint_commands", "topic of the commands, JointTrajectory, JointState or Unitree's LowCmd")
    drive: str = option(
        "commands",
        "whether commands drive the joints or, in logs that have none, the efforts measured with their states",
        choices=("commands", "effort"),
    )
    actuators: ActuatorConfig = section(ActuatorConfig, "the identification")
