# SPDX-License-Identifier: Apache-2.0
"""Levenberg-Marquardt under hard equalities of the stages and constraints of the parameters; every iterate meets them.

A step is taken in the tangent space of the stages' equalities; second-order corrections, repeated until the equalities
hold to rounding, lead back to them. So the cost alone tells whether a step is good: no merit function weighs it against
violations, no filter has to, and stopping early costs no feasibility. A step from which there is no way back is one
that was too long: it is rejected and damped. Parameters meet their equalities in the same way, and the inequalities,
which are linear, at every step (parameter_program.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol

import numpy as np

from sysid_nodes.results.least_squares import Iteration, SolveResult, SolveStatus
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, factorise
from sysid_nodes.solvers.trajectory_least_squares.levenberg_marquardt import LevenbergMarquardtConfig, minimise
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout, Point, Problem
from sysid_nodes.solvers.trajectory_least_squares.stage_equalities import (
    StageEqualities,
    TangentSpace,
    reduce_all,
    tangent_space,
)
from sysid_nodes.solvers.trajectory_least_squares.timer import Timer

TOLERANCE = 1e-11
"""Largest violation of an equality, in its own units."""

_CORRECTIONS = 12  # Newton's method doubles the digits: what has not come back by then does not


class ManifoldProblem(Problem[Point], Protocol[Point]):
    """A problem with equalities of each stage by itself and constraints of the parameters."""

    def stage_equalities(self, point: Point) -> StageEqualities:
        """c(x_k) of every stage, with derivatives in the stage's tangent."""

    def parameter_rows(self, point: Point) -> ParameterRows:
        """Constraints of the parameters, linearised at a point."""


@dataclass(frozen=True)
class FeasiblePoint(Generic[Point]):
    """A point, and whether it meets its equalities; if not, no derivative is asked for there."""

    point: Point
    space: TangentSpace
    feasible: bool


class _OnManifold(Generic[Point]):
    """The problem in coordinates of the tangent space at each point."""

    def __init__(self, problem: ManifoldProblem[Point], start: Point) -> None:
        self._problem = problem
        self.start = restore(problem, start)
        self.layout = self.start.space.layout(problem.layout)

    def linearise(self, at: FeasiblePoint[Point]) -> list[Blocks]:
        return reduce_all(self._problem.linearise(at.point), at.space)

    def residuals(self, at: FeasiblePoint[Point]) -> Sequence[Array]:
        values = list(self._problem.residuals(at.point))
        if at.space.left_over is not None:
            values.append(np.zeros((int(at.space.left_over.any(axis=1).sum()), at.space.basis.shape[2])))
        return values if at.feasible else [np.full(value.shape, np.inf) for value in values]

    def retract(
        self, at: FeasiblePoint[Point], stage_step: Array, parameter_step: Array, local_step: Array
    ) -> FeasiblePoint[Point]:
        step = at.space.expand(stage_step)
        return restore(self._problem, self._problem.retract(at.point, step, parameter_step, local_step))

    def rows(self, at: FeasiblePoint[Point]) -> ParameterRows:
        return self._problem.parameter_rows(at.point)


def restore(problem: ManifoldProblem[Point], point: Point) -> FeasiblePoint[Point]:
    """The point brought back to the equalities of stages and parameters by the shortest steps."""
    layout = problem.layout
    local = np.zeros((layout.stages, layout.local))
    for _ in range(_CORRECTIONS):
        equalities = problem.stage_equalities(point)
        space = tangent_space(equalities)
        rows = problem.parameter_rows(point).equality
        worst = max(equalities.violation, float(np.abs(rows[:, -1]).max(initial=0.0)))
        if worst <= TOLERANCE or not space.regular or not np.isfinite(worst):
            break
        parameter = np.zeros(layout.parameters)
        if len(rows):
            parameter -= np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0]
        point = problem.retract(point, space.correction, parameter, local)
    return FeasiblePoint(point, space, bool(worst <= TOLERANCE and space.regular))


def solve_feasible(
    problem: ManifoldProblem[Point],
    start: Point,
    config: LevenbergMarquardtConfig | None = None,
    *,
    clock: Callable[[], float] | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> SolveResult[FeasiblePoint[Point]]:
    """Minimises a problem under its equalities and constraints; the start need not satisfy them.

    Args:
        problem: residuals, equalities, constraints.
        start: first point.
        config: stopping rules and damping.
        clock: monotonic time [s]; needed with a time limit.
        progress: called after every step tried.

    Returns:
        INFEASIBLE where no way was found from the start to the equalities: they contradict one another, or the start is
        far from them or at a singular place.

    Raises:
        SamplesError: blocks do not fit the layout, or a time limit was given without a clock.
    """
    config = config or LevenbergMarquardtConfig()
    timer = Timer(clock, config.time_limit)
    inner = _OnManifold(problem, start)
    if not inner.start.feasible:
        infinite = float("inf")
        return SolveResult(
            SolveStatus.INFEASIBLE, inner.start, infinite, infinite, 0, 0, config.initial_damping, timer.elapsed()
        )
    return minimise(inner, inner.start, config, timer, progress, inner.rows)


@dataclass(frozen=True)
class LinearModel:
    """A problem linearised at a point that meets its equalities.

    Attributes:
        layout: in coordinates of the tangent space.
        blocks: the same.
        factor: undamped; None where the data leave a coordinate undetermined.
        rows: constraints of the parameters.
    """

    layout: Layout
    blocks: list[Blocks]
    factor: Factor | None
    rows: ParameterRows


def linear_model(problem: ManifoldProblem[Point], at: FeasiblePoint[Point]) -> LinearModel:
    """The linear model from which covariances come."""
    layout = at.space.layout(problem.layout)
    blocks = reduce_all(problem.linearise(at.point), at.space)
    return LinearModel(layout, blocks, factorise(assemble(blocks, layout), 0.0), problem.parameter_rows(at.point))
