# SPDX-License-Identifier: Apache-2.0
"""Proposes displacements: a smooth cost, and limits as penalties on their linearisations, renewed a few times.

Proposals promise nothing: the certifier decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.systems.certified.search.config import ProposalConfig
from sysid_nodes.systems.certified.search.costs import Cost
from sysid_nodes.systems.certified.search.k_range import k_range
from sysid_nodes.systems.certified.search.limit_rows import Problem, Rows, limit_rows
from sysid_nodes.systems.certified.search.nearness import Nearness
from sysid_nodes.systems.certified.search.penalty_descent import descend

_TRUST = 0.3
"""First half-width of the region in which linearisations are trusted [rad]."""

_TRIAL = 2
"""Rounds after which the searches of one proposal are compared."""

_NEARLY = 0.15
"""Shortfall from which a search can recover."""

_MOVES = 0.6
"""Share of the joints that a random draw moves: those at rest are the better witnesses."""


@dataclass(frozen=True)
class Proposal:
    """A displacement worth a certificate.

    Attributes:
        k: (n,) displacement.
        cost: its cost.
        shortfall: what is missing to the budgets: 0 where all are kept, 1 is a whole limit or a decimetre.
        merit: cost and penalty.
    """

    k: Array
    cost: float
    shortfall: float
    merit: float


@dataclass
class _Trail:
    """A search under way: the best so far, its linearisations, and how far they are trusted [rad]."""

    best: Proposal
    rows: Rows
    near: Cost
    trust: float


@runtime_checkable
class CostlyCost(Protocol):
    """A cost worth a local model, and whose values alone are cheaper than its gradient."""

    def values(self, draws: Array) -> Array:
        """(D,) values at displacements (D, n)."""
        ...

    def around(self, k: Array) -> Cost:
        """A cheap model, exact at k (n,)."""
        ...


def around(cost: Cost, k: Array) -> Cost:
    """The cost's local model, if it has one."""
    return cost.around(k) if isinstance(cost, CostlyCost) else cost


def values_of(cost: Cost, draws: Array) -> Array:
    """(D,) the cost's values at displacements (D, n)."""
    return cost.values(draws) if isinstance(cost, CostlyCost) else np.array([cost(k)[0] for k in draws])


class Proposer:
    """Searches displacements for one robot.

    Args:
        robot: with a fixed base.
        nearness: distances of its shapes.
    """

    def __init__(self, robot: Robot, nearness: Nearness, config: ProposalConfig) -> None:
        self._robot, self._chain = robot, Chain.from_robot(robot)
        self._nearness, self._config = nearness, config

    def interval(self, problem: Problem) -> tuple[Array, Array]:
        """Ends (n,) of the intervals of k."""
        budget = problem.budget
        return k_range(
            problem.start, problem.duration, self._robot.limits, problem.widest, budget.position, budget.velocity
        )

    def propose(
        self, problem: Problem, cost: Cost, safe: Array, rng: np.random.Generator, first: Array | None = None
    ) -> Proposal:
        """The best displacement found.

        Args:
            problem: the planning step.
            cost: to minimise.
            safe: (n,) displacement that is likely to be certified, to which the search may shrink.
            first: (n,) where to start; None for the best of the draws.
        """
        lower, upper = self.interval(problem)
        safe = np.clip(safe, lower, upper)
        firsts = self._draws(problem, cost, safe, rng) if first is None else [np.clip(first, lower, upper)]
        trails = [self._begin(problem, cost, safe, k) for k in firsts]
        if len(trails) > 1:  # a few rounds tell which is worth following
            for trail in trails:
                self._descend(problem, cost, trail, _TRIAL)
        trail = min(trails, key=lambda one: one.best.merit)
        self._descend(problem, cost, trail, self._config.rounds)
        return trail.best

    def shortfall(self, problem: Problem, k: Array) -> float:
        """The amount by which a displacement exceeds the budgets and its interval; see Proposal."""
        lower, upper = self.interval(problem)
        beyond = float(np.maximum(lower - k, k - upper).max(initial=0.0))
        return max(self._rows(problem, k).shortfall(k), beyond)

    def shortfall_of(self, problem: Problem, plan: Bezier) -> float:
        """The amount by which a plan of any duration exceeds them, position and velocity limits aside."""
        rows = limit_rows(self._chain, self._nearness, problem, plan, self._config.samples)
        return rows.shortfall(plan.k)

    def _rows(self, problem: Problem, k: Array) -> Rows:
        plan = Bezier(*problem.start, k, problem.duration)
        return limit_rows(self._chain, self._nearness, problem, plan, self._config.samples)

    def _draws(self, problem: Problem, cost: Cost, safe: Array, rng: np.random.Generator) -> list[Array]:
        """The best of many draws, each shortened until the limits linearised at the safe displacement allow it."""
        lower, upper = self.interval(problem)
        shape = (self._config.draws, len(safe))
        moves = (rng.uniform(lower, upper, shape) - safe) * (rng.random(shape) < _MOVES)
        rows = self._rows(problem, safe)
        room, rate = np.maximum(rows.slack(safe), 0.0) + 0.5 * _NEARLY, -moves @ rows.slope.T
        shares = np.min(np.where(rate > 0.0, room / np.where(rate > 0.0, rate, 1.0), 1.0), axis=1, initial=1.0)
        draws = safe + shares[:, None] * moves
        order = np.argsort(values_of(cost, draws), kind="stable")
        return [draws[i] for i in order[: self._config.starts]]

    def _begin(self, problem: Problem, cost: Cost, safe: Array, goal: Array) -> _Trail:
        """The first point on the way back from a goal to a safe displacement that lacks little."""
        for share in (1.0, 0.6, 0.3, 0.1, 0.0):
            k = safe + share * (goal - safe)
            rows = self._rows(problem, k)
            if rows.shortfall(k) < _NEARLY:
                break
        near = around(cost, k)
        return _Trail(_evaluate(k, near, rows), rows, near, _TRUST)

    def _descend(self, problem: Problem, cost: Cost, trail: _Trail, rounds: int) -> None:
        """Improves a trail's best."""
        lower, upper = self.interval(problem)
        for _ in range(rounds):
            at, trust = trail.best.k, trail.trust
            low, high = np.maximum(lower, at - trust), np.minimum(upper, at + trust)
            k = descend(trail.near, trail.rows, at, low, np.maximum(low, high), self._config.steps)
            if np.abs(k - at).max() < 1e-4:
                break
            rows, near = self._rows(problem, k), around(cost, k)
            reached = _evaluate(k, near, rows)
            if reached.merit < trail.best.merit:
                trail.best, trail.rows, trail.near, trail.trust = reached, rows, near, 1.5 * trust
            else:
                # What stood in the way is remembered, so that the next step bends around it.
                trail.rows, trail.trust = trail.rows.join(rows), 0.5 * trust


def _evaluate(k: Array, near: Cost, rows: Rows) -> Proposal:
    value = near(k)[0]
    return Proposal(k, value, rows.shortfall(k), value + rows.penalty(k)[0])
