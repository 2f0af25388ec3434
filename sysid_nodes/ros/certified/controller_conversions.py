# SPDX-License-Identifier: Apache-2.0
"""Messages of the control loop. What is made a thousand times a second reuses its message."""

from __future__ import annotations

from array import array

import numpy as np
from builtin_interfaces.msg import Time
from online_sysid.msg import ControllerStatus, StopRequest, TorqueCommand
from sensor_msgs.msg import JointState

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.data.nanoseconds import SECOND
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots.robot import Array
from sysid_nodes.sessions.certified.state import Seen
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode


def nanoseconds(stamp: Time) -> int:
    """Stamp in whole nanoseconds."""
    return int(stamp.sec) * SECOND + int(stamp.nanosec)


def to_time(stamp: int) -> Time:
    """Whole nanoseconds, not negative, as a stamp."""
    sec, nanosec = divmod(stamp, SECOND)
    return Time(sec=sec, nanosec=nanosec)


def numbers(values: Array) -> array[float]:
    """A message's float64[], in one copy."""
    return array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


class JointStateWriter:
    """Writes readings into one message."""

    def __init__(self) -> None:
        self._message = JointState()
        self._names: tuple[str, ...] = ()

    def write(self, reading: RawJointState, stamp: int) -> JointState:
        """The message, valid until the next call.

        Args:
            reading: what the sensors say.
            stamp: of it [ns]; its own may be on another clock.
        """
        message = self._message
        if reading.names is not self._names:
            self._names, message.name = reading.names, list(reading.names)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, SECOND)
        message.position = numbers(reading.position)
        message.velocity = numbers(reading.velocity)
        message.effort = numbers(reading.effort)
        return message


class TorqueWriter:
    """Writes torque commands for joints of given names into one message."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._message = TorqueCommand(joint_names=list(names))

    def write(self, torque: Array, stamp: Time) -> TorqueCommand:
        """The message, valid until the next call.

        Args:
            torque: (n,) [N m].
            stamp: of the joint state it was computed from.
        """
        self._message.header.stamp = stamp
        self._message.torque = numbers(torque)
        return self._message


def stop_request(reason: StopReason, stamp: Time | None = None) -> StopRequest:
    """Asks for the robot's own stop.

    Args:
        reason: why.
        stamp: of the joint state that showed it, where there is one.
    """
    message = StopRequest(reason=int(reason), text=reason.message)
    if stamp is not None:
        message.header.stamp = stamp
    return message


def to_controller_status(
    output: ControllerOutput,
    names: tuple[str, ...],
    torque: Array,
    limit: Array,
    *,
    period: float,
    age: float,
    age_watched: bool,
    start_rate: float,
) -> ControllerStatus:
    """A controller's status message, from its last answer.

    Args:
        output: the answer.
        torque: (n,) last command, or empty [N m].
        limit: (n,) torque limits [N m].
        period: longest time between two commands since the last status [s].
        age: largest age of a joint state when its command was sent since then [s].
        age_watched: whether that counts from when the joint state was true.
        start_rate: as of the controller.
    """
    message = ControllerStatus(
        mode=int(output.mode),
        reason=int(output.reason),
        text=output.text,
        trajectory_id=output.trajectory_id,
        trajectory_time=output.trajectory_time,
        refused_id=output.refused_id,
        refused_reason=int(output.refused_reason),
        refused_text=output.refused_text,
        period=period,
        age=age,
        age_watched=age_watched,
        start_rate=start_rate,
    )
    if np.isfinite(output.stamp) and output.stamp >= 0.0:
        message.header.stamp = to_time(round(output.stamp * SECOND))
    tracking = output.tracking
    if tracking is not None:
        message.joint_names = list(names)
        message.desired_position = numbers(tracking.desired)
        message.position_error = numbers(tracking.position_error)
        message.position_bound = numbers(tracking.position_bound)
        message.reference_error = numbers(tracking.reference_error)
        message.reference_bound = numbers(tracking.reference_bound)
        message.torque = numbers(torque)
        message.torque_limit = numbers(limit)
    return message


def to_seen(message: ControllerStatus) -> Seen:
    """A controller's status, as a planner sees it."""
    return Seen(Mode(message.mode), message.trajectory_id, message.refused_id, message.refused_text, message.start_rate)
