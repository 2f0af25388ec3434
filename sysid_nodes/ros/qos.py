# SPDX-License-Identifier: Apache-2.0
"""Quality of service of the topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

try:
    from rclpy.event_handler import SubscriptionEventCallbacks as SubscriptionEventCallbacks
except ImportError:  # Humble's name
    from rclpy.qos_event import SubscriptionEventCallbacks as SubscriptionEventCallbacks


def latched(depth: int) -> QoSProfile:
    """The last messages are kept for whoever joins later, a recorder above all."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL,
    )


LATCHED = latched(1)
"""The last message is kept: bounds, robot descriptions."""


def stream(reliability: str, depth: int) -> QoSProfile:
    """A stream of which no sample should be lost.

    Args:
        reliability: "reliable" (hears reliable publishers only) or "best_effort" (hears both kinds, holds none up).
        depth: messages kept until they are taken.
    """
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliability == "reliable" else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.VOLATILE,
    )
