# SPDX-License-Identifier: Apache-2.0
"""The messages the demo has heard so far, and their meaning. The truth is known here and nowhere in the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.cli.demo.live_watch import LiveWatch
from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.results import Status
from sysid_nodes.results.trajectory_record import Phase
from sysid_nodes.sessions.diagnostic_keys import (
    AT_REST,
    CLEARANCE,
    CLOSEST_JOINT,
    CLOSEST_OBSTACLE,
    LARGEST_SHARE,
    LAST_OUTCOME,
    PHASE,
    REAL_TIME_FACTOR,
    RECEIVED,
    REJECTED,
    TIMED_OUT,
    UNCERTIFIED,
    WAITING,
)
from sysid_nodes.systems.certified.control.output import Mode

Array = npt.NDArray[np.float64]

_ROBOT, _PLANNER = "simulated_arm: robot", "certified_planner: planning"
_CONTROLLER, _IDENTIFIER = "robust_controller: control", "interval_identifier: identification"


class Watch(LiveWatch):
    """The latest of everything the recorder tells.

    Args:
        prior: bounds before any data.
        truth: (10,) true parameters.
        tick: between two joint states [s].

    Attributes:
        bounds: the newest published bounds.
        status: what they are worth.
        updates: messages with bounds.
        missed: parameters whose truth was outside a published interval at any time.
        contradicted: sentence of an INCONSISTENT status, or empty.
        solve_times: of every step of the identifier that brought news [s].
        plans: fields of every trajectory published, in order.
        refused: why the controller refused trajectories, one entry each.
        robot_stop: why the robot stopped by itself; empty where it did not.
        torque_left: least share of a motor's limit that was left, at the controller's reports.
    """

    def __init__(self, prior: Bounds, truth: Array, *, tick: float) -> None:
        self.prior, self.truth, self._tick = prior, truth, tick
        super().__init__()
        self.bounds, self.status = prior, Status.WAITING
        self.updates = 0
        self.missed: set[str] = set()
        self.contradicted = ""
        self.solve_times: list[float] = []
        self.plans: list[Mapping[str, Any]] = []
        self.executed: set[str] = set()
        self.mode, self.reason = Mode.IDLE, ""
        self.refused: list[str] = []
        self.robot_stop = ""
        self.torque_left = 1.0
        self._torque_now = 1.0
        self._refused_id = ""
        self._trajectory = ""

    def take(self, line: Mapping[str, Any]) -> None:
        if "bounds" in line:
            self._take_bounds(line["bounds"])
        if "plan" in line:
            self.plans.append(line["plan"])
        if "status" in line:
            self._take_status(line["status"])
        if "stop" in line:
            self.robot_stop = line["stop"]["text"] if line["stop"]["reason"] else ""
        super().take(line)

    def _take_bounds(self, message: Mapping[str, Any]) -> None:
        self.status = Status(message["status"])
        self.updates += 1
        self.solve_times.append(message["solve_time"])
        if self.status is Status.INCONSISTENT:
            self.contradicted = message["message"]
            return
        self.bounds = Bounds(np.array(message["lower"]), np.array(message["upper"]))
        self.missed |= {name for name, inside in zip(PARAMETER_NAMES, self.inside, strict=True) if not inside}

    def _take_status(self, message: Mapping[str, Any]) -> None:
        self.mode = Mode(message["mode"])
        self.reason = message["text"] if message["reason"] else ""
        self._trajectory = message["trajectory_id"]
        if self._trajectory:
            self.executed.add(self._trajectory)
        if message["refused_id"] != self._refused_id:
            self._refused_id = message["refused_id"]
            self.refused.append(message["refused_text"])
        if message["torque"]:
            self._torque_now = 1.0 - float(np.max(np.abs(message["torque"]) / np.array(message["torque_limit"])))
            self.torque_left = min(self.torque_left, self._torque_now)

    # -- the load

    @property
    def inside(self) -> list[bool]:
        """Whether each truth lies in its newest interval."""
        return list((self.bounds.lower <= self.truth) & (self.truth <= self.bounds.upper))

    @property
    def width(self) -> Array:
        """(10,) share of the prior's width that is left."""
        return np.asarray(self.bounds.half_width / self.prior.half_width)

    # -- the motion

    @property
    def phase(self) -> str:
        """The present activity, in a few words."""
        if self.stopped:
            return f"STOPPED: {self.robot_stop or self.reason}"
        if self.mode is Mode.BRAKING:
            return "coming to rest" if self._done else f"braking to rest: {self.reason}"
        if self.mode is Mode.HOLDING:
            return "all done, at rest" if self._done else f"at rest: {self.reason}"
        if self.mode is Mode.IDLE:
            return "planning the first motion"
        plan = next((plan for plan in self.plans if plan["id"] == self._trajectory), None)
        if plan is None:
            return "moving"  # the controller's status was faster than the trajectory
        return "identifying the load" if plan["phase"] == Phase.EXCITE.name else "carrying the load"

    @property
    def stopped(self) -> bool:
        """Whether controller or robot have called it off."""
        return self.mode is Mode.STOPPED or bool(self.robot_stop)

    @property
    def resting(self) -> bool:
        """Whether a robot that was stopped has come to rest."""
        return self._text(_ROBOT, AT_REST) == "True"

    @property
    def finished(self) -> bool:
        """Whether the planner has nothing left to do and the robot rests."""
        return self.mode is Mode.HOLDING and self._done

    @property
    def _done(self) -> bool:
        return self._text(_PLANNER, PHASE) == Phase.REST.name

    @property
    def time(self) -> float:
        """Since the robot's first joint state, by its clock [s]."""
        return self.recorded * self._tick

    @property
    def real_time_factor(self) -> float:
        """Present rate of the robot's time."""
        return self._number(_ROBOT, REAL_TIME_FACTOR)

    @property
    def clearance(self) -> tuple[float, str]:
        """Least true distance to an obstacle so far [m], and between what; empty where there is nothing."""
        joint, obstacle = self._text(_ROBOT, CLOSEST_JOINT), self._text(_ROBOT, CLOSEST_OBSTACLE)
        words = f"what {joint} moves and '{obstacle}'" if obstacle else ""
        return self._number(_ROBOT, CLEARANCE), words

    @property
    def tracking_share(self) -> float:
        """Largest share of the proven tracking errors taken so far."""
        return self._number(_CONTROLLER, LARGEST_SHARE)

    @property
    def torque_now(self) -> float:
        """Share of a motor's limit that is left just now, of the joint that has least."""
        return self._torque_now

    @property
    def planner(self) -> str:
        """Outcome of the planner's last step."""
        return self._text(_PLANNER, LAST_OUTCOME)

    @property
    def uncertified(self) -> str:
        """Why the planner's last steps have certified nothing though they had the time; empty where they have."""
        timed_out = self._text(_PLANNER, TIMED_OUT) == "True"
        return self.planner if self._number(_PLANNER, UNCERTIFIED) and not timed_out else ""

    # -- the streams

    @property
    def received(self) -> int:
        """Joint states that reached the identifier."""
        return sum(self._counts(_IDENTIFIER, RECEIVED).values())

    @property
    def waiting(self) -> int:
        """Joint states that the identifier has yet to look at."""
        return int(self._number(_IDENTIFIER, WAITING))

    @property
    def rejected(self) -> int:
        """Joint states that the identifier did not use."""
        return int(self._number(_IDENTIFIER, REJECTED))

    @property
    def complete(self) -> bool:
        """Identifier and bag have the same joint states."""
        return self.received == self.recorded and self.waiting == 0
