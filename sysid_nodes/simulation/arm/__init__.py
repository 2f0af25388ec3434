# SPDX-License-Identifier: Apache-2.0
"""Simulated arms that stand in for hardware."""

from sysid_nodes.simulation.arm.excitation import FourierTrajectory, JointReference
from sysid_nodes.simulation.arm.gen3 import gen3_excitation
from sysid_nodes.simulation.arm.playback import Playback
from sysid_nodes.simulation.arm.simulated_arm import HardwareConfig, SimulatedArm
from sysid_nodes.simulation.arm.true_robot import GroundTruth, TrueRobot
from sysid_nodes.simulation.payload import Payload, dumbbell, random_dumbbell

__all__ = [
    "FourierTrajectory",
    "GroundTruth",
    "HardwareConfig",
    "JointReference",
    "Payload",
    "Playback",
    "SimulatedArm",
    "TrueRobot",
    "dumbbell",
    "gen3_excitation",
    "random_dumbbell",
]
