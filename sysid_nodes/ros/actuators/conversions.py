# SPDX-License-Identifier: Apache-2.0
"""Commands out of ROS messages, with the very numbers that a recording of them gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.logs.command_reader import RawSetPoints, from_low_command
from sysid_nodes.messages.unitree.low_state_reader import LowStateReader
from sysid_nodes.ros.conversions import to_seconds
from sysid_nodes.sessions.actuators.session import ActuatorSession, ActuatorUpdate


def from_joint_state(message: JointState) -> RawSetPoints:
    """A set-point for each joint named.

    Raises:
        SamplesError: there is not one position a joint.
    """
    names = tuple(message.name)
    if len(message.position) != len(names):
        raise SamplesError(f"a commanded joint state has {len(message.position)} positions for {len(names)} joints")
    begin = to_seconds(message.header.stamp)
    velocity = np.array([message.velocity], dtype=np.float64) if len(message.velocity) == len(names) else None
    position = np.array([message.position], dtype=np.float64)
    return RawSetPoints(begin, begin != 0.0, names, np.array([begin]), position, velocity)


def from_trajectory(message: JointTrajectory) -> RawSetPoints:
    """All points of a trajectory.

    Raises:
        SamplesError: a point has not one position a joint.
    """
    names, points = tuple(message.joint_names), message.points
    if any(len(point.positions) != len(names) for point in points):
        raise SamplesError(f"a trajectory has points without a position for each of its {len(names)} joints")
    begin = to_seconds(message.header.stamp)
    t = np.array([begin + p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points])
    q = np.array([p.positions for p in points], dtype=np.float64).reshape(len(points), len(names))
    moving = bool(points) and all(len(p.velocities) == len(names) for p in points)
    qd = np.array([p.velocities for p in points], dtype=np.float64) if moving else None
    return RawSetPoints(begin, begin != 0.0, names, t, q, qd)


Taker = Callable[[Any, float], ActuatorUpdate | None]
"""Takes a message without a stamp, and the time when it came [s]."""


def low_command_taker(session: ActuatorSession) -> Taker:
    """Of Unitree's LowCmd, which counts from when it came."""
    motors = session.robot.motor_order
    return lambda message, arrival: session.take_command(from_low_command(message, motors, arrival))


def low_state_taker(session: ActuatorSession) -> Taker:
    """Of Unitree's LowState, whose counter tells when it was sent."""
    read = LowStateReader(session.robot)
    return lambda message, arrival: session.take_state(read(message, arrival).joint_state())


COMMANDS: dict[str, tuple[Any, Callable[[Any], RawSetPoints]]] = {
    "joint_state": (JointState, from_joint_state),
    "trajectory": (JointTrajectory, from_trajectory),
}
"""Type of message and its conversion, by the option `command_type`."""
