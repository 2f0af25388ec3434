# SPDX-License-Identifier: Apache-2.0
"""Options that the simulated legged robot's node has beside the simulation's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option
from sysid_nodes.sessions.node_config import frame_prefix_option


@dataclass(frozen=True)
class SimulatedLeggedRobotConfig:
    """Topics, frames and services of the simulated robot."""

    seed: int = option(0, "of the sensors' errors", minimum=0)
    duration: float = option(0.0, "length of the motion; 0 goes on until stopped", unit="s", minimum=0.0)
    listeners: int = option(0, "subscribers to wait for on every topic before the motion begins", minimum=0)
    low_state: bool = option(False, "publish Unitree's LowState instead of JointState and Imu")
    faults: str = option(
        "", "faults of streams, separated by commas: STREAM:KIND, STREAM:KIND:START or STREAM:KIND:START:END, in s"
    )
    reliability: str = option(
        "best_effort", "of what the sensors publish, as drivers do it", choices=("best_effort", "reliable")
    )
    commands: str = option("joint_commands", "topic of the set-points, where the motors follow some")
    plan: str = option("exploration_planner/plan", "topic of plans that a commanded robot follows")
    posterior: str = option("spi_identifier/posterior", "topic of the estimates that such a plan must be made for")
    tf: bool = option(False, "publish the base's transform as motion capture reads it, where tf2_msgs is installed")
    frame_prefix: str = frame_prefix_option()
    truth_file: str = option("", "JSON file that gets what stays the same of the truth; empty writes none")
    truth_series: str = option("", "npz file that gets motion and forces when the motion has ended; empty writes none")
    truth_topics: bool = option(False, "publish forces and motion below /truth")
