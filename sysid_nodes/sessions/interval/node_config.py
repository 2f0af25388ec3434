# SPDX-License-Identifier: Apache-2.0
"""Options that the identifier's node has beside its algorithm's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.data.key_file import AuthorityConfig


@dataclass(frozen=True)
class IntervalNodeConfig:
    """How the node meets its surroundings. Nothing here touches a number that it publishes."""

    autostart: bool = option(True, "configure and activate without a lifecycle manager")
    reliability: str = option(
        "reliable",
        "of the joint state subscription; best_effort also hears best-effort publishers, and may lose samples",
        choices=("reliable", "best_effort"),
    )
    queue_depth: int = option(
        5000, "messages the middleware keeps until the node takes them", minimum=1, maximum=1000000
    )
    buffer: int = option(
        20000,
        "messages that may wait for the identifier; one more empties the buffer, counted as overload",
        minimum=1,
        maximum=10000000,
    )
    diagnostics_period: float = option(1.0, "time between two diagnostics", unit="s", minimum=0.01, maximum=3600.0)
    authority: AuthorityConfig = section(AuthorityConfig, "who may command")
