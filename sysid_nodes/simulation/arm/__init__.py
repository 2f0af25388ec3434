"""Simulated arms that stand in for hardware."""

from sysid_nodes.simulation.arm.excitation import FourierTrajectory, JointReference
from sysid_nodes.simulation.arm.gen3 import gen3_excitation
from sysid_nodes.simulation.arm.simulated_arm import SimulatedArm, SimulationConfig
from sysid_nodes.simulation.arm.torque_arm import TorqueArm, TorqueArmConfig
from sysid_nodes.simulation.arm.true_robot import GroundTruth, TrueRobot
from sysid_nodes.simulation.payload import Payload, dumbbell, random_dumbbell

__all__ = [
    "FourierTrajectory",
    "GroundTruth",
    "JointReference",
    "Payload",
    "SimulatedArm",
    "SimulationConfig",
    "TorqueArm",
    "TorqueArmConfig",
    "TrueRobot",
    "dumbbell",
    "gen3_excitation",
    "random_dumbbell",
]
