# SPDX-License-Identifier: Apache-2.0
"""Options that the nodes of identification by rollouts have beside the identification's and the planner's."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option
from sysid_nodes.sessions.node_config import NodeConfig, buffer_option, queue_option


@dataclass(frozen=True)
class SamplingNodeConfig(NodeConfig):
    """How the identifier's node meets its surroundings. Nothing here touches a number that it publishes."""

    command_type: str = option(
        "joint_state",
        "messages on the topic of the commands: sensor_msgs/JointState or trajectory_msgs/JointTrajectory",
        choices=("joint_state", "trajectory"),
    )
    reliability: str = option(
        "best_effort",
        "of all subscriptions; best_effort also hears best-effort publishers, as drivers are",
        choices=("best_effort", "reliable"),
    )
    queue_depth: int = queue_option(5000)
    buffer: int = buffer_option(200000)


@dataclass(frozen=True)
class PlannerNodeConfig(NodeConfig):
    """How the exploration planner's node meets its surroundings."""

    posterior: str = option("spi_identifier/posterior", "topic of the estimates")
    plans: int = option(0, "plans at most, one for each estimate; 0: for every estimate", minimum=0)
