# SPDX-License-Identifier: Apache-2.0
"""Options that the actuators' node has beside the identification's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option


@dataclass(frozen=True)
class ActuatorNodeConfig:
    """How the node meets its surroundings. Nothing here touches a number that it publishes."""

    autostart: bool = option(True, "configure and activate without a lifecycle manager")
    command_type: str = option(
        "joint_state",
        "messages on the topic of the commands: sensor_msgs/JointState or trajectory_msgs/JointTrajectory",
        choices=("joint_state", "trajectory"),
    )
    reliability: str = option(
        "reliable",
        "of both subscriptions; best_effort also hears best-effort publishers, and may lose commands unnoticed",
        choices=("reliable", "best_effort"),
    )
    queue_depth: int = option(
        5000, "messages of a topic that the middleware keeps until the node takes them", minimum=1, maximum=1000000
    )
    buffer: int = option(
        100000,
        "messages that may wait for the identifier; one more empties the buffer, counted as overload",
        minimum=1,
        maximum=10000000,
    )
    diagnostics_period: float = option(1.0, "time between two diagnostics", unit="s", minimum=0.01, maximum=3600.0)
