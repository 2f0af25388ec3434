# SPDX-License-Identifier: Apache-2.0
"""The receding-horizon planner (section V-C of the paper): proposes with an optimiser, executes only what is certified.

Each step starts from the desired state of the running trajectory at t_p, never from the measured one, so that tracking
errors carry over as the certificate states them. A step that certifies nothing in time is no emergency: the running
trajectory ends at rest by itself, and that was certified with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier, State, brake
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig, per_joint
from sysid_nodes.models.model_box import ModelBox, model_box
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.robots.robot import Array, Primitive, Robot
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig, TrackingConfig
from sysid_nodes.systems.certified.certificate.tracked import known_errors
from sysid_nodes.systems.certified.search.config import PlannerConfig
from sysid_nodes.systems.certified.search.costs import Cost, ReachCost
from sysid_nodes.systems.certified.search.effort import doubt_norm, effort
from sysid_nodes.systems.certified.search.goals import check_goal, nearest_goal, next_waypoint
from sysid_nodes.systems.certified.search.guide import guide_path
from sysid_nodes.systems.certified.search.learned_budget import Seen, first_budget, learn
from sysid_nodes.systems.certified.search.limit_rows import Problem
from sysid_nodes.systems.certified.search.nearness import Nearness
from sysid_nodes.systems.certified.search.objective import Excite, Reach
from sysid_nodes.systems.certified.search.plan_result import PlanResult, PlanStatus, Start
from sysid_nodes.systems.certified.search.planning_step import Step, why_not_even
from sysid_nodes.systems.certified.search.position_interface import no_faster, tracked_proposals
from sysid_nodes.systems.certified.search.proposal import Proposal, Proposer

_LOOK = 0.3
"""Distance [m] up to which what was sampled is compared with what was certified."""

_SHRINK = (0.5, 0.25, 0.0)
"""The last certificate of a step is spent on this much of the way from a safe displacement to what was refused."""


_SET_OFF = (1.0, 0.6, 0.35, 0.2, 0.1, 0.05, 0.02)
"""Shares of what is proposed that are tried, one certificate each, where it is hard to set off from rest."""

_ROOM = 1.02
"""The model's uncertainty may do that much more than while standing still."""


class Planner:
    """Plans certified trajectories for one robot.

    Args:
        robot: with a fixed base.
        shapes: that cover it and what it carries.
        known: what is known of everything but the identified body.
        control: the controller that executes the plans.
        certifier: effort and margins of the certificates.
        config: effort and horizon.
        clock: of the deadlines [s].
        seed: of the search's random draws.
        body: link whose parameters are bounded; empty for the robot's own choice.
        target: what the bounds are of, see model_box.
        tracking: errors of the position controller that executes the plans instead, see Certifier.certify_tracked.

    Raises:
        RobotError, ConfigError: configuration and robot do not fit together.
    """

    def __init__(
        self,
        robot: Robot,
        shapes: Sequence[Primitive],
        known: KnownRobotConfig,
        control: RobustControlConfig,
        certifier: CertifierConfig,
        config: PlannerConfig,
        clock: Callable[[], float],
        *,
        seed: int = 0,
        body: str = "",
        target: str = "body",
        tracking: TrackingConfig | None = None,
    ) -> None:
        if tracking is not None:
            config = replace(config, proposal=tracked_proposals(config.proposal))
        self.robot, self.config, self._known, self._clock = robot, config, known, clock
        self._tracking = tracking
        self.body_index, self._target = robot.body_index(body), target
        self.chain = Chain.from_robot(robot)
        self.nearness = Nearness(robot, shapes)
        self.certifier = Certifier(robot, shapes, control, certifier)
        self._keep, self._gain = certifier.distance_margin, 0.0 if tracking is not None else control.position_gain
        self._torque_limit = robot.limits.torque - certifier.torque_margin
        if tracking is not None:  # what drives lose counts against their limits, see tracked_conduct
            self._torque_limit = self._torque_limit - gains(robot, control).torque_error
        slower = robot if tracking is None else no_faster(robot, known_errors(tracking, robot.n))
        self._proposer = Proposer(slower, self.nearness, config.proposal)
        self._widest = per_joint(config.k_range, robot.n, "planner.k_range")
        self._rng = np.random.default_rng(seed)
        self._budget = first_budget(config.proposal, self._keep, robot.n)
        self._certificate_time = config.certificate_time

    def box(self, bounds: Bounds) -> ModelBox:
        """The models that bounds on the body leave.

        Raises:
            ConfigError: there are none, or the bounds leave no room for the robot's own last link and gripper.
        """
        own = float(self.robot.inertial_parameters()[self.body_index, 0])
        least = own * (1.0 - self._known.inertia_relative) if self._target == "body" else 0.0
        if bounds.upper[0] < least:
            what = f"{own:.3f} kg that the robot's own gripper and last link weigh" if least else "zero"
            raise ConfigError(f"the bounds on the mass end at {bounds.upper[0]:.3f} kg, below the {what}")
        return model_box(self.robot, self._known, bounds, self.body_index, self._target)

    def excite(self, prior: Bounds) -> Excite:
        """The objective of learning what `planner.excite.subject` says, beginning with these bounds on the body.

        Raises:
            ConfigError: the drives are to be learned, and are stated to be known exactly.
        """
        known = self._known
        if self.config.excite.subject == "drives" and not (known.friction_relative or known.armature_relative):
            raise ConfigError(
                "nothing is to be learned of drives that are known exactly: 'known_robot.friction_relative' and "
                "'known_robot.armature_relative' are 0"
            )
        scales = np.maximum(prior.half_width, 1e-9)
        return Excite(self.chain, self.body_index, scales, self.config.excite, sure=self.config.exciting[1])

    def reach(self, q: Array, goal: Array, scene: Scene) -> Reach:
        """The objective of going to a joint goal, with waypoints around obstacles where the straight way is blocked.

        Without a way found it holds the goal alone, and plans go as near as they can.

        Raises:
            ConfigError: the goal is outside the limits or leaves no room.
        """
        margin = self.config.guide.margin
        check_goal(self.robot, self.nearness, np.asarray(goal), scene, margin)
        found = guide_path(self.robot, self.nearness, q, goal, scene, self.config.guide, self._rng)
        return Reach(found.waypoints or (np.asarray(goal),))

    def has_reached(self, q: Array, goal: Array) -> bool:
        """Whether a posture (n,) is as near to a goal as asked for."""
        return bool(np.abs(nearest_goal(self.robot, q, goal) - q).max() <= self.config.near)

    def plan(
        self, start: Start, box: ModelBox, scene: Scene, objective: Excite | Reach, deadline: float = np.inf
    ) -> PlanResult:
        """The next trajectory.

        Args:
            start: where it begins.
            box: models it must be safe for.
            scene: obstacles.
            objective: what it is for.
            deadline: on the planner's clock [s]; no certificate is begun that would end after it.
        """
        step = Step(self._clock, deadline)
        cost, duration = self._cost(start, box, scene, objective)
        safe = self._safe(start, box, scene, duration)
        k, explained = safe, True
        while step.certificates < self.config.certificates and step.plan is None and self._time_left(step):
            last = step.certificates == self.config.certificates - 1
            if step.certificates > 0 and (last or not explained):
                k = self._shrunk(self._problem(start, box, scene, duration), safe, k)
            else:
                problem = self._problem(start, box, scene, duration)
                k = self._propose(step, problem, cost, safe, k if step.certificates else None).k
            before = self._budget
            self._certify(step, Bezier(*start.state, k, duration), start, box, scene, cost)
            explained = self._budget is not before
        for _ in range(self.config.improvements):
            if step.plan is None or not self._time_left(step):
                break
            better = self._propose(step, self._problem(start, box, scene, duration), cost, safe, None)
            if better.cost < step.cost:
                self._certify(step, Bezier(*start.state, better.k, duration), start, box, scene, cost)
        if start.resting and not step.moves and self._time_left(step):
            self._set_off(step, start, box, scene, cost, duration)
            if step.plan is None:
                return step.result(PlanStatus.START_REFUSED)
        return step.result(PlanStatus.NOTHING_CERTIFIED if step.plan is None else PlanStatus.CERTIFIED)

    def plan_escape(
        self, start: Start, box: ModelBox, scene: Scene, deadline: float = np.inf, *, rest: float = 0.0
    ) -> PlanResult:
        """The rest of the running trajectory, or the shortest stop, certified in a scene that has just changed.

        Args:
            start: a state of the running trajectory a little ahead.
            box, scene, deadline: as for `plan`.
            rest: how long the running trajectory takes from there [s]; 0: it is to be stopped.
        """
        step = Step(self._clock, deadline)
        state, problem = start.state, self._problem(start, box, scene, self.config.duration)
        stops = [brake(*state, duration) for duration in sorted(self.config.escape)]
        if start.goal is not None and rest >= min(self.config.escape):
            # Position, velocity and acceleration at both ends make a polynomial of degree 5: it is the same motion.
            stops.insert(0, Bezier(*state, start.goal - state.q, rest))
        lacking = [self._proposer.shortfall_of(problem, stop) for stop in stops]
        # In this order among those that look free; the others after them, the best first.
        order = sorted(range(len(stops)), key=lambda i: (lacking[i] > 0.0, lacking[i], i))
        for i in order:
            if step.plan is not None or not self._time_left(step):
                break
            step.proposals += 1
            self._judge(step, stops[i], start, box, scene, 0.0)
        return step.result(PlanStatus.NOTHING_CERTIFIED if step.plan is None else PlanStatus.CERTIFIED)

    def _set_off(self, step: Step, start: Start, box: ModelBox, scene: Scene, cost: Cost, duration: float) -> None:
        """From a rest that is hard to leave: standing still, then smaller and smaller motions until one is certified.

        Where standing still has margins, so have motions that are small enough; the budget of the search is what
        standing still took. No motion from here can be certified where standing still is refused.
        """
        still = np.zeros(self.robot.n)
        if step.plan is None:
            self._certify(step, Bezier(*start.state, still, duration), start, box, scene, cost)
        if step.plan is None:
            step.reason = why_not_even(
                self.robot, self.chain, self.nearness, start.state.q, box, scene, step, self._keep
            )
            return
        for share in _SET_OFF:
            if step.moves or not self._time_left(step):
                return
            doubt = max(self._budget.doubt, _ROOM * self._observe(Bezier(*start.state, still, 1.0), box, scene).doubt)
            self._budget = replace(self._budget, doubt=doubt)
            k = self._propose(step, self._problem(start, box, scene, duration), cost, still, None).k
            self._certify(step, Bezier(*start.state, share * k, duration), start, box, scene, cost)

    def _cost(self, start: Start, box: ModelBox, scene: Scene, objective: Excite | Reach) -> tuple[Cost, float]:
        """The cost that the plan is to minimise, and its length [s]."""
        state, config = start.state, self.config
        if isinstance(objective, Excite):
            duration, _ = config.exciting
            return objective.cost(state, duration, box), duration
        guide = config.guide
        if len(objective.path) == 1:
            goal = nearest_goal(self.robot, state.q, objective.goal)
        else:
            goal = next_waypoint(self.robot, self.nearness, state.q, objective.path, scene, guide.margin, guide.check)
        duration = self._duration(state, goal)
        return ReachCost(state, duration, goal, replan=min(config.replan, duration), early=1.0), duration

    def _duration(self, state: State, goal: Array) -> float:
        """Length of a plan to a goal (n,) [s]: it accelerates no more than one of t_f over the whole k-range."""
        longest = self.config.duration
        if self.config.briefest == 0.0:
            return longest
        way = np.maximum(np.abs(goal - state.q), np.abs(brake(*state, longest).k))
        share = float((way / np.maximum(self._widest, 1e-9)).max())
        return float(np.clip(longest * np.sqrt(share), min(self.config.briefest, longest), longest))

    def _safe(self, start: Start, box: ModelBox, scene: Scene, duration: float) -> Array:
        """(n,) displacement most likely to be certified: a smooth stop, or the rest of the running trajectory."""
        state = start.state
        stop = brake(*state, duration).k
        if start.resting or start.goal is None:
            return stop
        problem = self._problem(start, box, scene, duration)
        options = (stop, start.goal - state.q)
        return min(options, key=lambda k: self._proposer.shortfall(problem, k))

    def _shrunk(self, problem: Problem, safe: Array, k: Array) -> Array:
        """Back towards the safe displacement: as far as budgets, which are those of the last refusal, ask for."""
        options = [safe + share * (k - safe) for share in _SHRINK]
        return min(options, key=lambda option: self._proposer.shortfall(problem, option))

    def _problem(self, start: Start, box: ModelBox, scene: Scene, duration: float) -> Problem:
        return Problem(start.state, duration, box, scene, self._budget, self._torque_limit, self._widest)

    def _propose(self, step: Step, problem: Problem, cost: Cost, safe: Array, first: Array | None) -> Proposal:
        step.proposals += 1
        return self._proposer.propose(problem, cost, safe, self._rng, first)

    def _time_left(self, step: Step) -> bool:
        return self._clock() + self._certificate_time + self.config.reserve <= step.deadline

    def _certify(self, step: Step, plan: Bezier, start: Start, box: ModelBox, scene: Scene, cost: Cost) -> None:
        self._judge(step, plan, start, box, scene, cost(plan.k)[0])

    def _judge(self, step: Step, plan: Bezier, start: Start, box: ModelBox, scene: Scene, cost: float) -> None:
        """Spends a certificate; holds the plan if it is certified and the best so far."""
        before = self._clock()
        if self._tracking is None:
            certificate = self.certifier.certify(plan, box, start.entry, scene)
        else:
            certificate = self.certifier.certify_tracked(plan, box, self._tracking, scene)
        taken = self._clock() - before
        step.take(plan, certificate, cost, taken)
        self._certificate_time = max(taken, 0.7 * self._certificate_time)
        seen, least = self._observe(plan, box, scene), self.config.proposal.torque_gap
        self._budget = learn(self._budget, seen, certificate, self._gain, least)

    def _observe(self, plan: Bezier, box: ModelBox, scene: Scene) -> Seen:
        count = self.config.proposal.samples
        t = plan.duration * np.arange(1.0, count + 1.0) / count
        near = self.nearness.near(plan(t).q, scene, _LOOK)
        found = effort(self.chain, box, plan, t)
        return Seen(
            float(near.distance[near.outside].min(initial=np.inf)),
            float(near.distance[~near.outside].min(initial=np.inf)),
            float(doubt_norm(found, box.armature_lower).max()),
        )
