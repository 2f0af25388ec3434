# SPDX-License-Identifier: Apache-2.0
"""Reads one topic of a rosbag2 recording (MCAP or sqlite3); an unusable log gives one clear line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.messages import typestore_for
from sysid_nodes.logs.storage import Topic, absolute, open_storage

Array = npt.NDArray[np.float64]
T = TypeVar("T")

JOINT_STATE = "sensor_msgs/msg/JointState"

_TOPICS_LISTED = 12


class TopicLog(Generic[T]):
    """The messages of one topic; may be iterated again and again, `len` is known beforehand.

    Args:
        path: rosbag2 folder, or a single .mcap or .db3 file.
        topic: topic name; a relative one is meant below the root.
        type_name: message type the topic must have, `package/msg/Name`.
        convert: makes an item of a log time [ns] and a decoded message.

    Attributes:
        topic: name, type and number of messages.
        topics: all topics of the recording.

    Raises:
        LogError: the recording is missing, damaged or empty, or the topic is missing, empty, of another type or
            of an unknown type. While iterating: the recording turns out to be damaged further in.
    """

    def __init__(self, path: str | Path, topic: str, type_name: str, convert: Callable[[int, Any], T]) -> None:
        self.path = Path(path)
        self._storage = open_storage(self.path)
        self.topics = self._storage.topics()
        self.topic = _find(self.topics, absolute(topic), type_name, str(path))
        self._store = typestore_for(self.topic, str(path))
        self._convert = convert

    def __len__(self) -> int:
        return self.topic.count

    def __iter__(self) -> Iterator[T]:
        decode, type_name, convert = self._store.deserialize_cdr, self.topic.type, self._convert
        index = -1
        for index, (stamp, data) in enumerate(self._storage.messages(self.topic.name)):
            try:
                message = decode(data, type_name)
            except Exception:  # the decoder's errors on damaged bytes are many and say nothing to a user
                line = f"message {index} of topic '{self.topic.name}' is damaged"
                raise LogError(line, source=str(self.path)) from None
            yield convert(stamp, message)
        if index + 1 < len(self):
            line = f"truncated: topic '{self.topic.name}' has {index + 1} of the {len(self)} messages promised"
            raise LogError(line, source=str(self.path))


def read_joint_states(path: str | Path, topic: str = "/joint_states") -> TopicLog[RawJointState]:
    """The joint states of a recording, in the order they were recorded.

    Raises:
        LogError: see `TopicLog`.
    """
    return TopicLog(path, topic, JOINT_STATE, _joint_state)


def read_messages(path: str | Path, topic: str, type_name: str) -> TopicLog[tuple[int, Any]]:
    """Log time [ns] and message of any topic; a message has its fields as attributes, arrays as NumPy arrays.

    Raises:
        LogError: see `TopicLog`.
    """
    return TopicLog(path, topic, type_name, lambda stamp, message: (stamp, message))


def read_topics(path: str | Path) -> tuple[Topic, ...]:
    """All topics of a recording.

    Raises:
        LogError: the path is missing, is not a rosbag2 recording or is damaged.
    """
    return open_storage(Path(path)).topics()


def _joint_state(_: int, message: Any) -> RawJointState:
    stamp = message.header.stamp
    return RawJointState(
        stamp.sec + 1e-9 * stamp.nanosec,
        tuple(message.name),
        message.position,
        message.velocity,
        message.effort,
    )


def _find(topics: tuple[Topic, ...], name: str, type_name: str, source: str) -> Topic:
    if not any(topic.count for topic in topics):
        raise LogError("the bag is empty: it holds no messages", source=source)
    found = next((topic for topic in topics if topic.name == name), None)
    if found is None:
        listed = [f"{topic.name} ({topic.type})" for topic in topics[:_TOPICS_LISTED]]
        more = f" and {len(topics) - _TOPICS_LISTED} more" if len(topics) > _TOPICS_LISTED else ""
        raise LogError(f"has no topic '{name}'; it has {', '.join(listed)}{more}", source=source)
    if found.type != type_name:
        raise LogError(f"topic '{name}' is of type {found.type}, expected {type_name}", source=source)
    if not found.count:
        raise LogError(f"topic '{name}' has no messages", source=source)
    return found
