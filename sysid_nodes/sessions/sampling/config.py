# SPDX-License-Identifier: Apache-2.0
"""Configuration of an identification by rollouts from messages."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.robots import MotorConfig, Robot, load_robot, with_motor
from sysid_nodes.rollouts.legged_model import require_walker
from sysid_nodes.systems.sampling import SamplingConfig


@dataclass(frozen=True)
class SamplingSessionConfig:
    """Which robot, which topic, and the identification."""

    robot: str = option("go2", "registered robot that walks, or urdf")
    urdf: str = option("", "URDF file, for one's own form of the robot")
    commands: str = option("joint_commands", "topic of the set-points, JointState or JointTrajectory")
    imu: str = option("imu/data", "topic of the inertial sensor, Imu with an orientation")
    pose: str = option("mocap/pose", "topic of motion capture of the base, PoseStamped")
    least: float = option(3.0, "motion before another identification, live", unit="s", minimum=0.5)
    rest: float = option(0.6, "standing still that ends a motion, live", unit="s", minimum=0.1)
    memory: float = option(60.0, "motion that is kept, the newest, live", unit="s", minimum=5.0)
    motor: MotorConfig = section(MotorConfig, "what is known of the joints' friction and armature")
    sampling: SamplingConfig = section(SamplingConfig, "the identification")


def sampling_robot(config: SamplingSessionConfig) -> Robot:
    """The robot that a configuration names.

    Raises:
        RobotError: it is unknown, its description is unusable, or it cannot walk.
        ConfigError: there are not as many constants of motors as joints.
    """
    robot = load_robot(config.robot, urdf=config.urdf)
    require_walker(robot)
    return with_motor(robot, config.motor)
