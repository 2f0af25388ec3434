# SPDX-License-Identifier: Apache-2.0
"""Settings of the torque-driven simulated arm."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.simulation.arm.protective_stop import StopConfig


@dataclass(frozen=True)
class HardwareConfig:
    """The arm's drive, its sensors and its deviation from the nominal robot. Errors are uniform within their bounds."""

    rate: float = option(1000.0, "drive ticks; a torque is held over each", unit="Hz", minimum=500.0, maximum=10000.0)
    substeps: int = option(2, "integrator steps a tick", minimum=1, maximum=100)
    delay: float = option(
        0.001, "from a command's arrival to the earliest tick it acts in", unit="s", minimum=0.0, maximum=0.1
    )
    command_timeout: float = option(
        0.02, "silence after which the arm stops itself", unit="s", minimum=1e-3, maximum=10.0
    )
    torque_relative: float = option(
        0.025, "largest torque error relative to the reading", unit="1", minimum=0.0, maximum=0.5
    )
    velocity_error: float = option(5e-5, "largest velocity error", unit="rad/s", minimum=0.0)
    quantise: bool = option(True, "round positions to the robot's encoder steps")
    tick_jitter: float = option(
        0.0, "largest change of a tick's length, relative (the stamps stay true)", unit="1", minimum=0.0, maximum=0.9
    )
    stamp_error: float = option(0.0, "largest error of a stamp", unit="s", minimum=0.0, maximum=0.1)
    robot_error: float = option(
        0.0,
        "largest deviation of the true links, friction and armature from the nominal robot",
        unit="1",
        minimum=0.0,
        maximum=0.5,
    )
    stop: StopConfig = section(StopConfig, "protective stop")
