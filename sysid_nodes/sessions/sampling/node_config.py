# SPDX-License-Identifier: Apache-2.0
"""Options that the nodes of identification by rollouts have beside the identification's and the planner's."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option


@dataclass(frozen=True)
class SamplingNodeConfig:
    """How the identifier's node meets its surroundings. Nothing here touches a number that it publishes."""

    autostart: bool = option(True, "configure and activate without a lifecycle manager")
    command_type: str = option(
        "joint_state",
        "messages on the topic of the commands: sensor_msgs/JointState or trajectory_msgs/JointTrajectory",
        choices=("joint_state", "trajectory"),
    )
    reliability: str = option(
        "reliable",
        "of all subscriptions; best_effort also hears best-effort publishers, and may lose readings unnoticed",
        choices=("reliable", "best_effort"),
    )
    queue_depth: int = option(
        5000, "messages of a topic that the middleware keeps until the node takes them", minimum=1, maximum=1000000
    )
    buffer: int = option(
        200000, "messages that may wait while it identifies; one more empties the buffer", minimum=1, maximum=10000000
    )
    diagnostics_period: float = option(1.0, "time between two diagnostics", unit="s", minimum=0.01, maximum=3600.0)


@dataclass(frozen=True)
class PlannerNodeConfig:
    """How the exploration planner's node meets its surroundings."""

    autostart: bool = option(True, "configure and activate without a lifecycle manager")
    plans: int = option(0, "plans made at most, one for each estimate; 0: for every estimate", minimum=0)
    posterior: str = option("/spi_identifier/posterior", "topic of the estimates")
    diagnostics_period: float = option(1.0, "time between two diagnostics", unit="s", minimum=0.01, maximum=3600.0)
