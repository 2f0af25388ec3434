# SPDX-License-Identifier: Apache-2.0
"""Many MuJoCo simulations of one robot at a time, each with its own parameters, drives closed inside the loop."""

from sysid_nodes.rollouts.closed_loop import Walks, walk
from sysid_nodes.rollouts.drive import Drive
from sysid_nodes.rollouts.gaits import FREQUENCY, GAITS
from sysid_nodes.rollouts.humanoid import HumanoidPolicy
from sysid_nodes.rollouts.legged_model import GroundConfig, build_legged_mujoco
from sysid_nodes.rollouts.policies import commanded_policy
from sysid_nodes.rollouts.policy import Command, CommandedPolicy
from sysid_nodes.rollouts.processes import ProcessSimulations
from sysid_nodes.rollouts.simulations import (
    ClosableSimulator,
    DrivenSimulations,
    ExtrapolatedSimulations,
    FinerSimulations,
    Simulations,
    Simulator,
)
from sysid_nodes.rollouts.variants import Variants, Work
from sysid_nodes.rollouts.walking import WalkingConfig, WalkingPolicy

__all__ = [
    "FREQUENCY",
    "GAITS",
    "ClosableSimulator",
    "Command",
    "CommandedPolicy",
    "Drive",
    "DrivenSimulations",
    "ExtrapolatedSimulations",
    "FinerSimulations",
    "GroundConfig",
    "HumanoidPolicy",
    "ProcessSimulations",
    "Simulations",
    "Simulator",
    "Variants",
    "WalkingConfig",
    "WalkingPolicy",
    "Walks",
    "Work",
    "build_legged_mujoco",
    "commanded_policy",
    "walk",
]
