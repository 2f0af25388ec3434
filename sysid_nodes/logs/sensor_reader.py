# SPDX-License-Identifier: Apache-2.0
"""Reads the sensors of a recording: several topics in the order in which they were recorded."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from sysid_nodes.data.readings import Readings, Source
from sysid_nodes.logs.reader import TopicLog, read_topics
from sysid_nodes.logs.storage import absolute


class SensorLog:
    """All readings of a recording, in the order of their log times; may be iterated again and again.

    Args:
        path: rosbag2 folder, or a single .mcap or .db3 file.
        sources: what to read; the first must be there and name the joints.
        topics: names of topics by the names of their sources, where they are not the usual ones.

    Attributes:
        streams: names of the streams that the recording may have.
        missing: topics that the recording does not have, or has without messages.

    Raises:
        LogError: the recording is missing, damaged or empty, the first topic is missing, or a topic is of another type.
            While iterating: it turns out to be damaged further in.
    """

    def __init__(self, path: str | Path, sources: Sequence[Source], topics: Mapping[str, str] | None = None) -> None:
        given = topics or {}
        named = [(absolute(given.get(source.name) or source.topic), source) for source in sources]
        kinds = {topic.name: topic.type for topic in read_topics(path) if topic.count}
        found = [(topic, source) for topic, source in named if topic in kinds or source is sources[0]]
        self._logs = [_open(path, topic, source, kinds.get(topic, "")) for topic, source in found]
        self.missing = tuple(topic for topic, _ in named if topic not in kinds)
        self.streams = frozenset(stream for _, source in found for stream in source.streams)

    def joint_names(self, most: int) -> frozenset[tuple[str, ...]]:
        """Lists of names that the first joint states have, looking at no more than `most` of them."""
        return frozenset(readings.joints or () for _, readings in islice(self._logs[0], most))

    def __len__(self) -> int:
        return sum(map(len, self._logs))

    def __iter__(self) -> Iterator[Readings]:
        for _, readings in heapq.merge(*self._logs, key=lambda item: item[0]):
            yield readings


def _open(path: str | Path, topic: str, source: Source, kind: str) -> TopicLog[tuple[int, Readings]]:
    """The topic's log; of a type that the source does not have it is refused, by the name of one that it has."""
    kind = kind if kind in source.types else next(iter(source.types))
    read = source.types[kind]
    return TopicLog(path, topic, kind, lambda time, message: (time, read(message)))
