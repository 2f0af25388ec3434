# SPDX-License-Identifier: Apache-2.0
"""Options that PRIME's node has beside the estimator's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option
from sysid_nodes.sessions.node_config import NodeConfig, buffer_option, queue_option


@dataclass(frozen=True)
class PrimeNodeConfig(NodeConfig):
    """Topics, frames and services of the node. Nothing here touches a number that it publishes."""

    low_state: bool = option(False, "take joints and IMU from Unitree's LowState instead of JointState and Imu")
    velocity_type: str = option(
        "odometry",
        "messages on topic velocity: nav_msgs/Odometry or geometry_msgs/TwistStamped; listened to only where"
        " prime.sensors.base_velocity is enabled",
        choices=("odometry", "twist"),
    )
    queue_depth: int = queue_option(1000)
    buffer: int = buffer_option(5000)
    marker_period: float = option(0.05, "time between two messages of markers", unit="s", minimum=0.0)
    inertia_period: float = option(0.5, "time between two messages of inertial parameters", unit="s", minimum=0.0)
    tf: bool = option(False, "publish the base's transform, where tf2_msgs is installed and nobody else does")
