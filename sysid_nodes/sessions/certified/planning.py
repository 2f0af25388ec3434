# SPDX-License-Identifier: Apache-2.0
"""The planner's memory between its steps: which trajectory is wanted next, and what has become of the last.

Everything here runs on one thread and takes as long as planning takes. Times are the joint states' stamps in
nanoseconds, and run at a measured rate beside the planner's clock. A step begins as late as its measured length allows:
the bounds are the narrower the later it begins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.nanoseconds import SECOND
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.results.trajectory_record import Phase, record_trajectory
from sysid_nodes.robots.robot import Array
from sysid_nodes.sessions.certified.agenda import Agenda
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, Setup
from sysid_nodes.sessions.certified.motion_planner import MotionPlanner
from sysid_nodes.sessions.certified.state import Known, Planned, Seen
from sysid_nodes.sessions.certified.takeover import Takeover, takeover_from
from sysid_nodes.sessions.certified.timing import Timing
from sysid_nodes.systems.certified.control.output import Mode
from sysid_nodes.systems.certified.search.objective import Excite, Reach
from sysid_nodes.systems.certified.search.plan_result import PlanResult, Start


class Planning:
    """Makes one step after the other.

    Args:
        planner: proposes and certifies, see build_planner.
        setup: robot, shapes, names.
        clock: of deadlines, the planner's too [s].

    Attributes:
        agenda: what plans are for.
        known: bounds and obstacles that plans are made for.
        made: number of certified plans.
        dropped: number of those that were finished too late for their takeover.
        timing: when steps are due; its rate is to be kept up to date.
        failed: steps in a row that certified nothing.
        timed_out: whether the last of them had no time to judge a trajectory.
        message: how the last step ended, in words.
        last: the last trajectory made.

    Raises:
        SysidError: configuration and robot do not fit together.
    """

    def __init__(
        self, planner: MotionPlanner, setup: Setup, config: CertifiedPlannerConfig, clock: Callable[[], float]
    ) -> None:
        self._planner, self._setup, self._config, self._clock = planner, setup, config, clock
        prior = config.prior.bounds
        planner.box(prior)
        self.agenda = Agenda(planner, config, setup.robot.n)
        self.known = Known(prior, -1, True, setup.scene)
        self._planned: dict[str, Planned] = {}
        self._active: Planned | None = None
        self._waiting: Planned | None = None
        self._start_rate, self._afresh = 0.0, False
        self.timing = Timing(config.certified_planner, config.planner.replan)
        self.made = self.failed = self.dropped = 0
        self.message, self.timed_out = "", False
        self.last: Planned | None = None

    def take_bounds(self, bounds: Bounds, window: int) -> None:
        """Plans for these bounds from now on.

        Raises:
            ConfigError: they leave no model; those before stay in force.
        """
        self._planner.box(bounds)
        self.known = replace(self.known, bounds=bounds, window=window, consistent=True)

    def withdraw_bounds(self) -> None:
        """Plans nothing more until usable bounds arrive."""
        self.known = replace(self.known, consistent=False)

    def take_scene(self, scene: Scene | None) -> None:
        """Plans among these obstacles from now on; None: what arrived is unusable, and nothing more is planned."""
        self.known = replace(self.known, scene=scene)

    def needs_posture(self, seen: Seen) -> bool:
        """Whether a step would start from where the robot is measured to rest.

        Where a trajectory of ours holds it, that is the second choice: a measured rest says more of the errors than a
        proof for the bounds of then, but measurements may find that it does not quite rest.
        """
        ours = seen.trajectory_id in self._planned
        return seen.mode is Mode.IDLE or (seen.mode is Mode.HOLDING and (self._afresh or not ours))

    def step(self, seen: Seen, now: Callable[[], int], posture: Array | None) -> Planned | None:
        """Plans what is wanted; None where nothing is, or nothing was certified.

        Args:
            now: stamp of the present on the joint states' clock, not behind it [ns].
            posture: (n,) measured at rest; None where the robot moves.
        """
        self._follow(seen)
        self._start_rate = seen.start_rate
        known = self.known
        if known.scene is None or not known.consistent or seen.mode is Mode.STOPPED or self._is_pending(seen, now()):
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
        before, active = self._active, self._planned.get(seen.trajectory_id)
        if active is not before:
            if before is not None:
                until = before.plan.duration if active is None else active.record.previous_time
                self.agenda.learn(before, until, self.known.bounds, self.known.window)
            if active is not None:
                self.agenda.begin(active.record.start_ns)
            self._active = active
            self._forget()
        if active is not None and seen.mode is Mode.HOLDING:
            self.agenda.learn(active, active.plan.duration, self.known.bounds, self.known.window)

    def _forget(self) -> None:
        """Keeps no more than what may still be continued."""
        keep = {item.record.id for item in (self._active, self._waiting) if item is not None}
        self._planned = {key: value for key, value in self._planned.items() if key in keep}

    def _is_pending(self, seen: Seen, now: int) -> bool:
        """Whether the last trajectory sent may still take over."""
        waiting = self._waiting
        if waiting is None:
            return False
        if waiting is self._active:
            self._waiting = None
            self.timing.note_answer(True)
        elif waiting.record.id == seen.refused_id:
            self.timing.note_answer(False)
            self.message, self._waiting = f"refused: {seen.refused}", None
        elif now > waiting.record.start_ns + SECOND:
            self.message, self._waiting = "was not taken over", None
        elif self.known.scene is not None and waiting.record.scene_id != self.known.scene.id:
            self._waiting = None  # the controller has dropped it as well
        return self._waiting is not None

    # -- what is next

    def _plan(self, known: Known, scene: Scene, now: Callable[[], int], posture: Array | None) -> Planned | None:
        """Takeover, objective, search and proof, all in time, record."""
        begun = self._clock()
        takeover = self._takeover(scene, begun, now(), resting=posture is not None)
        if takeover is None:
            return None
        box = self._planner.box(known.bounds)
        start = self._start(takeover, box, posture)
        objective = None if takeover.urgent else self._objective(start, scene, takeover)
        if objective is None and not takeover.urgent and not self._closes(takeover):
            return None
        result = self._solve(start, box, scene, objective, takeover)
        if not takeover.urgent:  # which is over sooner than others
            cut = result.plan is None and result.certificates < self._config.planner.certificates
            self.timing.took(self._clock() - begun, moving=takeover.moving, cut=cut)
        self._afresh = result.plan is None and start.resting and not self._afresh
        if result.plan is None:
            self.fail(f"{result.status.value}: {result.reason}", timed_out=result.timed_out)
            return None
        finished = now()
        met = takeover.reschedule(finished, self.timing.lead)
        if met is None:
            self.dropped += 1
            self.timing.late()
            self.message = f"a plan was finished {1e-9 * (finished - takeover.stamp):+.2f} s after its takeover"
            return None
        return self._note(self._describe(result, start, box, met, known, scene))

    def _takeover(self, scene: Scene, clock: float, now: int, *, resting: bool) -> Takeover | None:
        """Start of the next trajectory; None where it is too early to plan that."""
        if resting or self._active is None:
            return Takeover(now)
        node = self._config.certified_planner
        return takeover_from(self._active, scene, self.timing, node, clock=clock, now=now)

    def _start(self, takeover: Takeover, box: ModelBox, posture: Array | None) -> Start:
        previous = takeover.previous
        if previous is not None:
            return Start.following(previous.plan, previous.certificate, takeover.time)
        assert posture is not None
        return Start.at_rest(posture, self._planner.certifier.at_rest(box, self._start_rate))

    def _objective(self, start: Start, scene: Scene, takeover: Takeover) -> Excite | Reach | None:
        """The objective of the next plan; None where nothing is left to do."""
        found = self.agenda.objective(start, scene, takeover.stamp, self._active, takeover.time)
        self.message = self.agenda.left_out or self.message
        return found

    def _closes(self, takeover: Takeover) -> bool:
        """Whether nothing is left to do, but the trajectory in execution does not know yet and is to be stopped."""
        previous = takeover.previous
        return self.agenda.phase is Phase.REST and takeover.moving and previous is not None and not previous.record.last

    def _solve(
        self, start: Start, box: ModelBox, scene: Scene, objective: Excite | Reach | None, takeover: Takeover
    ) -> PlanResult:
        if objective is None:
            return self._planner.plan_escape(start, box, scene, takeover.deadline, rest=takeover.rest)
        return self._planner.plan(start, box, scene, objective, takeover.deadline)

    def _describe(
        self, result: PlanResult, start: Start, box: ModelBox, takeover: Takeover, known: Known, scene: Scene
    ) -> Planned:
        """A certified plan with all that the controller has to know of it."""
        previous, setup = takeover.previous, self._setup
        plan, certificate = result.plan, result.certificate
        assert plan is not None and certificate is not None
        if previous is not None and plan.duration == takeover.rest:  # what was in execution goes on
            replan, last = previous.replan - takeover.time, previous.record.last
        else:
            replan = self.agenda.replan(takeover.stamp)
            last = not takeover.urgent and self.agenda.ends_with(plan, takeover.stamp)
        record = record_trajectory(
            plan, certificate, start_ns=takeover.stamp, joint_names=setup.robot.joint_names,
            bounds=known.bounds, bounds_window=known.window,
            nominal=box.theta[setup.robot.body_index(setup.body)], start_rate=start.entry.speed,
            body=setup.body, target=self._config.target,
            config_id=setup.config_id, scene_id=scene.id, phase=self.agenda.phase, frame_id=setup.frame,
            previous=None if previous is None else previous.record, previous_time=takeover.time, last=last,
        )  # fmt: skip
        replan = min(max(replan, 0.0), plan.duration)
        return Planned(record, plan, certificate, box, self.agenda.phase, result, replan)

    def fail(self, message: str, *, timed_out: bool = False) -> None:
        """Counts a step that certified nothing, for the reason given."""
        self.failed, self.message, self.timed_out = self.failed + 1, message, timed_out

    def _note(self, planned: Planned) -> Planned:
        """Remembers what is sent to the controller now."""
        self.made, self.failed, self.message = self.made + 1, 0, planned.result.reason
        self._planned[planned.record.id] = planned
        self._waiting = self.last = planned
        return planned
