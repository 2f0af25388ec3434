# SPDX-License-Identifier: Apache-2.0
"""Many MuJoCo simulations of one robot at a time, each with its own parameters, drives closed inside the loop."""

from sysid_nodes.rollouts.drive import Drive
from sysid_nodes.rollouts.legged_model import GroundConfig, build_legged_mujoco
from sysid_nodes.rollouts.processes import ProcessSimulations
from sysid_nodes.rollouts.simulations import FinerSimulations, Simulations, Simulator
from sysid_nodes.rollouts.variants import Variants, Work

__all__ = [
    "Drive",
    "FinerSimulations",
    "GroundConfig",
    "ProcessSimulations",
    "Simulations",
    "Simulator",
    "Variants",
    "Work",
    "build_legged_mujoco",
]
