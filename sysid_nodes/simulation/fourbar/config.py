# SPDX-License-Identifier: Apache-2.0
"""Configuration of the simulated leg."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option


@dataclass(frozen=True)
class SimulatedLinkageConfig:
    """The hidden leg, its motion and its sensors."""

    seed: int = option(0, "of what is hidden, of the motion and of the sensors' noise", minimum=0)
    duration: float = option(12.0, "of the motion", unit="s", minimum=1.0)
    rate: float = option(500.0, "of joint states and power meter", unit="Hz", minimum=50.0, maximum=1000.0)
    power: str = option("power", "topic of the power meter")
    listeners: int = option(0, "subscribers to wait for on both topics before the motion begins", minimum=0)
    truth_file: str = option("", "JSON file that gets what is hidden; empty writes none")
