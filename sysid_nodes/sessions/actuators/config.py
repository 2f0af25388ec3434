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
    commands: str = option("/joint_commands", "topic of the commands, JointTrajectory or JointState")
    actuators: ActuatorConfig = section(ActuatorConfig, "the identification")
