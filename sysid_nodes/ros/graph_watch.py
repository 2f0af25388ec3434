# SPDX-License-Identifier: Apache-2.0
"""Faults around a node that ROS itself says nothing of: other types, no clock, a namesake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rclpy.node import Node

from sysid_nodes.ros.conversions import type_name

# Looks in a row. Names come after topics, and never from a program without ROS; a namesake that was killed stays in the
# graph until its lease has run out, 20 s by default on Fast DDS.
_AT_ONCE, _AFTER_NAMES, _AFTER_LEASE = 1, 2, 6
_NO_NAME = "_NODE_NAME_UNKNOWN_"


class GraphWatch:
    """Says each fault once, and again where it had been gone.

    Args:
        node: about whose surroundings it is.
    """

    PERIOD = 5.0
    """Between two looks [s]."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._seen: Counter[str] = Counter()

    def look(self, streams: Sequence[Any]) -> tuple[str, ...]:
        """Faults that are new, a sentence each.

        Args:
            streams: the node's subscriptions.
        """
        looks = dict(self._faults(streams))
        self._seen = Counter({fault: self._seen[fault] + 1 for fault in looks})
        return tuple(fault for fault, needed in looks.items() if self._seen[fault] == needed)

    def _faults(self, streams: Sequence[Any]) -> Iterator[tuple[str, int]]:
        """Sentences, and in how many looks in a row each must be true."""
        node = self._node
        for stream in streams:
            topic, wanted = stream.topic_name, type_name(stream.msg_type)
            for other in node.get_publishers_info_by_topic(topic):
                if other.topic_type != wanted:
                    known = other.node_name != _NO_NAME
                    who = f"'{other.node_name}'" if known else "somebody"
                    yield (
                        f"{who} publishes '{topic}' as {other.topic_type}, which is not received: "
                        f"this node subscribes to {wanted}",
                        _AT_ONCE if known else _AFTER_NAMES,
                    )
        if node.get_parameter("use_sim_time").value and not node.count_publishers("/clock"):
            yield "use_sim_time is set, but nobody publishes /clock: timers do not run", _AT_ONCE
        own = (node.get_name(), node.get_namespace())
        if node.get_node_names_and_namespaces().count(own) > 1:
            name = node.get_fully_qualified_name()
            yield f"another node is called '{name}': they share services and topics; rename one", _AFTER_LEASE
