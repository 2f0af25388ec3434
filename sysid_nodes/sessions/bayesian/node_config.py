# SPDX-License-Identifier: Apache-2.0
"""Options that the Bayesian identifier's node has beside the identification's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.sessions.node_config import (
    NodeConfig,
    buffer_option,
    frame_prefix_option,
    queue_option,
    reliability_option,
)


@dataclass(frozen=True)
class BayesianNodeConfig(NodeConfig):
    """Topics, frames and services of the node. Nothing here touches a number that it publishes."""

    reliability: str = reliability_option(
        "of both subscriptions; best_effort also hears best-effort publishers, and may lose readings unnoticed",
    )
    frame_prefix: str = frame_prefix_option()
    queue_depth: int = queue_option(5000)
    buffer: int = buffer_option(100000)
