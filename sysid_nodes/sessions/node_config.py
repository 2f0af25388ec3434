# SPDX-License-Identifier: Apache-2.0
"""Options that identifying nodes have in common, beside their systems' configurations."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option


def frame_prefix_option() -> str:
    """Prefix of frames, for several robots of a kind on one tree of transforms."""
    words = "what is put before the names of the robot's frames in messages, as robot_state_publisher's frame_prefix"
    prefix: str = option("", words)
    return prefix


def autostart_option() -> bool:
    """Whether a node takes its first transitions by itself."""
    start: bool = option(True, "configure and activate without a lifecycle manager")
    return start


def reliability_option(words: str, default: str = "reliable") -> str:
    """Reliability of subscriptions; the words say of which, and what a wrong choice costs."""
    choice: str = option(default, words, choices=("reliable", "best_effort"))
    return choice


def queue_option(messages: int) -> int:
    """Depth of the middleware's queues."""
    words = "messages of a topic that the middleware keeps until the node takes them"
    depth: int = option(messages, words, minimum=1, maximum=1000000)
    return depth


def buffer_option(messages: int) -> int:
    """Length of the queue between the executor's thread and the worker's."""
    words = "messages that may wait to be worked on; one more empties the buffer, counted as overload"
    length: int = option(messages, words, minimum=1, maximum=10000000)
    return length


@dataclass(frozen=True)
class NodeConfig:
    """Topics, frames and services of a node. Nothing here touches a number that it publishes."""

    autostart: bool = autostart_option()
    diagnostics_period: float = option(1.0, "time between two diagnostics", unit="s", minimum=0.01, maximum=3600.0)
