# SPDX-License-Identifier: Apache-2.0
"""Simulated legged robots that stand in for hardware: Unitree Go2 and G1 in MuJoCo under scripted controllers."""

from sysid_nodes.simulation.legged.faults import FAULTS, STREAMS, Fault
from sysid_nodes.simulation.legged.scenario import LeggedSimulationConfig
from sysid_nodes.simulation.legged.sensors import ImuReading, JointReading, PoseReading, Reading, VelocityReading
from sysid_nodes.simulation.legged.sim import LeggedRobotSim
from sysid_nodes.simulation.legged.truth import LeggedTruth, TruthSample, TruthSeries

__all__ = [
    "FAULTS",
    "STREAMS",
    "Fault",
    "ImuReading",
    "JointReading",
    "LeggedRobotSim",
    "LeggedSimulationConfig",
    "LeggedTruth",
    "PoseReading",
    "Reading",
    "TruthSample",
    "TruthSeries",
    "VelocityReading",
]
