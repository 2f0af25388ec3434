"""Who plans in a simulated episode: the planner itself, or chance, the least clever planner there is."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier, brake
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.search.objective import Excite, Reach
from sysid_nodes.systems.certified.search.plan_result import PlanResult, Start
from sysid_nodes.systems.certified.search.planner import Planner


class Planned(NamedTuple):
    """A motion and its certificate."""

    plan: Bezier
    certificate: Certificate


class PlanSource(Protocol):
    """Anything that plans."""

    def plan(self, start: Start, box: ModelBox, scene: Scene) -> Planned | None:
        """A certified motion; None where none was found."""

    def escape(self, start: Start, box: ModelBox, scene: Scene) -> Planned | None:
        """A certified stop in a scene that has just changed; None where none was found."""

    def executed(self, plan: Bezier, until: float, box: ModelBox) -> None:
        """Told that a motion will have been executed up to a time [s] when the next one begins."""


class RandomPlans:
    """Draws displacements, smaller and smaller ones, and at last the plain stop.

    Args:
        certifier: the judge.
        rng: source of the draws.
        duration: of each plan [s].
        ranges: half-widths of the displacement, one draw each [rad].
    """

    def __init__(
        self,
        certifier: Certifier,
        rng: np.random.Generator,
        *,
        duration: float = 3.0,
        ranges: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1, 0.05),
    ) -> None:
        self._certifier, self._rng, self._duration, self._ranges = certifier, rng, duration, ranges

    def plan(self, start: Start, box: ModelBox, scene: Scene) -> Planned | None:
        """See `PlanSource`."""
        stop = brake(*start.state, self._duration)
        for width in (*self._ranges, 0.0):
            shift = self._rng.uniform(-width, width, stop.n)
            plan = Bezier(*start.state, stop.k + shift, self._duration)
            if found := self._judged(plan, start, box, scene):
                return found
        return None

    def escape(self, start: Start, box: ModelBox, scene: Scene) -> Planned | None:
        """See `PlanSource`."""
        for duration in (0.3 * self._duration, self._duration):
            if found := self._judged(brake(*start.state, duration), start, box, scene):
                return found
        return None

    def executed(self, plan: Bezier, until: float, box: ModelBox) -> None:
        """Chance does not learn."""

    def _judged(self, plan: Bezier, start: Start, box: ModelBox, scene: Scene) -> Planned | None:
        certificate = self._certifier.certify(plan, box, start.entry, scene)
        return Planned(plan, certificate) if certificate.certified else None


class OptimisedPlans:
    """The planner: first it learns about the body, then it goes to a goal.

    Args:
        planner: with a clock that stands still where episodes are to be repeatable.
        prior: bounds at the beginning.
        learn: plans that are for learning.
        goal: (n,) where to go then; None goes on learning.
    """

    def __init__(self, planner: Planner, prior: Bounds, *, learn: int, goal: Array | None = None) -> None:
        self._planner, self._goal = planner, goal
        self._learn = learn if goal is not None else np.inf
        self._excite: Excite = planner.excite(prior)
        self._reach: Reach | None = None
        self._count = 0
        self.results: list[PlanResult] = []

    def plan(self, start: Start, box: ModelBox, scene: Scene) -> Planned | None:
        """See `PlanSource`."""
        self._count += 1
        objective: Excite | Reach = self._excite
        if self._count > self._learn and self._goal is not None:
            self._reach = self._reach or self._planner.reach(start.state.q, self._goal, scene)
            objective = self._reach
        return self._note(self._planner.plan(start, box, scene, objective))

    def escape(self, start: Start, box: ModelBox, scene: Scene) -> Planned | None:
        """See `PlanSource`."""
        self._reach = None
        return self._note(self._planner.plan_escape(start, box, scene))

    def executed(self, plan: Bezier, until: float, box: ModelBox) -> None:
        """See `PlanSource`."""
        self._excite = self._excite.executed(plan, min(until, plan.duration), box)

    def _note(self, result: PlanResult) -> Planned | None:
        self.results.append(result)
        if result.plan is None or result.certificate is None:
            return None
        return Planned(result.plan, result.certificate)
