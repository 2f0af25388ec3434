# SPDX-License-Identifier: Apache-2.0
"""Options that the actuators' node has beside the identification's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option
from sysid_nodes.sessions.node_config import (
    NodeConfig,
    buffer_option,
    frame_prefix_option,
    queue_option,
    reliability_option,
)

LOW_CMD = "low_cmd"


@dataclass(frozen=True)
class ActuatorNodeConfig(NodeConfig):
    """Topics, frames and services of the node. Nothing here touches a number that it publishes."""

    command_type: str = option(
        "joint_state",
        "messages on the topic of the commands: sensor_msgs/JointState, trajectory_msgs/JointTrajectory, or Unitree's "
        "LowCmd, with which the encoders are those of its LowState on lowstate",
        choices=("joint_state", "trajectory", LOW_CMD),
    )
    reliability: str = reliability_option(
        "of both subscriptions; best_effort also hears best-effort publishers, and may lose commands unnoticed",
    )
    frame_prefix: str = frame_prefix_option()
    queue_depth: int = queue_option(5000)
    buffer: int = buffer_option(100000)
