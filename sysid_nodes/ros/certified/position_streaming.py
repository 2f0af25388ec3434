# SPDX-License-Identifier: Apache-2.0
"""Certified trajectories for a position controller: as JointTrajectory messages, and what becomes of them.

A message holds the whole trajectory, braking and rest included: whoever stops sending leaves the robot on a certified
way to rest. joint_trajectory_controller forgets what it follows as soon as a message arrives, and would go to a first
point that is still to come in its own way; so a message begins a little in the past, with the trajectory in execution,
and goes over into the new one where that takes over. Points carry accelerations: the quintics between them are the
certified motion itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_nodes.data.nanoseconds import SECOND
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots.robot import Array
from sysid_nodes.ros.certified.controller_conversions import numbers, to_time
from sysid_nodes.sessions.certified.state import Planned, Seen
from sysid_nodes.sessions.certified.streaming_config import StreamingConfig
from sysid_nodes.systems.certified.certificate.tracked import KnownErrors
from sysid_nodes.systems.certified.control.output import Mode

_PAST = 50_000_000
"""How far before its publication a message begins [ns]."""


@dataclass(frozen=True, eq=False)
class Sent:
    """A trajectory that the controller has.

    Attributes:
        id, scene_id: of its record.
        start_ns: when it takes over [ns].
    """

    id: str
    scene_id: str
    start_ns: int
    plan: Bezier

    def after(self, stamp: int) -> float:
        """Time into it, at least 0 [s]."""
        return max(0.0, 1e-9 * (stamp - self.start_ns))


class PositionStream:
    """Knows which trajectory is followed, and watches that it is.

    Args:
        names: joints in order.
        wraps: (n,) joints whose positions come wrapped to one turn.
        errors: certified tracking errors.
        position_noise, velocity_noise: (n,) errors of the sensors, which may add to them [rad, rad/s].

    Attributes:
        reason: why nothing more is sent; NONE: nothing is wrong.
        usage: largest share of the allowed errors so far [1].
        worst_position, worst_velocity: (n,) largest measured errors so far [rad, rad/s].
    """

    def __init__(
        self,
        names: tuple[str, ...],
        wraps: npt.NDArray[np.bool_],
        errors: KnownErrors,
        position_noise: Array,
        velocity_noise: Array,
        config: StreamingConfig,
    ) -> None:
        self._names, self._wraps, self._config = names, wraps, config
        self._position, self._velocity = errors.position + position_noise, errors.velocity + velocity_noise
        self.usage = 0.0
        self.worst_position, self.worst_velocity = np.zeros(len(names)), np.zeros(len(names))
        self.reset()

    def reset(self) -> None:
        """Forgets all that was sent."""
        self.reason = StopReason.NONE
        self._current: Sent | None = None
        self._next: Sent | None = None
        self._refused, self._why = "", ""
        self._stamp = 0
        self._q, self._qd = np.full((2, len(self._names)), np.nan)
        self._other_scene: int | None = None

    def execution_state(self) -> Seen:
        """The state of execution, as the planner is told."""
        current = self._current
        if self.reason:
            return Seen(Mode.STOPPED, "" if current is None else current.id, self._refused, self._why)
        if current is None:
            return Seen(Mode.IDLE, "", self._refused, self._why)
        moving = current.after(self._stamp) < current.plan.duration
        return Seen(Mode.TRACKING if moving else Mode.HOLDING, current.id, self._refused, self._why)

    def offer(self, planned: Planned, now: int) -> JointTrajectory | None:
        """The message to publish; None where the trajectory must not be sent any more: it is late or goes on from
        another one than that in execution.

        Args:
            planned: certified, with previous_id of what it takes over from.
            now: stamp of the present [ns].
        """
        record, soon = planned.record, now + round(self._config.lead * SECOND)
        # A trajectory sent before that has not begun is replaced, unless it may have begun before this arrives.
        begins = self._next is not None and self._next.start_ns <= soon
        current = self._next if begins else self._current
        reason = self.reason
        if not reason and record.start_ns < soon:
            reason = StopReason.TRAJECTORY_LATE
        if not reason and not self._continues(planned.plan, record.previous_id, current, soon):
            reason = StopReason.TRAJECTORY_NOT_CONTINUOUS
        if reason:
            self._refused, self._why = record.id, reason.message
            return None
        sent = Sent(record.id, record.scene_id, record.start_ns, planned.plan)
        self._next = sent
        before = current if record.previous_id else None
        return joint_trajectory(self._names, before, sent, now - _PAST, self._config.spacing)

    def joints(self, stamp: int, q: Array, qd: Array, scene_id: str | None) -> StopReason:
        """Takes a joint state; a reason to ask for a stop, once.

        Args:
            stamp: of it [ns].
            q, qd: (n,) measured [rad, rad/s].
            scene_id: of the present obstacles; None where they are unusable.
        """
        if stamp <= self._stamp:
            return StopReason.NONE
        self._stamp, self._q, self._qd = stamp, q, qd
        if self._next is not None and stamp >= self._next.start_ns:
            self._current, self._next = self._next, None
        current = self._current
        if current is None or self.reason:
            return StopReason.NONE
        if not (np.isfinite(q).all() and np.isfinite(qd).all()):
            self.reason = StopReason.JOINT_STATES_INVALID
        elif not self._follows(current, stamp, q, qd):
            self.reason = StopReason.TRACKING_ERROR
        elif self._is_outdated(current, stamp, scene_id):
            self.reason = StopReason.SCENE_CHANGED
        return self.reason

    def silent(self) -> None:
        """No joint states have come for too long: the robot follows what it has, to its rest."""
        if not self.reason and self._current is not None:
            self.reason = StopReason.JOINT_STATES_LOST

    def stop(self, reason: StopReason) -> None:
        """The robot has been stopped by something else."""
        if not self.reason:
            self.reason = reason

    def _continues(self, plan: Bezier, previous_id: str, current: Sent | None, soon: int) -> bool:
        """Whether a plan goes on from the trajectory in execution, or from where the robot rests."""
        if previous_id:
            return current is not None and previous_id == current.id
        if current is not None and current.after(soon) < current.plan.duration:
            return False
        shares = _share(self._error(plan.q0, self._q), self._position), _share(np.abs(self._qd), self._velocity)
        return shares[0] <= 1.0 and shares[1] <= 1.0  # never so before a joint state has come: no number compares

    def _error(self, desired: Array, q: Array) -> Array:
        error = desired - q
        return np.abs(np.where(self._wraps, error - 2.0 * np.pi * np.round(error / (2.0 * np.pi)), error))

    def _follows(self, current: Sent, stamp: int, q: Array, qd: Array) -> bool:
        desired = current.plan(min(current.after(stamp), current.plan.duration))
        error = self._error(desired.q, q)
        rate = np.abs(desired.qd - qd)
        np.maximum(self.worst_position, error, out=self.worst_position)
        np.maximum(self.worst_velocity, rate, out=self.worst_velocity)
        share = max(_share(error, self._position), _share(rate, self._velocity))
        self.usage = max(self.usage, share)
        return share <= 1.0

    def _is_outdated(self, current: Sent, stamp: int, scene_id: str | None) -> bool:
        """Whether the robot has moved for too long on a way that is not certified among the present obstacles."""
        moving = current.after(stamp) < current.plan.duration
        if scene_id is None or scene_id == current.scene_id or not moving:
            self._other_scene = None
            return False
        if self._other_scene is None:
            self._other_scene = stamp
        return stamp - self._other_scene > round(self._config.scene_grace * SECOND)


def _share(error: Array, allowed: Array) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(error == 0.0, 0.0, error / allowed)
    return float(share.max())


def joint_trajectory(
    names: tuple[str, ...], before: Sent | None, sent: Sent, begin: int, spacing: float
) -> JointTrajectory:
    """The message of a trajectory, to its rest.

    Args:
        names: joints in order.
        before: what is followed until it takes over; None where the robot rests at its beginning.
        begin: stamp of the message where there is a trajectory before [ns].
        spacing: of the points [s].
    """
    step = max(round(spacing * SECOND), 1)
    begin = max(min(begin, sent.start_ns), 0) if before is not None else sent.start_ns
    length = round(sent.plan.duration * SECOND)
    # Always from the beginning on, however short the way to the takeover.
    earlier = list(range(begin, sent.start_ns - step // 2, step)) or [begin] * (begin < sent.start_ns)
    stamps = [*earlier, *range(sent.start_ns, sent.start_ns + length, step)]
    if sent.start_ns + length - stamps[-1] < step // 2:
        stamps.pop()
    stamps.append(sent.start_ns + length)
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = to_time(begin)
    for stamp in stamps:
        source = before if before is not None and stamp < sent.start_ns else sent
        last = stamp == stamps[-1]
        state = source.plan(source.plan.duration if last else min(source.after(stamp), source.plan.duration))
        sec, nanosec = divmod(stamp - begin, SECOND)
        point = JointTrajectoryPoint(time_from_start=Duration(sec=sec, nanosec=nanosec))
        point.positions, point.velocities, point.accelerations = (numbers(x) for x in state)
        message.points.append(point)
    return message
