# SPDX-License-Identifier: Apache-2.0
"""Options that the nodes of identification by rollouts have beside the identification's and the planner's."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option
from sysid_nodes.sessions.node_config import NodeConfig, buffer_option, frame_prefix_option, queue_option


@dataclass(frozen=True)
class SamplingNodeConfig(NodeConfig):
    """Topics, frames and services of the identifier's node. Nothing here touches a number that it publishes."""

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
    frame_prefix: str = frame_prefix_option()
    queue_depth: int = queue_option(5000)
    buffer: int = buffer_option(200000)


@dataclass(frozen=True)
class PlannerNodeConfig(NodeConfig):
    """Topics, frames and services of the exploration planner's node."""

    posterior: str = option("spi_identifier/posterior", "topic of the estimates")
    plans: int = option(0, "plans at most, one for each estimate; 0: for every estimate", minimum=0)
