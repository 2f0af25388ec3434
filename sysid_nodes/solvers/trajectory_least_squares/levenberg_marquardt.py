# SPDX-License-Identifier: Apache-2.0
"""Levenberg-Marquardt on trajectory problems, with damping relative to a diagonal of the Hessian.

Marquardt's scaling makes the iterates independent of the coordinates' units. Where rows that are almost equalities tell
some combinations of coordinates a million times better than others, the whole Hessian's diagonal would hold the others
back a million times too much, and a descent crawls and ends before its time. Groups of rows that tell each coordinate
by itself, such as a prior, measure steps better (`Blocks.measures`): a damping well below 1 then leaves every step
almost as it was, whatever its direction. The damping follows the ratio of actual
to predicted decrease (Nielsen, Damping parameter in Marquardt's method, 1999), and falls faster where the model fits
almost perfectly. A step that would raise the cost is halved before the damping rises. All tolerances are in units of
sigma or relative to the cost: residuals are whitened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.results.least_squares import Iteration, SolveResult, SolveStatus
from sysid_nodes.solvers.trajectory_least_squares.convergence import ConvergenceTest, is_hidden_by_rounding
from sysid_nodes.solvers.trajectory_least_squares.damped_step import DampedStep, Trial, damped_step, gradients
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.solvers.trajectory_least_squares.held_stages import HeldStages
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import (
    NormalEquations,
    assemble,
    assemble_pieces,
)
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows
from sysid_nodes.solvers.trajectory_least_squares.problem import Blocks, InPieces, Layout, Loss, Point, Problem
from sysid_nodes.solvers.trajectory_least_squares.robust import cost, fits
from sysid_nodes.solvers.trajectory_least_squares.second_order import refine
from sysid_nodes.solvers.trajectory_least_squares.timer import Timer
from sysid_nodes.solvers.trajectory_least_squares.windows import windows


@dataclass(frozen=True)
class LevenbergMarquardtConfig:
    """Stopping rules and damping."""

    max_iterations: int = option(50, "steps tried at most", minimum=1)
    cost_tolerance: float = option(1e-8, "stop when a step lowers the cost by less, relatively", minimum=0.0)
    promise_tolerance: float = option(
        0.0,
        "stop when a whole step promises to lower the cost by less, half the square of its length in sigmas",
        minimum=0.0,
    )
    taken_tolerance: float = option(
        0.0,
        "stop after a whole step that was taken and lowered the cost as promised but for less; 0: never",
        minimum=0.0,
    )
    step_tolerance: float = option(1e-6, "stop when no coordinate moves by more, in conditional sigmas", minimum=0.0)
    gradient_tolerance: float = option(1e-8, "stop when no coordinate wants to move by more, alone", minimum=0.0)
    initial_damping: float = option(1e-4, "relative to a diagonal of the Hessian", minimum=0.0)
    minimum_damping: float = option(1e-12, "floor of the damping", minimum=0.0)
    maximum_damping: float = option(1e12, "give up beyond", minimum=1.0)
    time_limit: float = option(0.0, "wall time of a solve; 0: none", unit="s", minimum=0.0)
    fit_suffices: bool = option(False, "stop once noise explains the residuals, all together")
    corrections: int = option(0, "times at most that a step is corrected for curvature its end shows", minimum=0)
    holds_stages: bool = option(False, "damp the few stages where a step overshoots more than all others")


_POOR = 0.1
"""Ratio of actual to predicted decrease below which the linear model does not hold as far as the step goes."""
_ACCEPT = 1e-4
"""Least ratio of actual to predicted decrease."""
_ABOVE, _FORGET = 10.0, 0.3
"""No step is tried at damping up to the former times one that was rejected, which is forgotten by the latter with each
step taken: a model that holds for short steps alone would have every other step rejected."""
_SHARES = (1.0, 0.5, 0.25)
"""Parts of a step that are tried one after the other until one lowers the cost."""
_PARTLY = 2.0
"""Factor on the damping after a part of a step."""


def solve(
    problem: Problem[Point],
    start: Point,
    config: LevenbergMarquardtConfig | None = None,
    *,
    clock: Callable[[], float] | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> SolveResult[Point]:
    """Minimises a problem from a start.

    Args:
        problem: residuals, derivatives and retraction.
        start: first point.
        config: stopping rules and damping.
        clock: monotonic time [s]; needed with a time limit. An iteration is begun only if one as long as the longest
            so far would end in time.
        progress: called after every step tried.

    Raises:
        SamplesError: blocks do not fit the layout, or a time limit was given without a clock.
    """
    config = config or LevenbergMarquardtConfig()
    return minimise(problem, start, config, Timer(clock, config.time_limit), progress)


def minimise(
    problem: Problem[Point],
    start: Point,
    config: LevenbergMarquardtConfig,
    timer: Timer,
    progress: Callable[[Iteration], None] | None,
    rows: Callable[[Point], ParameterRows] | None = None,
) -> SolveResult[Point]:
    """`solve` against a timer that may have been running: its limit counts, that of the configuration does not.

    `rows` gives constraints on the steps of the parameters, which the start meets.
    """
    return _Descent(problem, start, config, rows).run(timer, progress)


class _Descent(Generic[Point]):
    """State of a solve: the best point, its linear model, the damping, and how much the last steps gained."""

    def __init__(
        self,
        problem: Problem[Point],
        start: Point,
        config: LevenbergMarquardtConfig,
        rows: Callable[[Point], ParameterRows] | None,
    ) -> None:
        self._problem, self._config, self._rows = problem, config, rows
        self._point, self._damping, self._growth = start, config.initial_damping, 2.0
        self._equations, self._losses, self._groups, self._cost = _linearise(problem, start)
        self._initial_cost = self._cost
        self._rejected = 0.0
        self._iterations = self._degenerate = 0
        self._convergence = ConvergenceTest(
            config.cost_tolerance, config.step_tolerance, config.promise_tolerance, config.taken_tolerance
        )
        self._room: Factor | None = None  # of the step before, whose memory the next one takes
        self._held: HeldStages | None = None
        if config.holds_stages and isinstance(problem, InPieces):
            self._held = HeldStages(problem.shapes(), problem.layout.stages)

    def run(self, timer: Timer, progress: Callable[[Iteration], None] | None) -> SolveResult[Point]:
        """Iterates until a reason to stop is found."""
        status = None if _is_finite(self._equations, self._cost) else SolveStatus.NOT_FINITE
        while status is None:
            status = self._iterate(timer, progress)
        return SolveResult(
            status,
            self._point,
            self._cost,
            self._initial_cost,
            self._iterations,
            self._degenerate,
            self._damping,
            timer.elapsed(),
        )

    def _iterate(self, timer: Timer, progress: Callable[[Iteration], None] | None) -> SolveStatus | None:
        """Tries one step; returns the reason to stop, if there is one."""
        gradient = _largest_gradient(self._equations)
        if (status := self._limit(gradient, timer)) is not None:
            return status
        self._iterations += 1
        damping, before = self._damping, self._cost
        problem, held, model = self._problem, self._held, (self._losses, self._groups)
        equations = self._equations if held is None else held.hold(self._equations, damping)
        step = damped_step(problem, self._point, equations, *model, before, damping, self._rows, self._room)
        self._degenerate += step is None
        self._room = self._room if step is None else step.factor
        trial, taken, blamed = (None, None, False) if step is None else self._try(step, damping)
        most = damping if held is None else max(damping, held.most)
        if taken is not None:
            self._take(taken)
        elif not blamed:
            self._raise_damping()
        if progress is not None:
            progress(
                Iteration(
                    self._iterations,
                    self._cost,
                    0.0 if taken is None else taken.decrease,
                    damping,
                    gradient,
                    0.0 if trial is None else trial.length,
                    taken is not None,
                    trial is None,
                    timer.elapsed(),
                )
            )
        if step is not None and self._convergence.is_idle(step.promise, most):
            return SolveStatus.CONVERGED_COST
        if taken is not None and (status := self._convergence.judge(taken, most, before)) is not None:
            return status
        if taken is not None and self._config.fit_suffices and fits(taken.cost, taken.residuals):
            return SolveStatus.CONVERGED_COST
        if self._damping > self._config.maximum_damping:
            return SolveStatus.STALLED
        return None if taken is None else self._renew_model()

    def _try(self, step: DampedStep[Point], damping: float) -> tuple[Trial[Point], Trial[Point] | None, bool]:
        """The step tried last, the same if it may be taken, and whether few stages were to blame for what it lacked.

        Where the model holds for a part of the step only, that part costs no factor, and leaves all stages the
        direction that they need; more damping would turn it.
        """
        shares = _SHARES if self._rows is None else _SHARES[:1]
        for share in shares:
            trial = step.take(share)
            if share == 1.0:
                trial = refine(step, trial, self._config.corrections)
            if _is_acceptable(trial, damping, step.cost):
                return trial, trial, False
            if trial.share == 1.0 and self._blame(trial):
                return trial, None, True
        return trial, None, False

    def _blame(self, trial: Trial[Point]) -> bool:
        """Whether few stages are to blame for what a trial lacks; they are held from now on."""
        if self._held is None:
            return False
        before = self._problem.residuals(self._point)
        return self._held.blame(before, trial.residuals, trial.predicted, trial.decrease)

    def _limit(self, gradient: float, timer: Timer) -> SolveStatus | None:
        """Whether no further step should be tried."""
        if self._iterations >= self._config.max_iterations:
            return SolveStatus.MAX_ITERATIONS
        if gradient <= self._config.gradient_tolerance:
            return SolveStatus.CONVERGED_GRADIENT
        return SolveStatus.TIME_LIMIT if timer.is_up() else None

    def _take(self, trial: Trial[Point]) -> None:
        """Moves to a trial's point, with the damping that its model deserves."""
        config = self._config
        self._point, self._cost = trial.point, trial.cost
        if self._held is not None:
            self._held.forget()
        if trial.share < 1.0:
            self._damping = max(_PARTLY * self._damping, config.initial_damping)
            return
        least = max(config.minimum_damping, _ABOVE * self._rejected)
        self._damping, self._growth = max(least, self._damping * _shrink(trial.ratio)), 2.0
        self._rejected *= _FORGET
        if trial.ratio < _POOR:  # a kink: below the initial damping the next step would hardly differ
            self._damping = max(self._damping, config.initial_damping)

    def _raise_damping(self) -> None:
        # Below the initial damping a second try would hardly differ from the first.
        floor = max(self._config.initial_damping, self._config.minimum_damping)
        self._rejected = self._damping
        self._damping, self._growth = max(self._damping * self._growth, floor), 2.0 * self._growth

    def _renew_model(self) -> SolveStatus | None:
        """Linearises at the point that was reached."""
        self._equations, self._losses, self._groups, _ = _linearise(self._problem, self._point, self._equations)
        return None if _is_finite(self._equations, self._cost) else SolveStatus.NOT_FINITE


def _linearise(
    problem: Problem[Point], point: Point, room: NormalEquations | None = None
) -> tuple[NormalEquations, list[Loss | None], Sequence[Blocks] | None, float]:
    """The linear model, losses of its groups, the groups if they are plain and whole, and the cost.

    `room` as in `assemble_pieces`.
    """
    if isinstance(problem, InPieces):
        return _linearise_pieces(problem, point, problem.layout, room)
    groups = problem.linearise(point)
    losses = _losses(groups)
    return assemble(groups, problem.layout), losses, groups if not any(losses) else None, _cost(groups)


def _linearise_pieces(
    problem: InPieces[Point], point: Point, layout: Layout, room: NormalEquations | None
) -> tuple[NormalEquations, list[Loss | None], None, float]:
    shapes, values = problem.shapes(), list[float]()

    def count_costs() -> Iterator[Sequence[Blocks]]:
        for groups in problem.pieces(point):
            values.append(_cost(groups))
            yield groups

    equations = assemble_pieces(count_costs(), windows(shapes, layout), layout, room=room)
    return equations, _losses(shapes), None, sum(values)


def _losses(groups: Sequence[Blocks]) -> list[Loss | None]:
    return [blocks.loss for blocks in groups]


def _cost(groups: Sequence[Blocks]) -> float:
    return cost([blocks.residual for blocks in groups], _losses(groups))


def _is_finite(equations: NormalEquations, value: float) -> bool:
    """A derivative that is not finite shows in the Hessian's diagonal."""
    return bool(np.isfinite(value)) and all(bool(np.isfinite(d).all()) for d in equations.diagonals())


def _largest_gradient(equations: NormalEquations) -> float:
    """Largest |g_i| / sqrt(H_ii): the step, in its conditional sigma, that a coordinate would take by itself."""
    largest = 0.0
    for gradient, diagonal in zip(gradients(equations), equations.diagonals(), strict=True):
        seen = diagonal > 0.0
        largest = max(largest, float(np.abs(gradient[seen] / np.sqrt(diagonal[seen])).max(initial=0.0)))
    return largest


def _is_acceptable(trial: Trial[Point], damping: float, value: float) -> bool:
    """Whether a step from a point of that cost may be taken."""
    return trial.ratio > _ACCEPT or is_hidden_by_rounding(trial, damping, value)


def _shrink(ratio: float) -> float:
    """Factor on the damping after an accepted step."""
    if abs(ratio - 1.0) < 0.05:
        return 0.01
    return float(np.clip(1.0 - (2.0 * min(max(ratio, -1.0), 1.0) - 1.0) ** 3, 0.1, 2.0))
