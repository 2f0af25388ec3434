# SPDX-License-Identifier: Apache-2.0
"""Reads the commands of a position controller: JointTrajectory, JointState or Unitree's LowCmd of a recording.

LowCmd has no stamp and no names: it counts from when it was recorded, and its motors are in the vendor's order. It is
decoded by the definition that the recording carries; the vendor's packages are not needed.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.reader import JOINT_STATE, TopicLog, read_topics
from sysid_nodes.logs.storage import absolute

Array = npt.NDArray[np.float64]

JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
LOW_COMMANDS = ("unitree_go/msg/LowCmd", "unitree_hg/msg/LowCmd")


class RawSetPoints(NamedTuple):
    """Set-points as recorded: any joint order, nothing checked but their shapes.

    Attributes:
        begin: when they were to begin: the header's stamp, or when they were recorded where it has none [s].
        stamped: whether the header had a stamp.
        names: k joint names.
        t: (p,) times of the points, on the clock of ``begin`` [s].
        q: (p, k) positions [rad or m].
        qd: (p, k) velocities; None where points have none.
        torque: (p, k) torques that the drives are told besides [N m]; None where points have none.
        stiffness, damping: (k,) gains of the drives, where the command states them [N m/rad, N m s/rad].
    """

    begin: float
    stamped: bool
    names: tuple[str, ...]
    t: Array
    q: Array
    qd: Array | None
    torque: Array | None = None
    stiffness: Array | None = None
    damping: Array | None = None


def read_set_points(path: str | Path, topic: str, motors: tuple[str, ...] = ()) -> TopicLog[RawSetPoints]:
    """The commands of a recording, in the order they were recorded.

    Args:
        topic: of the commands.
        motors: joints in the order of the vendor's messages, for LowCmd.

    Raises:
        LogError: see `TopicLog`; the topic is of none of the types, or a LowCmd of a robot whose motors' order is not
            known. While iterating: points lack positions.
    """
    kind = next((found.type for found in read_topics(path) if found.name == absolute(topic)), JOINT_TRAJECTORY)
    if kind in LOW_COMMANDS:
        if not motors:
            raise LogError(f"topic '{topic}' is of {kind}; whose motors are these? Give --robot", source=str(path))
        return TopicLog(path, topic, kind, partial(_recorded_low_command, motors))
    convert = _joint_state if kind == JOINT_STATE else _trajectory
    return TopicLog(path, topic, kind if kind == JOINT_STATE else JOINT_TRAJECTORY, convert)


def _recorded_low_command(motors: tuple[str, ...], log_time: int, message: Any) -> RawSetPoints:
    return from_low_command(message, motors, 1e-9 * log_time)


def from_low_command(message: Any, motors: tuple[str, ...], arrival: float) -> RawSetPoints:
    """The set-points of a LowCmd.

    Args:
        message: unitree_go or unitree_hg LowCmd, or anything with its fields.
        motors: joints in the vendor's order.
        arrival: when it came [s].

    Raises:
        LogError: fewer motors than the robot has, or ankles and waist in motor coordinates.
    """
    if len(message.motor_cmd) < len(motors):
        raise LogError(f"a LowCmd has {len(message.motor_cmd)} motors, the robot {len(motors)}")
    if getattr(message, "mode_pr", 0):
        raise LogError("LowCmd has ankles and waist in motor coordinates (mode_pr = 1)")
    told = [message.motor_cmd[k] for k in range(len(motors))]
    q, qd, torque, stiffness, damping = (
        np.array([getattr(motor, name) for motor in told], dtype=np.float64) for name in ("q", "dq", "tau", "kp", "kd")
    )
    at = np.array([arrival])
    return RawSetPoints(arrival, True, motors, at, q[None], qd[None], torque[None], stiffness, damping)


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
