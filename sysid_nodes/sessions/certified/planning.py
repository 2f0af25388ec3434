"""Which trajectory is wanted next, and what has become of the last: the planner's memory between its steps.

Everything here runs on one thread and takes as long as planning takes. Times are the joint states' stamps in
nanoseconds, and run at a measured rate beside the planner's clock. A step begins as late as its measured length allows:
the bounds are the narrower the later it begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.results.trajectory_record import record_trajectory, takeover_ns
from sysid_nodes.robots.robot import Array
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, Setup
from sysid_nodes.sessions.certified.state import Known, Phase, Planned, Seen
from sysid_nodes.sessions.certified.timing import Timing
from sysid_nodes.systems.certified.control.output import Mode
from sysid_nodes.systems.certified.search.objective import Excite, Reach
from sysid_nodes.systems.certified.search.plan_result import PlanResult, Start
from sysid_nodes.systems.certified.search.planner import Planner
from sysid_nodes.systems.certified.search.stop_rule import StopRule

_BILLION = 1_000_000_000
_SENDING = 0.02  # from the end of planning to the controller's acceptance, at least [s]


class Planning:
    """Makes one step after the other.

    Args:
        setup: robot, shapes, names.
        config: of the node.
        clock: of deadlines [s].

    Attributes:
        known: to be replaced whenever something arrives.
        phase: what plans are for now.
        made: number of certified plans.
        dropped: number of those that were finished too late for their takeover.
        timing: when steps are due; its rate is to be kept up to date.
        failed: steps in a row that certified nothing.
        message: how the last step ended, in words.
        last: the last trajectory made.

    Raises:
        SysidError: configuration and robot do not fit together.
    """

    def __init__(self, setup: Setup, config: CertifiedPlannerConfig, clock: Callable[[], float]) -> None:
        self._setup, self._config, self._clock = setup, config, clock
        node = config.certified_planner
        self.planner = Planner(
            setup.robot, setup.shapes, config.known_robot, config.control, config.certifier, config.planner, clock,
            seed=node.seed, body=config.body, target=config.target,
            tracking=config.tracking if node.output == "position" else None,
        )  # fmt: skip
        prior = config.prior.bounds
        self.known = Known(prior, -1, True, setup.scene)
        self.goals: deque[Array] = deque(_goals(node.goals, setup.robot.n))
        self.phase = Phase.EXCITE if node.excite else Phase.REACH
        self._excite: Excite = self.planner.excite(prior)
        self._reach: tuple[str, Reach] | None = None
        self._rule = StopRule(config.planner.stop_rule)
        self._first_ns: int | None = None
        self._planned: dict[str, Planned] = {}
        self._active: Planned | None = None
        self._waiting: Planned | None = None
        self._start_rate = 0.0
        self._learned: set[str] = set()
        self.timing = Timing(node, config.planner.replan)
        self.made = self.failed = self.dropped = 0
        self.message, self.last = "", None  # type: tuple[str, Planned | None]
        self.planner.box(prior)

    def needs_posture(self, seen: Seen) -> bool:
        """Whether a step would start from where the robot is measured to rest."""
        return seen.mode is Mode.IDLE or (seen.mode is Mode.HOLDING and seen.trajectory_id not in self._planned)

    def step(self, seen: Seen, now: Callable[[], int], posture: Array | None) -> Planned | None:
        """Plans what is wanted; None where nothing is, or nothing was certified.

        Args:
            seen: of the controller.
            now: stamp of the present on the joint states' clock, not behind it [ns].
            posture: (n,) measured at rest; None where the robot moves.
        """
        self._follow(seen)
        self._start_rate = seen.start_rate
        known = self.known
        if known.scene is None or not known.consistent or seen.mode is Mode.STOPPED or self._pending(seen, now()):
            return None
        resting = self.needs_posture(seen)
        if (resting and posture is None) or (not resting and self._active is None):
            return None
        if resting and not np.isfinite(seen.start_rate):
            self.message = "what holds the robot has lost its proof: stop and reset the controller"
            return None
        return self._plan(known, known.scene, now, posture if resting else None)

    # -- what has happened

    def _follow(self, seen: Seen) -> None:
        """Notes which of our trajectories is executed, and what the one before it has told."""
        active = self._planned.get(seen.trajectory_id)
        if active is not self._active:
            if self._active is not None:
                until = active.record.previous_time if active is not None else self._active.plan.duration
                self._learn(self._active, min(until, self._active.plan.duration))
            self._active = active
            if active is not None and self._first_ns is None:
                self._first_ns = active.record.start_ns
            self._forget()
        if active is not None and seen.mode is Mode.HOLDING:
            self._learn(active, active.plan.duration)

    def _learn(self, planned: Planned, until: float) -> None:
        if planned.record.id in self._learned or planned.phase is not Phase.EXCITE:
            return
        self._learned.add(planned.record.id)
        self._excite = self._excite.executed(planned.plan, until, planned.box)
        self._rule = self._rule.after(self.known.bounds)

    def _forget(self) -> None:
        """Keeps no more than what may still be continued."""
        keep = {item.record.id for item in (self._active, self._waiting) if item is not None}
        self._planned = {key: value for key, value in self._planned.items() if key in keep}

    def _pending(self, seen: Seen, now: int) -> bool:
        """Whether the last trajectory sent may still take over."""
        waiting = self._waiting
        if waiting is None:
            return False
        if waiting is self._active:
            self._waiting = None
            self.timing.answered(True)
        elif waiting.record.id == seen.refused_id:
            self.timing.answered(False)
            self.message, self._waiting = f"refused: {seen.refused}", None
        elif now > waiting.record.start_ns + _BILLION:
            self.message, self._waiting = "was not taken over", None
        elif self.known.scene is not None and waiting.record.scene_id != self.known.scene.id:
            self._waiting = None  # the controller has dropped it as well
        return self._waiting is not None

    # -- what is next

    def _plan(self, known: Known, scene: Scene, now: Callable[[], int], posture: Array | None) -> Planned | None:
        active, node, begun = self._active if posture is None else None, self._config.certified_planner, self._clock()
        began = now()
        previous_time, urgent, moving, deadline = 0.0, False, False, np.inf
        if active is not None:
            elapsed = 1e-9 * (began - active.record.start_ns)
            changed = active.record.scene_id != scene.id
            found = elapsed + node.escape_time if changed else self.timing.takeover(elapsed, active.replan)
            if found is None:
                return None
            previous_time, moving = found, found < active.plan.duration
            urgent = changed and moving
            if moving:
                deadline = begun + (previous_time - elapsed - node.margin) / self.timing.rate
        box = self.planner.box(known.bounds)
        if active is None:
            assert posture is not None
            start = Start.at_rest(posture, self.planner.certifier.at_rest(box, self._start_rate))
            takes_over = began
        else:
            start = Start.following(active.plan, active.certificate, previous_time)
            takes_over = takeover_ns(active.record, previous_time)
        objective = None if urgent else self._objective(start, scene, takes_over, previous_time)
        closes = self.phase is Phase.REST and moving and active is not None and not active.record.last
        if objective is None and not urgent and not closes:
            return None
        # What is left of the trajectory in execution is gone on with if it is free of the new obstacles.
        rest = active.plan.duration - previous_time if urgent and active is not None else 0.0
        result = self._solve(start, box, scene, objective, deadline, rest)
        cut = result.plan is None and not urgent and result.certificates < self._config.planner.certificates
        if not urgent:  # which is over sooner than others
            self.timing.took(self._clock() - begun, moving=moving, cut=cut)
        if result.plan is None or result.certificate is None:
            self.failed, self.message = self.failed + 1, f"{result.status.value}: {result.reason}"
            return None
        finished = now()
        if moving and finished + round(_SENDING * _BILLION) > takes_over:
            self.dropped += 1
            self.timing.late()
            self.message = f"a plan was finished {1e-9 * (finished - takes_over):+.2f} s after its takeover"
            return None
        if not moving:
            # At rest any time will do.
            takes_over = max(takes_over, finished + round(self.timing.lead * _BILLION))
        if active is not None and not moving:
            previous_time = max(previous_time, 1e-9 * (takes_over - active.record.start_ns))
        replan, last = self._config.planner.replan, not urgent and self._ends(result.plan, takes_over)
        if active is not None and result.plan.duration == rest:
            replan, last = active.replan - previous_time, active.record.last
        record = record_trajectory(
            result.plan, result.certificate, start_ns=takes_over, joint_names=self._setup.robot.joint_names,
            bounds=known.bounds, bounds_window=known.window, nominal=box.theta[self.planner.body_index],
            start_rate=start.entry.speed, body=self._setup.body, target=self._config.target,
            config_id=self._setup.config_id, scene_id=scene.id, frame_id=self._setup.frame,
            previous=None if active is None else active.record, previous_time=previous_time,
            last=last,
        )  # fmt: skip
        replan = min(max(replan, 0.0), result.plan.duration)
        planned = Planned(record, result.plan, result.certificate, box, self.phase, result, replan)
        self.made, self.failed, self.message = self.made + 1, 0, result.reason
        self._planned[record.id] = planned
        self._waiting = self.last = planned
        return planned

    def _ends(self, plan: Bezier, starts: int) -> bool:
        """Whether a plan that starts then is meant to be followed to its end."""
        node = self._config.certified_planner
        if self.phase is Phase.EXCITE:
            spent = 0.0 if self._first_ns is None else 1e-9 * (starts - self._first_ns)
            return not (self.goals or node.excite_time == 0.0 or self._timely(spent + self._config.planner.replan))
        return self.phase is Phase.REST or bool(self.goals and self.planner.reached(plan.goal, self.goals[0]))

    def _timely(self, spent: float) -> bool:
        """Whether a plan that takes over after so much time of identification still belongs to it."""
        longest = self._config.certified_planner.excite_time
        return longest == 0.0 or spent < longest - 1e-3

    def _solve(
        self, start: Start, box: ModelBox, scene: Scene, objective: Excite | Reach | None, deadline: float, rest: float
    ) -> PlanResult:
        if objective is None:
            return self.planner.plan_escape(start, box, scene, deadline, rest=rest)
        return self.planner.plan(start, box, scene, objective, deadline)

    def _objective(self, start: Start, scene: Scene, takes_over: int, previous_time: float) -> Excite | Reach | None:
        """What a plan that takes over then is for; None where nothing is left to do."""
        if self.phase is Phase.EXCITE:
            spent = 0.0 if self._first_ns is None else 1e-9 * (takes_over - self._first_ns)
            if self._timely(spent) and not self._rule.done:
                return self._expected(previous_time)
        while self.goals:
            goal = self.goals[0]
            ends = start.state.q if start.resting or start.goal is None else start.goal
            if self.planner.reached(ends, goal):
                if not start.resting:
                    return None  # the present trajectory ends there
                self.goals.popleft()
                continue
            self.phase = Phase.REACH
            try:
                return self._way(start.state.q, goal, scene)
            except ConfigError as error:
                self.message = str(error)
                self.goals.popleft()
        self.phase = Phase.REST
        return None

    def _expected(self, until: float) -> Excite:
        """What will have been learned when the trajectory in execution is left at a time into it [s]."""
        active = self._active
        if active is None or active.phase is not Phase.EXCITE or active.record.id in self._learned:
            return self._excite
        return self._excite.executed(active.plan, min(until, active.plan.duration), active.box)

    def _way(self, q: Array, goal: Array, scene: Scene) -> Reach:
        """The way to a goal, found once for each goal and scene."""
        key = f"{scene.id} {goal.tolist()}"
        if self._reach is None or self._reach[0] != key:
            self._reach = (key, self.planner.reach(q, goal, scene))
        return self._reach[1]


def _goals(values: tuple[float, ...], n: int) -> list[Array]:
    if len(values) % n:
        raise ConfigError(f"'certified_planner.goals' needs {n} numbers for each goal, got {len(values)}")
    return list(np.array(values, dtype=np.float64).reshape(-1, n))
