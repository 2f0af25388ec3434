# SPDX-License-Identifier: Apache-2.0
"""A recording's messages in the order and at the pace in which they were recorded."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.storage import Topic, absolute, open_storage


@dataclass(frozen=True)
class BagPlayerConfig:
    """A recording, its topics, and who saves what it tells."""

    bag: str = option("", "recording: a rosbag2 folder, or a file")
    topics: str = option("/joint_states", "topics to play, with commas between; the first has to be in the recording")
    rate: float = option(1.0, "times faster than recorded", unit="1", minimum=0.01, maximum=100.0)
    identifier: str = option("interval_identifier", "node that saves what it found when the recording is over")
    save: str = option("", "where to, see Save.srv; empty: nothing is saved")
    patience: float = option(60.0, "longest wait for listeners, and for the result", unit="s", minimum=1.0)


class Played(NamedTuple):
    """One message.

    Attributes:
        t: log time [ns].
        topic: full name.
        data: as it went over the wire, in CDR.
    """

    t: int
    topic: str
    data: bytes


class Playback:
    """Messages of some topics of a recording.

    Args:
        names: of the topics; the first must be there, others are left out where they are not.

    Attributes:
        topics: those that are there and have messages.

    Raises:
        LogError: the recording cannot be read, or lacks the first topic.
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._storage = open_storage(path)
        there = {topic.name: topic for topic in self._storage.topics() if topic.count}
        wanted = [absolute(name.strip()) for name in names]
        if wanted[0] not in there:
            found = ", ".join(there) or "no messages"
            raise LogError(f"has no messages on '{wanted[0]}'; it has {found}", source=str(path))
        self.topics: tuple[Topic, ...] = tuple(there[name] for name in dict.fromkeys(wanted) if name in there)

    def __iter__(self) -> Iterator[Played]:
        return heapq.merge(*map(self._messages, self.topics), key=lambda message: message.t)

    def _messages(self, topic: Topic) -> Iterator[Played]:
        return (Played(t, topic.name, data) for t, data in self._storage.messages(topic.name))
