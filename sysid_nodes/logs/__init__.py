# SPDX-License-Identifier: Apache-2.0
"""Recorded logs: reading and writing rosbag2."""

from sysid_nodes.logs.reader import TopicLog, read_joint_states, read_messages, read_topics
from sysid_nodes.logs.writer import BagWriter, stamp_fields

__all__ = [
    "BagWriter",
    "TopicLog",
    "read_joint_states",
    "read_messages",
    "read_topics",
    "stamp_fields",
]
