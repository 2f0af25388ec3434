# SPDX-License-Identifier: Apache-2.0
"""The trajectory in execution, the one accepted to follow it, and what speaks against either.

A proof holds for bounds and obstacles. Where these change, what was accepted may lose its proof: what has not started
yet is taken back, what is being executed is followed to its certified end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sysid_nodes.results.identification import Status
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.control.acceptance import continues
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.execution import Execution
from sysid_nodes.systems.certified.control.in_force import InForce
from sysid_nodes.systems.certified.control.output import Mode


class Commitment:
    """Changes at the controller's word only; `now` is always the stamp of the newest joint state, NaN before the first.

    Args:
        in_force: bounds, obstacles and permission.
        config: what is watched.
        takeover: time into a trajectory after which a successor is missing, by its duration [s].

    Attributes:
        mode, reason: as told of.
        active: in execution; None before the first start.
        waiting: accepted, not started yet.
        refused: id of the trajectory refused or taken back last, and why.
    """

    def __init__(self, in_force: InForce, config: ControllerConfig, takeover: Callable[[float], float]) -> None:
        self._in_force, self._config, self._takeover = in_force, config, takeover
        self.reset()

    def reset(self) -> None:
        """Back to IDLE; bounds and obstacles stay in force."""
        self.mode, self.reason = Mode.IDLE, StopReason.NONE
        self.active: Execution | None = None
        self.waiting: Execution | None = None
        self.refused: tuple[str, StopReason] = ("", StopReason.NONE)
        self._in_force.requested = StopReason.NONE
        self._void = self._braking = StopReason.NONE
        self._scene_deadline = np.inf
        self._bounds_at = np.nan

    @property
    def start_rate(self) -> float:
        """As of the controller."""
        if self.active is None or self.mode is Mode.IDLE:
            return 0.0
        return np.inf if self._void else float(self.active.record.error_rate[-1])

    def fits(self, record: TrajectoryRecord, now: float) -> StopReason:
        """NONE, or why an inspected trajectory cannot be executed now."""
        if self.mode is Mode.STOPPED:
            return self.reason
        if refused := self._in_force.admits(record):
            return refused
        # NaN before the first joint state: nothing can be late then.
        if record.start <= now:
            return StopReason.TRAJECTORY_LATE
        if not record.previous_id:
            if self.mode not in (Mode.IDLE, Mode.HOLDING) or record.qd0.any() or record.qdd0.any():
                return StopReason.TRAJECTORY_NOT_CONTINUOUS
            if self.mode is Mode.HOLDING and self._void:
                return self._void  # nothing is known of what still holds the robot
            counted = record.start_rate >= self.start_rate
            return StopReason.NONE if counted else StopReason.TRAJECTORY_NOT_CONTINUOUS
        if self.active is None:
            return StopReason.TRAJECTORY_NOT_CONTINUOUS
        if self._void:
            return self._void
        state = self.active.plan.split(record.previous_time)
        continued = continues(record, self.active.record, state)
        return StopReason.NONE if continued else StopReason.TRAJECTORY_NOT_CONTINUOUS

    def take_bounds(self, lower: Array, upper: Array, status: Status, body: str, target: str, now: float) -> StopReason:
        """NONE, or why the trajectory in execution has lost its proof and is followed to its end."""
        self._bounds_at = now
        fault = self._in_force.take_bounds(lower, upper, status, body, target)
        if fault is StopReason.BOUNDS_INCONSISTENT:
            self.revoke(fault)
        elif fault:
            self.drop(fault)
            self._brake(fault)
        elif self.active is not None and not self._in_force.is_covered_by(self.active.record):
            self.revoke(StopReason.BOUNDS_WIDENED)
        elif self.waiting is not None and not self._in_force.is_covered_by(self.waiting.record):
            self.drop(StopReason.TRAJECTORY_OTHER_BOUNDS)
        return fault or self._void

    def take_scene(self, scene_id: str | None, now: float) -> None:
        """Other obstacles; None: nothing is known of them any more."""
        self._in_force.scene_id = scene_id
        if self.waiting is not None and self.waiting.record.scene_id != scene_id:
            self.drop(StopReason.SCENE_INVALID if scene_id is None else StopReason.TRAJECTORY_OTHER_SCENE)
        if scene_id is None:
            self._scene_deadline = np.inf
            self._brake(StopReason.SCENE_INVALID)
        elif self.active is None or self.active.record.scene_id == scene_id:
            self._scene_deadline = np.inf
        else:
            self._scene_deadline = min(self._scene_deadline, now + self._config.scene_grace)

    def brake(self, reason: StopReason) -> None:
        """Follows the trajectory in execution to its end, and refuses all others until a reset."""
        self._in_force.requested = reason
        self.drop(reason)
        self._brake(reason)

    def stop(self, reason: StopReason) -> bool:
        """Executes nothing until a reset; whether that is new."""
        if self.mode is Mode.STOPPED:
            return False
        self.mode, self.reason, self.waiting = Mode.STOPPED, reason, None
        return True

    def revoke(self, reason: StopReason) -> None:
        """The proof of the trajectory in execution is void, and so is that of any that would continue it."""
        self._void = reason
        self.drop(reason)
        self._brake(reason)

    def drop(self, reason: StopReason) -> None:
        """Takes back the acceptance of what has not started yet, if there is such a thing."""
        if self.waiting is not None:
            self.refused = (self.waiting.record.id, reason)
            self.waiting = None

    def take_over(self) -> None:
        """Begins what was accepted."""
        self.active, self.waiting = self.waiting, None
        self.mode, self.reason = Mode.TRACKING, StopReason.NONE
        self._braking = self._void = StopReason.NONE
        self._scene_deadline = np.inf

    def scene_overdue(self, now: float) -> bool:
        """Whether the obstacles are others for longer than a trajectory certified among them may take."""
        return now > self._scene_deadline

    def progress(self, record: TrajectoryRecord, t: float, now: float) -> None:
        """Mode and reason at a time into the trajectory in execution [s]."""
        if not self._braking and self.waiting is None and t > self._takeover(record.duration) and not record.last:
            self._braking = StopReason.PLANNER_SILENT
        ended = t >= record.duration
        if ended and self.waiting is None and not self._braking:
            self._braking = StopReason.PLAN_ENDED
        changed = self._scene_deadline < np.inf
        self.reason = self._braking or (StopReason.SCENE_CHANGED if changed else self._bounds_silent(now))
        self.mode = Mode.HOLDING if ended else Mode.BRAKING if self._braking else Mode.TRACKING

    def _bounds_silent(self, now: float) -> StopReason:
        """BOUNDS_SILENT where none have come for too long, counted from the first joint state on; else NONE."""
        if np.isnan(self._bounds_at):
            self._bounds_at = now
        return (
            StopReason.BOUNDS_SILENT if 0.0 < self._config.bounds_silence < now - self._bounds_at else StopReason.NONE
        )

    def _brake(self, reason: StopReason) -> None:
        if self.mode.commands:
            self._braking = self.reason = reason
            self.mode = max(self.mode, Mode.BRAKING)
        elif self.mode is Mode.IDLE:
            self.reason = reason
