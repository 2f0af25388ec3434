# SPDX-License-Identifier: Apache-2.0
"""Reads the commands of a position controller: JointTrajectory or JointState messages of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.reader import JOINT_STATE, TopicLog, read_topics

Array = npt.NDArray[np.float64]

JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"


class RawSetPoints(NamedTuple):
    """Set-points as recorded: any joint order, nothing checked but their shapes.

    Attributes:
        begin: when they were to begin: the header's stamp, or when they were recorded where it has none [s].
        stamped: whether the header had a stamp.
        names: k joint names.
        t: (p,) times of the points, on the clock of ``begin`` [s].
        q: (p, k) positions [rad or m].
        qd: (p, k) velocities; None where points have none.
    """

    begin: float
    stamped: bool
    names: tuple[str, ...]
    t: Array
    q: Array
    qd: Array | None


def read_set_points(path: str | Path, topic: str) -> TopicLog[RawSetPoints]:
    """The commands of a recording, in the order they were recorded.

    Raises:
        LogError: see `TopicLog`; the topic is of neither type. While iterating: points lack positions.
    """
    kind = next((found.type for found in read_topics(path) if found.name == topic), JOINT_TRAJECTORY)
    convert = _joint_state if kind == JOINT_STATE else _trajectory
    return TopicLog(path, topic, kind if kind == JOINT_STATE else JOINT_TRAJECTORY, convert)


def _begin(log_time: int, message: Any) -> tuple[float, bool]:
    stamp = message.header.stamp
    stamped = bool(stamp.sec or stamp.nanosec)
    return (stamp.sec + 1e-9 * stamp.nanosec if stamped else 1e-9 * log_time), stamped


def _joint_state(log_time: int, message: Any) -> RawSetPoints:
    begin, stamped = _begin(log_time, message)
    names = tuple(message.name)
    if len(message.position) != len(names):
        raise LogError(f"a commanded joint state has {len(message.position)} positions for {len(names)} joints")
    velocity = message.velocity[None] if len(message.velocity) == len(names) else None
    return RawSetPoints(begin, stamped, names, np.array([begin]), message.position[None], velocity)


def _trajectory(log_time: int, message: Any) -> RawSetPoints:
    begin, stamped = _begin(log_time, message)
    names, points = tuple(message.joint_names), message.points
    if any(len(point.positions) != len(names) for point in points):
        raise LogError(f"a trajectory has points without a position for each of its {len(names)} joints")
    t = np.array([begin + p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points])
    q = np.array([p.positions for p in points]).reshape(len(points), len(names))
    moving = bool(points) and all(len(p.velocities) == len(names) for p in points)
    qd = np.array([p.velocities for p in points]) if moving else None
    return RawSetPoints(begin, stamped, names, t, q, qd)
