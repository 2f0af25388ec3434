# SPDX-License-Identifier: Apache-2.0
"""The runtime of the robust law: executes certified trajectories only, and watches that what they assume holds.

    joint state -> watch -> take over when due -> law -> errors within what is proven? -> torque

While feedback is sound the certified end of the trajectory in execution is the way to rest: it is followed when no
other arrives, when the bounds are taken back or the obstacles become unknown (BRAKING, then HOLDING). Where feedback or
a proven error fails, there is nothing left to follow, and the robot's own stop is called for (STOPPED, until a reset).

Nothing here knows of ROS, files or wall time; the same calls give the same numbers. All times are those of the joint
states' stamps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import SysidError
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.robust_control import STAMP_ROUNDING, RobustControlConfig
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.results.identification import Status
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.systems.certified.control.acceptance import Identity, agrees, as_proven, inspect
from sysid_nodes.systems.certified.control.commitment import Commitment
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.departure import Departure
from sysid_nodes.systems.certified.control.execution import Context, Execution
from sysid_nodes.systems.certified.control.in_force import InForce, accepted_statuses
from sysid_nodes.systems.certified.control.joint_watch import JointWatch, Seen, timely
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode, Tracking

_SAME_TIME = 0.5 * STAMP_ROUNDING


class RobustController:
    """One robot's controller.

    Args:
        robot: nominal robot with a fixed base.
        known: what is known of it apart from the identified body.
        control: the law, as it enters the certificates.
        config: what is watched.
        prior: bounds in force until others arrive.
        config_id: models.config_digest of the configuration above and of the certifier's.
        scene_id: of the obstacles in force at the start.
        rest_speed: largest joint speed the certifier takes for rest [rad/s].
        rest_distance: how far from a first trajectory's start it lets a robot rest, measurement's error apart [rad].
        takeover: time into a trajectory after which a successor is missing, by its duration [s].
        body, target: what bounds are of; an empty body is the robot's default.
        estimates: whether bounds count that are not proven.

    Raises:
        ConfigError, RobotError: gains, body and robot do not fit together.
    """

    def __init__(
        self,
        robot: Robot,
        known: KnownRobotConfig,
        control: RobustControlConfig,
        config: ControllerConfig,
        *,
        prior: Bounds,
        config_id: str,
        scene_id: str,
        rest_speed: float,
        rest_distance: float = 0.0,
        takeover: Callable[[float], float] = lambda _duration: 1.5,
        body: str = "",
        target: str = "body",
        estimates: bool = False,
    ) -> None:
        self._context = Context(robot, known, control, robot.body_index(body), target)
        self._identity = Identity(robot.joint_names, config_id, body or robot.body, target)
        self._config = config
        self._limit = robot.limits.torque
        self._departure = Departure(robot, control, rest_speed, rest_distance)
        self._watch = JointWatch(robot, control, config)
        self._in_force = InForce(self._identity, prior, scene_id, accepted_statuses(estimates))
        self._committed = Commitment(self._in_force, config, takeover)
        self.reset()

    def reset(self) -> None:
        """Back to IDLE, where the robot has to hold itself; bounds and obstacles stay in force."""
        self._committed.reset()
        self._watch.reset()
        self._turns = np.zeros(self._limit.size)

    @property
    def mode(self) -> Mode:
        """State of its charge of the robot."""
        return self._committed.mode

    @property
    def reason(self) -> StopReason:
        """Reason that it is not tracking, or what is amiss while it is."""
        return self._committed.reason

    @property
    def trajectory(self) -> TrajectoryRecord | None:
        """The trajectory being executed."""
        return None if self._committed.active is None else self._committed.active.record

    @property
    def pending(self) -> TrajectoryRecord | None:
        """The trajectory that is accepted and has not started yet."""
        return None if self._committed.waiting is None else self._committed.waiting.record

    @property
    def start_rate(self) -> float:
        """Bound on |dr/dt| in the norm of M that a start from rest has to count on.

        0 where the robot holds itself; infinite where what holds it has lost its proof.
        """
        return self._committed.start_rate

    def consider(self, record: TrajectoryRecord) -> StopReason:
        """NONE where only a proof of one's own could still speak against a trajectory; otherwise it is refused."""
        refused = inspect(record, self._identity) or self._fits(record)
        if refused:
            self.refuse(record, refused)
        return refused

    def refuse(self, record: TrajectoryRecord, reason: StopReason) -> None:
        """Takes note of a refusal, to be told of."""
        self._committed.refused = (record.id, reason)

    def offer(self, record: TrajectoryRecord, own: Certificate | None = None) -> StopReason:
        """Accepts a trajectory for its start, in place of one accepted before, or refuses it.

        Args:
            record: what was sent.
            own: the controller's own proof of it; where the configuration asks for one, nothing goes without, and its
                numbers are executed.

        Returns:
            NONE, or why it is refused; what is being executed goes on either way.
        """
        refused = inspect(record, self._identity)
        if not refused and self._config.recertify:
            if own is None or not agrees(record, own):
                refused = StopReason.TRAJECTORY_NOT_CERTIFIED
            else:
                record = as_proven(record, own)
        execution = None
        if not refused:
            try:
                execution = Execution(record, self._context)
            except SysidError:
                refused = StopReason.TRAJECTORY_INVALID
        refused = refused or self._fits(record)
        if refused:
            self.refuse(record, refused)
        else:
            self._committed.waiting = execution
        return refused

    def bounds(self, lower: Array, upper: Array, status: Status, *, body: str = "", target: str = "") -> StopReason:
        """Takes bounds from an identifier, which are in force from now on unless they are unusable.

        Those that arrived last count, whatever their window: an identifier that was restarted counts from 0 again.

        Args:
            lower, upper: (10,).
            status: what they are worth; only proven ones count, unless estimates do.
            body, target: what they are of; empty ones are not compared.

        Returns:
            NONE, or why the trajectory in execution has lost its proof and is followed to its end.
        """
        return self._committed.take_bounds(lower, upper, status, body, target, self._watch.last.t)

    def scene(self, scene_id: str | None) -> None:
        """Takes note of other obstacles; None: what arrived was unusable, and nothing is known of them any more.

        A trajectory certified among them has to take over within the configured grace, or the robot is stopped.
        """
        self._committed.take_scene(scene_id, self._watch.last.t)

    def brake(self, reason: StopReason = StopReason.REQUESTED) -> None:
        """Follows the certified end of the trajectory in execution, and refuses all others until a reset."""
        self._committed.brake(reason)

    def stop(self, reason: StopReason) -> ControllerOutput:
        """Calls for the robot's own stop; nothing is commanded until a reset."""
        return self._output(stop=reason if self._committed.stop(reason) else None)

    def note_sent(self, latency: float) -> ControllerOutput | None:
        """To be called when a command was sent: the stop where it took too long; else None.

        Args:
            latency: from the moment its joint state was true [s].
        """
        if not self.mode.commands or timely(latency, self._context.control, self._config):
            return None
        return self.stop(StopReason.COMMAND_LATE)

    def check(self, now: float) -> ControllerOutput | None:
        """To be called now and then: the stop where joint states have ceased while torques were commanded; else None.

        Args:
            now: as for `step`.
        """
        if not self.mode.commands or not (silent := self._watch.silent(now)):
            return None
        return self.stop(silent)

    def step(self, reading: RawJointState, now: float, age: float | None = None) -> ControllerOutput:
        """Answers a joint state.

        Args:
            reading: as it arrived.
            now: any clock that does not run backwards [s].
            age: time now less the stamp, both on the stamps' clock [s]; None where that clock cannot be read.
        """
        seen = self._watch.push(reading, now, age)
        if self.mode is Mode.STOPPED:
            if self.reason is StopReason.JOINT_STATES_INTERMITTENT:
                self._committed.reason = self._watch.rhythm()
            return self._output()
        if self.mode is Mode.IDLE:
            return self._start(seen)
        if not seen.fault and not seen.fresh:
            seen = seen._replace(fault=self._watch.silent(now))
        if seen.fault:
            return self.stop(seen.fault)
        if not seen.fresh:
            return self._output()
        self._take_over(seen)
        return self._control(seen)

    def _start(self, seen: Seen) -> ControllerOutput:
        """IDLE: nothing is commanded until an accepted trajectory is due and the robot rests where it starts."""
        self._committed.reason = seen.fault or self._watch.recent(seen.t) or self._in_force.block_reason()
        if not seen.fresh or seen.fault or (waiting := self.pending) is None or seen.t < waiting.start:
            return self._output()
        if (fault := self._watch.check_settled(seen.t)) != StopReason.NONE:
            self._committed.drop(fault)
            return self._output()
        self._take_over(seen)
        return self._output() if self.trajectory is None else self._control(seen)

    def _take_over(self, seen: Seen) -> None:
        """Switches to the accepted trajectory once it is due."""
        record = self.pending
        if record is None or seen.t < record.start:
            return
        if seen.t - record.start > self._context.control.period + _SAME_TIME:
            self._committed.drop(StopReason.TRAJECTORY_LATE)
            return
        if not record.previous_id:
            turns = self._departure.turns(record, seen)
            if turns is None:
                self._committed.drop(StopReason.TRAJECTORY_NOT_CONTINUOUS)
                return
            self._turns = turns
        self._committed.take_over()

    def _control(self, seen: Seen) -> ControllerOutput:
        active = self._committed.active
        assert active is not None
        record = active.record
        # Within a rounding of its start the trajectory has begun.
        t = max(seen.t - record.start, 0.0)
        desired = active.desired_state(t)
        if self._is_frozen(active, seen, t):
            return self.stop(StopReason.JOINT_STATES_FROZEN)
        command = active.command(seen.q + self._turns, seen.qd, desired)
        tracking = active.tracking_errors(t, desired, command)
        # "not <=" so that one that is not a number stops.
        if not tracking.usage <= 1.0 or not np.isfinite(command.torque).all():
            return self.stop(StopReason.TRACKING_ERROR)
        if self._committed.scene_overdue(seen.t) and t < record.duration:
            return self.stop(StopReason.SCENE_CHANGED)
        if (np.abs(command.torque) > self._limit).any():
            self._committed.revoke(StopReason.TORQUE_SATURATED)
        self._committed.progress(record, t, seen.t)
        return self._output(torque=np.clip(command.torque, -self._limit, self._limit), tracking=tracking)

    def _is_frozen(self, active: Execution, seen: Seen, t: float) -> bool:
        """Whether the joint states stay the same, bit by bit, although the trajectory moved on."""
        if seen.t <= self._watch.changed_at:
            return False
        since = max(self._watch.changed_at - active.record.start, 0.0)
        travel = np.abs(active.desired_state(t).q - active.desired_state(since).q).max()
        return bool(travel > self._config.frozen_travel)

    def _fits(self, record: TrajectoryRecord) -> StopReason:
        return self._committed.fits(record, self._watch.last.t)

    def _output(
        self, *, torque: Array | None = None, stop: StopReason | None = None, tracking: Tracking | None = None
    ) -> ControllerOutput:
        record, t = self.trajectory, self._watch.last.t
        return ControllerOutput(
            mode=self.mode,
            reason=self.reason,
            stamp=t,
            torque=torque,
            stop=stop,
            trajectory_id="" if record is None else record.id,
            trajectory_time=0.0 if record is None else max(t - record.start, 0.0),
            refused_id=self._committed.refused[0],
            refused_reason=self._committed.refused[1],
            tracking=tracking,
        )
