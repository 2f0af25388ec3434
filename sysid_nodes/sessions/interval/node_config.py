# SPDX-License-Identifier: Apache-2.0
"""Options that the identifier's node has beside its algorithm's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import section
from sysid_nodes.data.key_file import AuthorityConfig
from sysid_nodes.sessions.node_config import (
    NodeConfig,
    buffer_option,
    frame_prefix_option,
    queue_option,
    reliability_option,
)


@dataclass(frozen=True)
class IntervalNodeConfig(NodeConfig):
    """Topics, frames and services of the node. Nothing here touches a number that it publishes."""

    reliability: str = reliability_option(
        "of the joint state subscription; best_effort hears every publisher, holds none up whatever becomes of this "
        "node, and may lose samples, which are counted; reliable has them sent again",
        default="best_effort",
    )
    queue_depth: int = queue_option(5000)
    buffer: int = buffer_option(20000)
    frame_prefix: str = frame_prefix_option()
    authority: AuthorityConfig = section(AuthorityConfig, "who may command")
