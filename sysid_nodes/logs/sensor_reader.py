"""Reads the streams of a legged robot from a recording: several topics in the order in which they were recorded."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.reader import JOINT_STATE, TopicLog, read_topics

Array = npt.NDArray[np.float64]

IMU, POSE = "sensor_msgs/msg/Imu", "geometry_msgs/msg/PoseStamped"
"""Message types."""

_ABSENT = -1.0  # first entry of a covariance whose quantity is not measured (sensor_msgs/Imu)


class RawImu(NamedTuple):
    """An IMU's reading as recorded, nothing checked.

    Attributes:
        stamp: the sensor's stamp of the header [s].
        orientation: (4,) x, y, z, w; None where the sensor gives none.
        gyro: (3,) angular velocity [rad/s].
        accelerometer: (3,) specific force [m/s2].
    """

    stamp: float
    orientation: Array | None
    gyro: Array
    accelerometer: Array


class RawPose(NamedTuple):
    """A motion capture pose as recorded, nothing checked.

    Attributes:
        stamp: the sensor's stamp of the header [s].
        position: (3,) [m].
        orientation: (4,) x, y, z, w.
    """

    stamp: float
    position: Array
    orientation: Array


RawReading = RawJointState | RawImu | RawPose


class SensorTopics(NamedTuple):
    """Names of the topics."""

    joints: str = "/joint_states"
    imu: str = "/imu/data"
    pose: str = "/mocap/pose"


class SensorLog:
    """All readings of a recording, in the order of their log times; may be iterated again and again.

    Args:
        path: rosbag2 folder, or a single .mcap or .db3 file.
        topics: names, by default the usual ones; joints must be there, and at least one of the others.

    Attributes:
        missing: topics that the recording does not have, or has without messages.

    Raises:
        LogError: the recording is missing, damaged or empty, or topics are missing or of another type. While
            iterating: it turns out to be damaged further in.
    """

    def __init__(self, path: str | Path, topics: SensorTopics | None = None) -> None:
        topics = topics or SensorTopics()
        self._logs: list[TopicLog[tuple[int, Any]]] = [TopicLog(path, topics.joints, JOINT_STATE, _joint_state)]
        filled = {topic.name for topic in read_topics(path) if topic.count}
        self.missing = tuple(name for name in topics if name not in filled)
        if topics.imu in filled:
            self._logs.append(TopicLog(path, topics.imu, IMU, _imu))
        if topics.pose in filled:
            self._logs.append(TopicLog(path, topics.pose, POSE, _pose))
        if len(self._logs) == 1:
            line = f"has neither '{topics.imu}' nor '{topics.pose}': nothing tells how the base moves"
            raise LogError(line, source=str(path))

    def joint_names(self, most: int) -> frozenset[tuple[str, ...]]:
        """Lists of names that the first joint states have, looking at no more than `most` of them."""
        return frozenset(reading.names for _, reading in islice(self._logs[0], most))

    def __len__(self) -> int:
        return sum(map(len, self._logs))

    def __iter__(self) -> Iterator[RawReading]:
        for _, reading in heapq.merge(*self._logs, key=lambda item: item[0]):
            yield reading


def _stamp(message: Any) -> float:
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def _joint_state(time: int, message: Any) -> tuple[int, RawJointState]:
    names = tuple(message.name)
    return time, RawJointState(_stamp(message), names, message.position, message.velocity, message.effort)


def _imu(time: int, message: Any) -> tuple[int, RawImu]:
    known = float(message.orientation_covariance[0]) != _ABSENT
    orientation = _numbers(message.orientation, "xyzw") if known else None
    gyro, specific = _numbers(message.angular_velocity, "xyz"), _numbers(message.linear_acceleration, "xyz")
    return time, RawImu(_stamp(message), orientation, gyro, specific)


def _pose(time: int, message: Any) -> tuple[int, RawPose]:
    pose = message.pose
    return time, RawPose(_stamp(message), _numbers(pose.position, "xyz"), _numbers(pose.orientation, "xyzw"))


def _numbers(value: Any, names: str) -> Array:
    return np.array([getattr(value, name) for name in names], dtype=np.float64)
