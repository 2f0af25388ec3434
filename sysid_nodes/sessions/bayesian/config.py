# SPDX-License-Identifier: Apache-2.0
"""Configuration of a Bayesian identification from messages."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.data.joint_vector import Numbers
from sysid_nodes.systems.bayesian import BayesianConfig


@dataclass(frozen=True)
class OnlineConfig:
    """How a live node follows the motion: window after window, each begun with what those before it say."""

    window: float = option(2.0, "of the log that is used at once", unit="s", minimum=0.5)
    patience: float = option(0.2, "for the power meter after joint states have ended a window", unit="s", minimum=0.0)
    gap: float = option(0.1, "without joint states that ends a window unused", unit="s", minimum=1e-3, maximum=0.5)


@dataclass(frozen=True)
class BayesianSessionConfig:
    """Which robot, which topics, and the identification."""

    robot: str = option("fourbar_leg", "registered robot with a fixed base, or urdf")
    urdf: str = option("", "URDF file, for one's own robot or form of it")
    power: str = option("/power", "topic of the power meter, BatteryState; need not be there; empty: none")
    torque_factor: Numbers = option(
        (1.0,), "from a message's effort to the joint's torque, one for all motors or one each; -1 turns the sign"
    )
    bayesian: BayesianConfig = section(BayesianConfig, "the identification")
    online: OnlineConfig = section(OnlineConfig, "how the posterior follows the motion, live")
