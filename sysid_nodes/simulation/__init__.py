"""Simulated robots that stand in for hardware."""

from sysid_nodes.simulation.arm import GroundTruth, SimulatedArm, SimulationConfig
from sysid_nodes.simulation.excitation import FourierTrajectory, Motion
from sysid_nodes.simulation.gen3 import gen3_excitation
from sysid_nodes.simulation.payload import Payload, dumbbell, random_dumbbell

__all__ = [
    "FourierTrajectory",
    "GroundTruth",
    "Motion",
    "Payload",
    "SimulatedArm",
    "SimulationConfig",
    "dumbbell",
    "gen3_excitation",
    "random_dumbbell",
]
