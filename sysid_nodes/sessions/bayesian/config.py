# SPDX-License-Identifier: Apache-2.0
"""Configuration of a Bayesian identification from messages."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.data.joint_vector import Numbers, Words
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.robots.arm_chain import lock_joints
from sysid_nodes.systems.bayesian import BayesianConfig


@dataclass(frozen=True)
class BayesianSessionConfig:
    """Which robot, which topics, and the identification."""

    robot: str = option("fourbar_leg", "registered robot with a fixed base, or urdf")
    urdf: str = option("", "URDF file, for one's own robot or form of it")
    joints: Words = option((), "joints that move, all others being locked at zero; empty: all of the robot")
    power: str = option(
        "power",
        "topic of the power meter, BatteryState; or two with a comma between, voltage and current drawn, Float64; need "
        "not be there; empty: none",
    )
    torque_factor: Numbers = option(
        (1.0,),
        "from a message's effort to the joint's torque, one for all motors or one each; -1 turns the sign; of joints "
        "with 0 no torque is read",
    )
    bayesian: BayesianConfig = section(BayesianConfig, "the identification")


def bayesian_robot(config: BayesianSessionConfig) -> Robot:
    """The robot that a configuration names, with no other joints than those that move.

    Raises:
        RobotError: it is unknown, has no such joints, or its description is unusable.
    """
    robot = load_robot(config.robot, urdf=config.urdf)
    return lock_joints(robot, config.joints, {}) if config.joints else robot
