# SPDX-License-Identifier: Apache-2.0
"""Levenberg-Marquardt on parameters within bounds and start states of segments, over longer and longer horizons.

Short segments follow the measurement whatever the parameters are, so their cost has no false minima to speak of; long
ones use all that the motion says. Each horizon starts at the solution of the one before. Start states enter one
segment each and are eliminated. A parameter at a bound is held there only while the gradient pushes it out, so a
start at a bound is no trap.

Each start has a damping of its own. A joint that rests where a segment begins sticks or slips by how it starts, and a
step of its start then promises again and again what it does not hold; that must not keep the parameters from moving.
So a solve ends, too, when it is the parameters that would hardly move any more. Whether it sticks is also a jump of the
cost; from a point just below one every step leads up, however small. It is left upwards.

Not `trajectory_least_squares.levenberg_marquardt`, though it is the same method: there every stage is an unknown in a
band of blocks, one damping serves all, and parts of a step are tried; here a rollout has few unknowns, bounds, starts
that are damped and held back one by one, and jumps. What both need is shared: the robust loss, the statuses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.results.least_squares import SolveStatus
from sysid_nodes.solvers.shooting.normal_equations import Equations, Step, assemble
from sysid_nodes.solvers.shooting.problem import Array, Gaussian, IntArray, Rollout, ShootingProblem, segments
from sysid_nodes.solvers.trajectory_least_squares.robust import Huber

BoolArray = npt.NDArray[np.bool_]

_LARGEST_DAMPING = 1e12
_CULPRIT = 0.1  # rise of a segment's cost, relative to the largest, that is much
_HELD = 1e3  # times as much damping as before, of a start whose step did not hold what it promised
_TINY, _JUMP, _JUMPS = 1e3, 1e-3, 5  # damping, rise relative to the cost, and number of the jumps that are left


@dataclass(frozen=True)
class ShootingConfig:
    """Options of the solver; lengths are in samples.

    Attributes:
        horizons: lengths of the segments, one solve after the other.
        iterations: of each solve at most.
        tolerance: square of the standard deviations, of white noise, by which the next step would move the
            parameters, below which the last solve ends; also where a step neither gains nor promises as much.
        passing: the same of the solves before it.
        robust: residual, in units of their robust spread, from which on it pulls no harder; 0 for never.
        damping: first.
    """

    horizons: tuple[int, ...]
    iterations: int = 60
    tolerance: float = 1e-2
    passing: float = 10.0
    robust: float = 0.0
    damping: float = 1e-3


@dataclass(frozen=True)
class ShootingResult:
    """Result of the last solve.

    Attributes:
        status: of the last solve.
        parameters: (K,).
        first, start: segments and their states (G,), (G, d).
        residual: (S, m) whitened, not robustified.
        cost: half the sum of squares (after the robust loss), priors included.
        iterations: of all solves.
        lower, upper: (K,) whether the parameter is held at that bound.
        equations: linearised there, for covariances.
        loss: robust loss of the last solve.
    """

    status: SolveStatus
    parameters: Array
    first: IntArray
    start: Array
    residual: Array
    cost: float
    iterations: int
    lower: BoolArray
    upper: BoolArray
    equations: Equations
    loss: Huber | None

    @property
    def free(self) -> BoolArray:
        """(K,) parameters that no bound holds."""
        return ~(self.lower | self.upper)


@dataclass(frozen=True)
class _Point:
    parameters: Array
    start: Array
    equations: Equations


def shoot(
    problem: ShootingProblem,
    guess: Array,
    lower: Array,
    upper: Array,
    config: ShootingConfig,
    *,
    prior: Gaussian | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> ShootingResult:
    """Fits the problem.

    Args:
        problem: S samples.
        guess, lower, upper: (K,) start of the search and bounds; a guess outside is moved onto the bound.
        config: horizons and tolerances.
        progress: called after every iteration with the length of the segments and the cost.

    Raises:
        SamplesError: there is no horizon, or bounds cross.
    """
    if not config.horizons or min(config.horizons) < 1:
        raise SamplesError("multiple shooting needs a horizon of at least one sample")
    if (lower > upper).any():
        raise SamplesError(f"the bounds of parameter {int(np.argmax(lower > upper))} cross")
    prior = prior or Gaussian.uninformative(len(guess))
    parameters, total = np.clip(guess, lower, upper), 0
    solver = _Solver(problem, lower, upper, prior, config, progress)
    for length in config.horizons:
        first = segments(problem.samples, min(length, problem.samples), problem.breaks)
        tolerance = config.tolerance if length == config.horizons[-1] else config.passing
        status, point, loss, iterations = solver.solve(parameters, first, length, tolerance)
        parameters, total = point.parameters, total + iterations
    below, above = point.equations.active_bounds(parameters, lower, upper)
    return ShootingResult(
        status, parameters, first, point.start, point.equations.residual, point.equations.cost, total, below, above,
        point.equations, loss,
    )  # fmt: skip


class _Solver:
    def __init__(
        self,
        problem: ShootingProblem,
        lower: Array,
        upper: Array,
        prior: Gaussian,
        config: ShootingConfig,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self._problem, self._lower, self._upper = problem, lower, upper
        self._prior, self._config, self._progress = prior, config, progress

    def solve(
        self, parameters: Array, first: IntArray, length: int, tolerance: float
    ) -> tuple[SolveStatus, _Point, Huber | None, int]:
        """At one horizon, `length` samples a segment."""
        start, information = self._problem.start(first)
        guess = start.copy()

        def linearise(rollout: Rollout, parameters: Array, start: Array, loss: Huber | None) -> _Point:
            equations = assemble(rollout, first, parameters, self._prior, start - guess, information, loss)
            return _Point(parameters, start, equations)

        def at(parameters: Array, start: Array) -> _Point:
            return linearise(self._problem.rollout(parameters, first, start), parameters, start, loss)

        rollout = self._problem.rollout(parameters, first, start)
        loss = Huber.at_spread(rollout.residual, self._config.robust)
        point = linearise(rollout, parameters, start, loss)
        if not np.isfinite(point.equations.cost):
            return SolveStatus.NOT_FINITE, point, None, 0
        little = tolerance / max(int(np.count_nonzero(point.equations.residual)), 1)
        damping, status, k = self._config.damping, SolveStatus.MAX_ITERATIONS, 0
        jumps, held_back = 0, np.zeros(len(first))  # damping of each start beyond that of the parameters
        for k in range(1, self._config.iterations + 1):  # noqa: B007
            step = self._step(point, damping, held_back)
            trial = at(point.parameters + step.parameters, point.start + step.start)
            held_back *= 0.5
            if not trial.equations.cost <= point.equations.cost:
                culprits = _culprits(point, trial)
                still = np.where(culprits[:, None], 0.0, step.start)
                trial = at(point.parameters + step.parameters, point.start + still)
                if trial.equations.cost <= point.equations.cost:
                    held_back[culprits] = _HELD * (damping + held_back[culprits])
            gained, promised = point.equations.cost - trial.equations.cost, step.decrease
            taken = bool(gained >= 0.0)
            if taken:
                ratio = gained / max(promised, 1e-300)
                damping *= max(1.0 / 3.0, 1.0 - (2.0 * min(ratio, 1.0) - 1.0) ** 3) if ratio > 0.0 else 2.0
                point = trial
                if self._progress is not None:
                    self._progress(length, point.equations.cost)
            elif damping > _TINY and jumps < _JUMPS and gained > -_JUMP * point.equations.cost:
                point, damping, jumps = trial, self._config.damping, jumps + 1
            else:
                damping *= 8.0
            enough = little * point.equations.cost
            if self._step(point, 0.0, held_back).shift <= enough or (taken and max(gained, promised) <= enough):
                status = SolveStatus.CONVERGED_COST if taken else SolveStatus.CONVERGED_ROUNDING
                break
            if damping > _LARGEST_DAMPING:
                status = SolveStatus.STALLED
                break
        return status, point, loss, k

    def _step(self, point: _Point, damping: float, held_back: Array) -> Step:
        below, above = point.equations.active_bounds(point.parameters, self._lower, self._upper)
        return point.equations.step(
            damping, point.parameters, self._lower, self._upper, ~(below | above), held_back=held_back
        )


def _culprits(point: _Point, trial: _Point) -> BoolArray:
    """(G,) segments that a step made worse by much: it is their starts, perhaps, and not the parameters."""
    rises = trial.equations.costs - point.equations.costs
    return np.asarray(~(rises < _CULPRIT * rises.max()))
