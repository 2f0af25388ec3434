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

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.robust_control import STAMP_ROUNDING, RobustControlConfig, gains
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.results.identification import Status
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.signals.stream import TURN
from sysid_nodes.systems.certified.control.acceptance import Identity, agrees, as_proven, continues, inspect
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.execution import Candidate, Context, Execution, candidate
from sysid_nodes.systems.certified.control.in_force import InForce
from sysid_nodes.systems.certified.control.joint_watch import JointWatch, Seen, timely
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode, Tracking

_ROUNDING = 1e-12
"""Of whole turns in a position [rad]."""

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
        takeover: time into a trajectory after which a successor is missing [s].
        body, target: what bounds are of; an empty body is the robot's default.

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
        takeover: float = 1.5,
        body: str = "",
        target: str = "body",
    ) -> None:
        self._context = Context(robot, known, control, robot.body_index(body), target)
        self._identity = Identity(robot.joint_names, config_id, body or robot.body, target)
        self._config = config
        self._limit = robot.limits.torque
        self._wraps = robot.wraps
        self._rest_speed, self._rest_distance, self._takeover = rest_speed, rest_distance, takeover
        found = gains(robot, control)
        self._position_error, self._velocity_error = found.position_error, found.velocity_error
        self._watch = JointWatch(robot, control, config)
        self._in_force = InForce(self._identity, prior, scene_id)
        self.reset()

    def reset(self) -> None:
        """Back to IDLE, where the robot has to hold itself; bounds and obstacles stay in force."""
        self.mode, self.reason = Mode.IDLE, StopReason.NONE
        self._watch.reset()
        self._active: Execution | None = None
        self._waiting: Execution | None = None
        self._turns = np.zeros(self._limit.size)
        self._void = StopReason.NONE
        self._braking = StopReason.NONE
        self._in_force.requested = StopReason.NONE
        self._scene_deadline = np.inf
        self._bounds_at = np.nan
        self._refused: tuple[str, StopReason] = ("", StopReason.NONE)

    @property
    def trajectory(self) -> TrajectoryRecord | None:
        """The trajectory being executed."""
        return None if self._active is None else self._active.record

    @property
    def pending(self) -> TrajectoryRecord | None:
        """The trajectory that is accepted and has not started yet."""
        return None if self._waiting is None else self._waiting.record

    @property
    def start_rate(self) -> float:
        """Bound on |dr/dt| in the norm of M that a start from rest has to count on.

        0 where the robot holds itself; infinite where what holds it has lost its proof.
        """
        if self._active is None or self.mode is Mode.IDLE:
            return 0.0
        return np.inf if self._void else float(self._active.record.error_rate[-1])

    def consider(self, record: TrajectoryRecord) -> StopReason:
        """NONE where only a proof of one's own could still speak against a trajectory; otherwise it is refused."""
        refused = inspect(record, self._identity) or self._fits(record)
        if refused:
            self.refuse(record, refused)
        return refused

    def refuse(self, record: TrajectoryRecord, reason: StopReason) -> None:
        """Takes note of a refusal, to be told of."""
        self._refused = (record.id, reason)

    def prepare(self, record: TrajectoryRecord, own: Certificate | None = None) -> Candidate:
        """The slow part of `offer`, which depends on nothing that happens meanwhile and may run in another thread.

        Args:
            record: what was sent.
            own: the controller's own proof of it; where the configuration asks for one, nothing goes without, and its
                numbers are executed.
        """
        refused = inspect(record, self._identity)
        if not refused and self._config.recertify:
            if own is None or not agrees(record, own):
                refused = StopReason.TRAJECTORY_NOT_CERTIFIED
            else:
                record = as_proven(record, own)
        return candidate(record, refused, self._context)

    def offer(self, trajectory: TrajectoryRecord | Candidate, own: Certificate | None = None) -> StopReason:
        """Accepts a trajectory for its start, in place of one accepted before, or refuses it.

        Args:
            trajectory: what was sent, or what `prepare` made of it.
            own: as for `prepare`.

        Returns:
            NONE, or why it is refused; what is being executed goes on either way.
        """
        looked_at = trajectory if isinstance(trajectory, Candidate) else self.prepare(trajectory, own)
        refused = looked_at.refused or self._fits(looked_at.record)
        if refused:
            self.refuse(looked_at.record, refused)
        else:
            self._waiting = looked_at.execution
        return refused

    def bounds(
        self,
        lower: Array,
        upper: Array,
        status: Status,
        window: int,
        *,
        body: str = "",
        target: str = "",
    ) -> StopReason:
        """Takes bounds from an identifier, which are in force from now on unless they are unusable.

        Args:
            lower, upper: (10,).
            status: what they are worth; only proven ones count.
            window: id of their data window.
            body, target: what they are of; empty ones are not compared.

        Returns:
            NONE, or why the trajectory in execution has lost its proof and is followed to its end.
        """
        del window  # order of arrival decides: an identifier that was restarted counts from 0 again
        self._bounds_at = self._watch.last.t
        fault, active = self._in_force.take_bounds(lower, upper, status, body, target), self._active
        if fault is StopReason.BOUNDS_INCONSISTENT:
            self._revoke(fault)
        elif fault:
            self._drop(fault)
            self._brake(fault)
        elif active is not None and not self._in_force.covered_by(active.record):
            self._revoke(StopReason.BOUNDS_WIDENED)
        elif self._waiting is not None and not self._in_force.covered_by(self._waiting.record):
            self._drop(StopReason.TRAJECTORY_OTHER_BOUNDS)
        return fault or self._void

    def scene(self, scene_id: str | None) -> None:
        """Takes note of other obstacles; None: what arrived was unusable, and nothing is known of them any more.

        A trajectory certified among them has to take over within the configured grace, or the robot is stopped.
        """
        self._in_force.scene_id = scene_id
        if self._waiting is not None and self._waiting.record.scene_id != scene_id:
            self._drop(StopReason.SCENE_INVALID if scene_id is None else StopReason.TRAJECTORY_OTHER_SCENE)
        if scene_id is None:
            self._scene_deadline = np.inf
            self._brake(StopReason.SCENE_INVALID)
        elif self._active is None or self._active.record.scene_id == scene_id:
            self._scene_deadline = np.inf
        else:
            self._scene_deadline = min(self._scene_deadline, self._watch.last.t + self._config.scene_grace)

    def brake(self, reason: StopReason = StopReason.REQUESTED) -> None:
        """Follows the certified end of the trajectory in execution, and refuses all others until a reset."""
        self._in_force.requested = reason
        self._drop(reason)
        self._brake(reason)

    def stop(self, reason: StopReason) -> ControllerOutput:
        """Calls for the robot's own stop; nothing is commanded until a reset."""
        first = self.mode is not Mode.STOPPED
        if first:
            self.mode, self.reason = Mode.STOPPED, reason
            self._waiting = None
        return self._output(stop=reason if first else None)

    def sent(self, latency: float) -> ControllerOutput | None:
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
                self.reason = self._watch.rhythm()
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
        self.reason = seen.fault or self._watch.recent(seen.t) or self._in_force.blocked()
        if not seen.fresh or seen.fault or self._waiting is None or seen.t < self._waiting.record.start:
            return self._output()
        if (fault := self._watch.settled(seen.t)) != StopReason.NONE:
            self._drop(fault)
            return self._output()
        self._take_over(seen)
        return self._output() if self._active is None else self._control(seen)

    def _take_over(self, seen: Seen) -> None:
        """Switches to the accepted trajectory once it is due."""
        waiting = self._waiting
        if waiting is None or seen.t < waiting.record.start:
            return
        record = waiting.record
        if seen.t - record.start > self._context.control.period + _SAME_TIME:
            self._drop(StopReason.TRAJECTORY_LATE)
            return
        if not record.previous_id:
            turns = np.where(self._wraps, np.rint((record.q0 - seen.q) / TURN), 0.0)
            apart = np.abs(record.q0 - seen.q - turns * TURN)
            moving = np.abs(seen.qd) + self._velocity_error > self._rest_speed
            if (apart > self._position_error + self._rest_distance + _ROUNDING).any() or moving.any():
                self._drop(StopReason.TRAJECTORY_NOT_CONTINUOUS)
                return
            self._turns = turns * TURN
        self._active, self._waiting = waiting, None
        self.mode, self.reason = Mode.TRACKING, StopReason.NONE
        self._braking = self._void = StopReason.NONE
        self._scene_deadline = np.inf

    def _control(self, seen: Seen) -> ControllerOutput:
        active = self._active
        assert active is not None
        record = active.record
        # Within a rounding of its start the trajectory has begun.
        t = max(seen.t - record.start, 0.0)
        desired = active.desired(t)
        if self._frozen(active, seen, t):
            return self.stop(StopReason.JOINT_STATES_FROZEN)
        command = active.command(seen.q + self._turns, seen.qd, desired)
        tracking = active.tracking(t, desired, command)
        # "not <=" so that a number that is none stops.
        if not tracking.usage <= 1.0 or not np.isfinite(command.torque).all():
            return self.stop(StopReason.TRACKING_ERROR)
        if seen.t > self._scene_deadline and t < record.duration:
            return self.stop(StopReason.SCENE_CHANGED)
        if (np.abs(command.torque) > self._limit).any():
            self._revoke(StopReason.TORQUE_SATURATED)
        self._progress(record, t)
        return self._output(torque=np.clip(command.torque, -self._limit, self._limit), tracking=tracking)

    def _progress(self, record: TrajectoryRecord, t: float) -> None:
        """Mode and reason at a time into the trajectory."""
        if not self._braking and self._waiting is None and t > self._takeover and not record.last:
            self._braking = StopReason.PLANNER_SILENT
        ended = t >= record.duration
        if ended and self._waiting is None and not self._braking:
            self._braking = StopReason.PLAN_ENDED
        changed = self._scene_deadline < np.inf
        self.reason = self._braking or (StopReason.SCENE_CHANGED if changed else self._bounds_silent())
        self.mode = Mode.HOLDING if ended else Mode.BRAKING if self._braking else Mode.TRACKING

    def _bounds_silent(self) -> StopReason:
        """BOUNDS_SILENT where none have come for too long, counted from the first joint state on; else NONE."""
        now, most = self._watch.last.t, self._config.bounds_silence
        if np.isnan(self._bounds_at):
            self._bounds_at = now
        return StopReason.BOUNDS_SILENT if 0.0 < most < now - self._bounds_at else StopReason.NONE

    def _frozen(self, active: Execution, seen: Seen, t: float) -> bool:
        """Whether the joint states stay the same, bit by bit, although the trajectory moved on."""
        if seen.t <= self._watch.changed_at:
            return False
        since = max(self._watch.changed_at - active.record.start, 0.0)
        travel = np.abs(active.desired(t).q - active.desired(since).q).max()
        return bool(travel > self._config.frozen_travel)

    def _fits(self, record: TrajectoryRecord) -> StopReason:
        """NONE, or why an inspected trajectory cannot be executed now."""
        if self.mode is Mode.STOPPED:
            return self.reason
        if refused := self._in_force.admits(record):
            return refused
        # NaN before the first joint state: nothing can be late then.
        if record.start <= self._watch.last.t:
            return StopReason.TRAJECTORY_LATE
        if not record.previous_id:
            if self.mode not in (Mode.IDLE, Mode.HOLDING) or record.qd0.any() or record.qdd0.any():
                return StopReason.TRAJECTORY_NOT_CONTINUOUS
            if self.mode is Mode.HOLDING and self._void:
                return self._void  # nothing is known of what still holds the robot
            counted = record.start_rate >= self.start_rate
            return StopReason.NONE if counted else StopReason.TRAJECTORY_NOT_CONTINUOUS
        if self._active is None:
            return StopReason.TRAJECTORY_NOT_CONTINUOUS
        if self._void:
            return self._void
        state = self._active.plan.split(record.previous_time)
        return (
            StopReason.NONE if continues(record, self._active.record, state) else StopReason.TRAJECTORY_NOT_CONTINUOUS
        )

    def _revoke(self, reason: StopReason) -> None:
        """The proof of the trajectory in execution is void, and so is that of any that would continue it."""
        self._void = reason
        self._drop(reason)
        self._brake(reason)

    def _brake(self, reason: StopReason) -> None:
        if self.mode.commands:
            self._braking = self.reason = reason
            self.mode = max(self.mode, Mode.BRAKING)
        elif self.mode is Mode.IDLE:
            self.reason = reason

    def _drop(self, reason: StopReason) -> None:
        """Takes back the acceptance of what has not started yet, if there is such a thing."""
        if self._waiting is not None:
            self._refused = (self._waiting.record.id, reason)
            self._waiting = None

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
            refused_id=self._refused[0],
            refused_reason=self._refused[1],
            tracking=tracking,
        )
