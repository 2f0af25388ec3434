# SPDX-License-Identifier: Apache-2.0
"""Configuration of a Bayesian identification from messages."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.data.joint_vector import Numbers
from sysid_nodes.systems.bayesian import BayesianConfig


@dataclass(frozen=True)
class BayesianSessionConfig:
    """Which robot, which topics, and the identification."""

    robot: str = option("fourbar_leg", "registered robot with a fixed base, or urdf")
    urdf: str = option("", "URDF file, for one's own robot or form of it")
    power: str = option(
        "power",
        "topic of the power meter, BatteryState; or two with a comma between, voltage and current drawn, Float64; need "
        "not be there; empty: none",
    )
    torque_factor: Numbers = option(
        (1.0,), "from a message's effort to the joint's torque, one for all motors or one each; -1 turns the sign"
    )
    bayesian: BayesianConfig = section(BayesianConfig, "the identification")
