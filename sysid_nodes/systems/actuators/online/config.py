# SPDX-License-Identifier: Apache-2.0
"""Configuration of identification that goes on."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section


@dataclass(frozen=True)
class DriftConfig:
    """When a drive counts as changed."""

    gain: float = option(0.15, "change of the drive's strength, relative to what is stated", unit="1", minimum=1e-3)
    friction: float = option(0.25, "change of the friction torque, relative to it", unit="1", minimum=1e-3)
    least_torque: float = option(
        0.04, "change of the friction torque below which nobody cares, relative to the drive's (RMS)", minimum=0.0
    )
    delay: float = option(0.003, "change of the delay", unit="s", minimum=1e-5)
    significance: float = option(4.0, "change in units of its standard deviation", unit="1", minimum=0.0)
    unexplained: float = option(
        3.0, "what no change explains of a window, in units of the replay error, above which it has to be confirmed",
        unit="1", minimum=1.0,
    )  # fmt: skip
    windows: int = option(2, "windows in a row that must speak for the same change", minimum=1, maximum=100)
    learning: int = option(3, "windows in memory before which nothing is compared with them", minimum=1, maximum=100)


@dataclass(frozen=True)
class OnlineConfig:
    """From motion that goes on to windows, and what of them is remembered."""

    window: float = option(4.0, "length of a window of motion", unit="s", minimum=1.0, maximum=600.0)
    memory: int = option(6, "windows that are kept: those that tell most", minimum=1, maximum=1000)
    half_life: float = option(
        600.0, "age, in time of motion, at which what a window tells counts half when windows are chosen", unit="s",
        minimum=1.0,
    )  # fmt: skip
    wait: float = option(
        0.5, "how long a window waits for commands stamped within it; the models are that much older", unit="s",
        minimum=0.0,
    )  # fmt: skip
    drift: DriftConfig = section(DriftConfig, "alarms about drives that change")
