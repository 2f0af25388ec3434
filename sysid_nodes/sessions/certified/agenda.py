# SPDX-License-Identifier: Apache-2.0
"""The purpose of plans: to identify for as long as is asked for or as it teaches anything, then to reach goals."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.results.trajectory_record import Phase
from sysid_nodes.robots.robot import Array
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig
from sysid_nodes.sessions.certified.motion_planner import MotionPlanner
from sysid_nodes.sessions.certified.state import Planned
from sysid_nodes.systems.certified.search.objective import Excite, Reach
from sysid_nodes.systems.certified.search.plan_result import Start
from sysid_nodes.systems.certified.search.stop_rule import StopRule

_SAME_TIME = 1e-3
"""Rounding of the time that identification takes [s]."""


class Agenda:
    """The planner's tasks, and how far they have come.

    Args:
        planner: makes objectives.
        n: number of joints.

    Attributes:
        phase: what plans are for now.
        goals: (n,) postures to go to, one after the other; more may be added.
        left_out: why the last call of `objective` gave up a goal; empty where it gave up none.
        ended: called with a goal that is gone from the list, and why it was given up; empty: the robot is there.

    Raises:
        ConfigError: a goal lacks numbers.
    """

    def __init__(self, planner: MotionPlanner, config: CertifiedPlannerConfig, n: int) -> None:
        node = config.certified_planner
        self._planner, self._longest, self._config = planner, node.excite_time, config.planner
        self.phase = Phase.EXCITE if node.excite else Phase.REACH
        self.goals: deque[Array] = deque(_goals(node.goals, n))
        self.left_out = ""
        self._given_up: dict[int, Array] = {}  # by identity; two threads change it, each in one step
        self.ended: Callable[[Array, str], None] | None = None
        self._excite: Excite = planner.excite(config.prior.bounds)
        self._rule = StopRule(config.planner.stop_rule)
        self._learned: set[str] = set()
        self._window: int | None = None
        self._begun: int | None = None
        self._way: tuple[str, Reach] | None = None

    def begin(self, start_ns: int) -> None:
        """A trajectory is executed since a stamp [ns]; identification lasts from the first one's on."""
        if self._begun is None:
            self._begun = start_ns

    def learn(self, planned: Planned, until: float, bounds: Bounds, window: int) -> None:
        """A trajectory was executed up to a time into it [s], after which bounds of a data window are left.

        Bounds of the same window as after the trajectory before tell nothing of what this one has taught: the
        identifier is late.
        """
        if planned.record.id in self._learned or planned.phase is not Phase.EXCITE:
            return
        self._learned.add(planned.record.id)
        self._excite = self._excite.with_plan(planned.plan, min(until, planned.plan.duration), planned.box)
        if window != self._window:
            self._window, self._rule = window, self._rule.after(bounds)

    def objective(
        self, start: Start, scene: Scene, takes_over: int, previous: Planned | None, previous_time: float
    ) -> Excite | Reach | None:
        """The objective of the next plan; None where nothing is left to do.

        Args:
            start: where it begins.
            scene: obstacles.
            takes_over: stamp at which it does [ns].
            previous, previous_time: the trajectory in execution, and the time into it at which it is left [s].
        """
        self.left_out = ""
        if self.phase is Phase.EXCITE and self._timely(self._identification_time(takes_over)) and not self._rule.done:
            return self._expected_information(previous, previous_time)
        while self.goals:
            goal = self.goals[0]
            if self._given_up.pop(id(goal), None) is not None:
                self.goals.popleft()
                continue
            ends = start.state.q if start.resting or start.goal is None else start.goal
            if self._planner.has_reached(ends, goal):
                if not start.resting:
                    return None  # the present trajectory ends there
                self._end("")
                continue
            self.phase = Phase.REACH
            try:
                return self._way_to(goal, start.state.q, scene)
            except ConfigError as error:
                self.left_out = str(error)
                self._end(self.left_out)
        self.phase = Phase.REST
        return None

    def give_up(self, goal: Array) -> None:
        """Goes to this one of the goals no more, nor tells of its end; from any thread."""
        self._given_up[id(goal)] = goal

    def _end(self, why: str) -> None:
        goal = self.goals.popleft()
        if self.ended is not None:
            self.ended(goal, why)

    def ends_with(self, plan: Bezier, starts: int) -> bool:
        """Whether a plan that starts at a stamp [ns] is meant to be followed to its end."""
        if self.phase is Phase.EXCITE:
            endless = self._longest == 0.0
            return not (self.goals or endless or self._timely(self._identification_time(starts) + self.replan(starts)))
        return self.phase is Phase.REST or bool(self.goals and self._planner.has_reached(plan.goal, self.goals[0]))

    def replan(self, starts: int) -> float:
        """Time into a plan that starts at a stamp [ns] at which the next one is to take over [s].

        What is left of identification where no other plan has more than half its time in it belongs to the last one.
        """
        if self.phase is not Phase.EXCITE:
            return self._config.replan
        t_f, t_p = self._config.exciting
        left = self._longest - self._identification_time(starts)
        return left if t_p < left <= min(1.5 * t_p, t_f) + _SAME_TIME else t_p

    def _identification_time(self, stamp: int) -> float:
        """Time of identification up to a stamp [s]."""
        return 0.0 if self._begun is None else 1e-9 * (stamp - self._begun)

    def _timely(self, spent: float) -> bool:
        """Whether a plan that takes over after so much time of identification still belongs to it."""
        return self._longest == 0.0 or spent < self._longest - _SAME_TIME

    def _expected_information(self, previous: Planned | None, until: float) -> Excite:
        """The information that will have been collected when the trajectory in execution is left."""
        if previous is None or previous.phase is not Phase.EXCITE or previous.record.id in self._learned:
            return self._excite
        return self._excite.with_plan(previous.plan, min(until, previous.plan.duration), previous.box)

    def _way_to(self, goal: Array, q: Array, scene: Scene) -> Reach:
        """The way to a goal, found once for each goal and scene."""
        key = f"{scene.id} {goal.tolist()}"
        if self._way is None or self._way[0] != key:
            self._way = (key, self._planner.reach(q, goal, scene))
        return self._way[1]


def _goals(values: tuple[float, ...], n: int) -> list[Array]:
    if len(values) % n:
        raise ConfigError(f"'certified_planner.goals' needs {n} numbers for each goal, got {len(values)}")
    return list(np.array(values, dtype=np.float64).reshape(-1, n))
