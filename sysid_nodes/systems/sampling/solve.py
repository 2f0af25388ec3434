# SPDX-License-Identifier: Apache-2.0
"""Gauss-Newton on parameters and start states of clips, every clip's start damped by itself.

A step of the parameters is found with all start states eliminated, as in `solvers.shooting`. What the start states then
do is each clip's own affair: of several dampings of its start, and of staying where it is, the one is taken with which
the clip fits best. Contact makes the cost of a clip rough; a step that all clips must agree on would hardly move.

So it is not the loop of `solvers.shooting`, whose equations, elimination and bounds it uses: that one tries one step of
all starts, with new derivatives each time; this one tries several starts a clip and keeps derivatives by secants, as
every simulation of a walk is dear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.rollouts import Simulator
from sysid_nodes.solvers.shooting import Gaussian, Rollout
from sysid_nodes.solvers.shooting.normal_equations import Equations, assemble
from sysid_nodes.systems.sampling.clip_loss import ClipLoss
from sysid_nodes.systems.sampling.problem import ClipProblem
from sysid_nodes.systems.sampling.settling import secant
from sysid_nodes.systems.sampling.step_errors import whiten

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_START_DAMPINGS = (1e-4, 1e-2, 1.0)
_LARGEST_DAMPING = 1e4
_ANEW = 2  # steps until derivatives by the parameters are simulated again; those by the start states once, for the last


@dataclass(frozen=True)
class Solution:
    """Result of a level.

    Attributes:
        problem: with start states as guesses.
        parameters: (K,).
        equations: linearised there.
        lower, upper: (K,) held at that bound.
        converged: the last step was small.
        prior, loss: that it was solved with.
        fresh: all derivatives were simulated, there or a step before.
    """

    problem: ClipProblem
    parameters: Array
    equations: Equations
    lower: BoolArray
    upper: BoolArray
    converged: bool
    prior: Gaussian
    rollout: Rollout
    loss: ClipLoss | None
    fresh: bool

    def linearise(self) -> Solution:
        """The same with derivatives simulated there, which a search has followed by secants."""
        if self.fresh:
            return self
        rollout = _linearise(self.problem, self.parameters, None)
        equations = _assemble(self.problem, rollout, self.parameters, self.prior, self.loss)
        below, above = equations.active_bounds(self.parameters, *_bounds(self.problem))
        return replace(self, equations=equations, lower=below, upper=above, rollout=rollout, fresh=True)

    def remaining_step(self) -> Array:
        """(K,) the step that would come next, were there no end to them."""
        return self.step(self.equations)

    def step(self, equations: Equations) -> Array:
        """(K',) the step that others, with parameters of their own behind the K, would take from here.

        What a bound holds is held.
        """
        free = self.free_with(len(equations.gradient))
        lower, upper = (np.full(len(free), end) for end in (-np.inf, np.inf))
        return equations.step(0.0, np.zeros(len(free)), lower, upper, free).parameters

    def free_with(self, count: int) -> BoolArray:
        """(K',) parameters that no bound holds, of K' = `count`, those behind the K among them."""
        return np.pad(~(self.lower | self.upper), (0, count - len(self.parameters)), constant_values=True)

    def others(
        self,
        residual: Array,
        unsure: Array,
        rough: Array,
        change: Array | None = None,
        starts: Array | None = None,
    ) -> Equations:
        """Of other residuals (C, L m), with a parameter more: how much of `unsure` (C, L m) is in them, 0 +- 1.

        How much of each of `rough` (E, C, L m) is in them, 0 +- 1, every clip has of its own; residuals are in units of
        the covariance that this makes of theirs.

        With a change (K + 1,) of all of them and of the start states (C, d), once that is made.
        """
        shape, first = self.rollout.residual.shape, self.problem.length * np.arange(len(self.problem.first))
        start, information = self.problem.start(first)
        parts = (self.rollout.by_parameters, unsure.reshape(*shape, 1), self.rollout.by_start, residual[..., None])
        columns = np.concatenate([part.reshape(*residual.shape, -1) for part in parts], axis=2)
        columns, k = whiten(columns, rough).reshape(*shape, -1), len(self.parameters) + 1
        rollout = Rollout(columns[..., -1], columns[..., :k], columns[..., k:-1])
        prior = Gaussian(np.append(self.prior.mean, 0.0), np.append(self.prior.information, 1.0))
        vector = np.append(self.parameters, 0.0) + (0.0 if change is None else change)
        return assemble(rollout, first, vector, prior, start if starts is None else starts, information, self.loss)

    def step_after(self, equations: Equations, simulator: Simulator, unsure: Array, rough: Array) -> Array:
        """(K + 1,) the step that is left of equations of `others` once their step is made in simulations.

        Had residuals been straight, it would be none. In contact they are not: a start state follows if its clip fits
        better for it. A clip that no longer can be simulated pulls nowhere.
        """
        change, problem = self.step(equations), replace(self.problem, simulator=simulator)
        starts, residual = _follow(problem, equations, change, self.parameters + change[:-1], _START_DAMPINGS[:1])
        residual = np.where(np.isfinite(residual), residual + change[-1] * unsure, 0.0)
        return self.step(self.others(residual, unsure, rough, change, starts))


def solve_clips(
    problem: ClipProblem,
    parameters: Array,
    prior: Gaussian,
    free: BoolArray,
    *,
    iterations: int,
    tolerance: float,
    robust: float,
    by_start: Array | None = None,
    progress: Callable[[float], None] | None = None,
) -> Solution:
    """Fits a problem whose start states are settled.

    Args:
        problem: clips of one length.
        parameters: (K,) to begin with, within the bounds of the unknowns.
        free: (K,) parameters that are fitted; the others stay.
        iterations: at most.
        tolerance: square of the parameters' step, in standard deviations, that ends the search.
        robust: residual, in units of the residuals' spread, or of noise if that is more, from which on it pulls no
            harder; 0: never.
        by_start: (C, L m, d) derivatives by the start states; None where they are not known yet.
        progress: called with the cost after every step.
    """
    lower, upper = _bounds(problem)
    reach = problem.unknowns.column("reach")
    damping, converged, stale, fresh, loss = 1e-4, False, False, by_start is None, None
    rollout = _linearise(problem, parameters, by_start)
    equations = _assemble(problem, rollout, parameters, prior, None)
    for number in range(iterations):
        loss = ClipLoss.choose(equations.residual, len(problem.first), robust)
        if loss is not None:
            equations = _assemble(problem, rollout, parameters, prior, loss)
        below, above = equations.active_bounds(parameters, lower, upper)
        while True:
            step = equations.step(damping, parameters, lower, upper, free & ~(below | above))
            if (np.abs(step.parameters) > reach).any() and damping < _LARGEST_DAMPING:
                damping *= 3.0
                continue
            tried = parameters + step.parameters
            starts, residual = _follow(problem, equations, step.parameters, tried)
            cost = _cost(residual, tried, prior, loss)
            if cost < equations.cost or damping > _LARGEST_DAMPING:
                break
            if stale:  # it may be the derivatives that lead astray
                rollout, stale = _linearise(problem, parameters, rollout.by_start), False
                equations = _assemble(problem, rollout, parameters, prior, loss)
            else:
                damping *= 10.0
        if not cost < equations.cost:
            break
        converged = 2.0 * step.shift < tolerance * _spread(cost, equations)
        problem = replace(problem, guess=problem.coordinates.state(problem.guess, starts))
        parameters, damping, left = tried, max(damping * 0.1, 1e-6), iterations - number - 1
        if progress is not None:
            progress(cost)
        if converged or not left:  # so near that derivatives are still those
            rollout = rollout._replace(residual=residual.reshape(rollout.residual.shape))
            equations = _assemble(problem, rollout, parameters, prior, loss)
            break
        rollout, fresh = _update(problem, rollout, step.parameters, starts, residual), False
        stale = left > 1 and (number + 1) % _ANEW > 0
        if not stale:
            fresh = left == 1  # the last step, and the covariance, rest on no secants
            rollout = _linearise(problem, parameters, None if fresh else rollout.by_start)
        equations = _assemble(problem, rollout, parameters, prior, loss)
    below, above = equations.active_bounds(parameters, lower, upper)
    return Solution(problem, parameters, equations, below, above, converged, prior, rollout, loss, fresh)


def _linearise(problem: ClipProblem, parameters: Array, by_start: Array | None) -> Rollout:
    first = problem.length * np.arange(len(problem.first))
    start = problem.start(first)[0]
    if by_start is not None:
        by_start = by_start.reshape(problem.samples, -1, start.shape[1])
    return problem.rollout(parameters, first, start, by_start=by_start)


def _assemble(
    problem: ClipProblem, rollout: Rollout, parameters: Array, prior: Gaussian, loss: ClipLoss | None
) -> Equations:
    first = problem.length * np.arange(len(problem.first))
    start, information = problem.start(first)
    return assemble(rollout, first, parameters, prior, start, information, loss)


def _follow(
    problem: ClipProblem,
    equations: Equations,
    change: Array,
    parameters: Array,
    dampings: Sequence[float] = _START_DAMPINGS,
) -> tuple[Array, Array]:
    """Steps (C, d) of the start states that follow a change of the parameters, and the residuals (C, L m) there."""
    right = equations.start_gradient + np.einsum("gkd,k->gd", equations.by_start, change)
    steps = [np.zeros_like(right)]
    for damping in dampings:
        inverse, _ = equations.eliminate_starts(damping)
        steps.append(-np.einsum("gde,ge->gd", inverse, right))
    trials = np.array(steps)
    costs, residual = problem.trials(parameters, trials)
    best, every = np.argmin(costs, axis=0), np.arange(len(right))
    return trials[best, every], residual[best, every]


def _update(problem: ClipProblem, rollout: Rollout, change: Array, starts: Array, residual: Array) -> Rollout:
    """A rollout whose derivatives agree with what a step has changed; no simulation is needed for them."""
    clips, k = len(starts), len(change)
    units = np.concatenate([problem.unknowns.column("step"), problem.coordinates.steps])
    units[units == 0.0] = np.inf  # residuals are known functions of these
    own = np.concatenate([rollout.by_parameters, rollout.by_start], axis=2).reshape(clips, -1, len(units))
    steps = np.concatenate([np.tile(change, (clips, 1)), starts], axis=1)
    slopes = secant(own, steps, residual - rollout.residual.reshape(clips, -1), units)
    slopes = slopes.reshape(*rollout.residual.shape, -1)
    return Rollout(residual.reshape(rollout.residual.shape), slopes[..., :k], slopes[..., k:])


def _cost(residual: Array, parameters: Array, prior: Gaussian, loss: ClipLoss | None) -> float:
    squared = residual**2
    if loss is not None:
        squared, _ = loss(squared)
    off = parameters - prior.mean
    total = 0.5 * float(squared.sum() + prior.information @ off**2)
    return total if np.isfinite(total) else np.inf


def _spread(cost: float, equations: Equations) -> float:
    """Variance of the whitened residuals, 1 if noise were all there is."""
    return 2.0 * cost / max(int(np.count_nonzero(equations.residual)), 1)


def _bounds(problem: ClipProblem) -> tuple[Array, Array]:
    return problem.unknowns.column("lower"), problem.unknowns.column("upper")
