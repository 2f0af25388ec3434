# SPDX-License-Identifier: Apache-2.0
"""Hears what is latched and what is not: a latched subscription gets nothing from a publisher that latches nothing.

One subscription more, without the wish for what was published before, matches every publisher. What says the same as
the message before it is passed over, so that what both get counts once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from sysid_nodes.ros import qos


def subscribe_latest(node: Node, kind: Any, topic: str, take: Callable[[Any], None]) -> list[Any]:
    """Subscriptions to the newest message of reliable publishers, latched or not, that tells something new."""
    last: list[Any] = [None]

    def hear(message: Any) -> None:
        if message != last[0]:
            last[0] = message
            take(message)

    # Else the latched one would warn of each publisher that the other hears.
    silent = qos.SubscriptionEventCallbacks(use_default_callbacks=False)
    # A depth of one for both: neither comes with what the other has already been told is old.
    profiles = (qos.LATCHED, qos.stream("reliable", 1))
    return [node.create_subscription(kind, topic, hear, p, event_callbacks=silent) for p in profiles]
