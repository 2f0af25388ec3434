# SPDX-License-Identifier: Apache-2.0
"""Markers that others recorded, as obstacles and certified trajectories: a result shows them with its own."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sysid_nodes.logs.storage import open_storage
from sysid_nodes.logs.writer import BagWriter
from sysid_nodes.messages.markers import ARRAY_TYPE


def copy_markers(source: Path, bag: BagWriter, own: Collection[str]) -> None:
    """Copies all topics of marker arrays, at their log times.

    Args:
        source: recording.
        bag: open writer.
        own: topics that are the result's own, which are left out.

    Raises:
        LogError: the recording is damaged.
    """
    storage = open_storage(source)
    for topic in storage.topics():
        if topic.type == ARRAY_TYPE and topic.count and topic.name not in own:
            bag.add_topic(topic.name, topic.type, latched=True)
            for stamp, data in storage.messages(topic.name):
                bag.write_serialized(topic.name, stamp, data)
