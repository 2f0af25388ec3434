"""Simulated robots that stand in for hardware."""

from sysid_nodes.simulation.arm import SimulatedArm, SimulationConfig
from sysid_nodes.simulation.excitation import FourierTrajectory, Motion
from sysid_nodes.simulation.gen3 import gen3_excitation
from sysid_nodes.simulation.payload import Payload, dumbbell, random_dumbbell
from sysid_nodes.simulation.torque_arm import TorqueArm, TorqueArmConfig
from sysid_nodes.simulation.true_robot import GroundTruth, TrueRobot

__all__ = [
    "FourierTrajectory",
    "GroundTruth",
    "Motion",
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
