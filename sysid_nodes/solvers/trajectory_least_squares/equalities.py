# SPDX-License-Identifier: Apache-2.0
"""Hard equalities by the method of multipliers (Hestenes, Powell) on the same banded structure.

    min f(x) + y'c(x) + sum_i rho_i c_i(x)^2 / 2,   then   y += rho c,

whose inner problem is least squares with the further residuals sqrt(rho) (c + y / rho). Equalities couple the same
windows as residuals do, so an iteration stays linear in the number of stages. Penalties are set per row, in units of
the standard deviation that the linearised data alone would leave to c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol

import numpy as np

from sysid_nodes.data.config import option, section
from sysid_nodes.results.least_squares import Iteration, SolveResult, SolveStatus
from sysid_nodes.solvers.trajectory_least_squares.levenberg_marquardt import LevenbergMarquardtConfig, minimise
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout, Point, Problem
from sysid_nodes.solvers.trajectory_least_squares.robust import cost
from sysid_nodes.solvers.trajectory_least_squares.timer import Timer


class ConstrainedProblem(Problem[Point], Protocol[Point]):
    """A problem with equalities c(x) = 0 that couple stages, parameters and local variables as residuals may."""

    def equalities(self, point: Point) -> Sequence[Blocks]:
        """Values of c as `residual`, with derivatives; at most as many as leave room for the unknowns."""

    def equality_values(self, point: Point) -> Sequence[Array]:
        """(B, m) values alone, in the same order."""


@dataclass(frozen=True)
class EqualityConfig:
    """Penalties and stopping rules of the method of multipliers."""

    tolerance: float = option(1e-6, "largest violation, in sigmas that the data alone leave to it", minimum=0.0)
    initial_penalty: float = option(100.0, "inverse variance of an equality in the first round", minimum=0.0)
    growth: float = option(10.0, "of the penalty, where a round does not reduce violations enough", minimum=1.0)
    maximum_penalty: float = option(1e8, "largest penalty", minimum=1.0)
    reduction: float = option(0.1, "of violations per round that keeps the penalty", minimum=0.0, maximum=1.0)
    max_rounds: int = option(30, "multiplier updates at most", minimum=1)
    inner: LevenbergMarquardtConfig = section(LevenbergMarquardtConfig, "the least-squares problem of a round")


@dataclass(frozen=True)
class ConstrainedResult(SolveResult[Point], Generic[Point]):
    """Solution under equalities. The cost is without penalties.

    Attributes:
        multipliers: y for each group of equalities, (B, m): the gradient of the cost is -C'y.
        violation: largest |c| in sigmas that the data alone leave to it.
        rounds: multiplier updates.
    """

    multipliers: Sequence[Array]
    violation: float
    rounds: int


@dataclass(frozen=True)
class _Penalised(Generic[Point]):
    """The inner least-squares problem."""

    problem: ConstrainedProblem[Point]
    roots: Sequence[Array]
    shifts: Sequence[Array]

    @property
    def layout(self) -> Layout:
        return self.problem.layout

    def linearise(self, point: Point) -> Sequence[Blocks]:
        rows = zip(self.problem.equalities(point), self.roots, self.shifts, strict=True)
        return [*self.problem.linearise(point), *(_weight(blocks, root, shift) for blocks, root, shift in rows)]

    def residuals(self, point: Point) -> Sequence[Array]:
        rows = zip(self.problem.equality_values(point), self.roots, self.shifts, strict=True)
        return [*self.problem.residuals(point), *(root * (value + shift) for value, root, shift in rows)]

    def retract(self, point: Point, stage_step: Array, parameter_step: Array, local_step: Array) -> Point:
        return self.problem.retract(point, stage_step, parameter_step, local_step)


def solve_constrained(
    problem: ConstrainedProblem[Point],
    start: Point,
    config: EqualityConfig | None = None,
    *,
    clock: Callable[[], float] | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> ConstrainedResult[Point]:
    """Minimises a problem under its equalities; the start need not satisfy them.

    Args:
        problem: residuals and equalities.
        start: first point.
        config: penalties and stopping rules; the inner time limit bounds the whole solve.
        clock: monotonic time [s]; needed with a time limit.
        progress: called after every inner step tried; its cost is that of the penalised problem.

    Returns:
        INFEASIBLE where rounds or penalty ran out before the equalities held.

    Raises:
        SamplesError: blocks do not fit the layout, or a time limit was given without a clock.
    """
    config = config or EqualityConfig()
    return _Multipliers(problem, start, config).run(Timer(clock, config.inner.time_limit), progress)


class _Multipliers(Generic[Point]):
    """State of a solve: the point, the multipliers and the penalty."""

    def __init__(self, problem: ConstrainedProblem[Point], start: Point, config: EqualityConfig) -> None:
        self._problem, self._config, self._point = problem, config, start
        groups, values = problem.linearise(start), problem.equality_values(start)
        self._losses = [blocks.loss for blocks in groups]
        self._initial_cost = cost([blocks.residual for blocks in groups], self._losses)
        self._sigmas = _sigmas(groups, problem.equalities(start), problem.layout)
        self._multipliers = [np.zeros(value.shape) for value in values]
        self._violation = _violation(values, self._sigmas)
        self._penalty, self._damping = config.initial_penalty, config.inner.initial_damping
        self._rounds = self._iterations = self._degenerate = 0

    def run(self, timer: Timer, progress: Callable[[Iteration], None] | None) -> ConstrainedResult[Point]:
        """Solves inner problems until the equalities hold or there is a reason to stop."""
        status = SolveStatus.INFEASIBLE
        while self._rounds < self._config.max_rounds:
            before = self._violation
            status = self._solve_round(timer, progress)
            if status not in (SolveStatus.INFEASIBLE, SolveStatus.MAX_ITERATIONS) or not self._may_continue(before):
                break
        return ConstrainedResult(
            status,
            self._point,
            cost(self._problem.residuals(self._point), self._losses),
            self._initial_cost,
            self._iterations,
            self._degenerate,
            self._damping,
            timer.elapsed(),
            self._multipliers,
            self._violation,
            self._rounds,
        )

    def _solve_round(self, timer: Timer, progress: Callable[[Iteration], None] | None) -> SolveStatus:
        """Minimises at the present penalty and updates the multipliers."""
        self._rounds += 1
        weights = [self._penalty / sigma**2 for sigma in self._sigmas]
        shifts = [y / weight for y, weight in zip(self._multipliers, weights, strict=True)]
        inner = _Penalised(self._problem, [np.sqrt(weight) for weight in weights], shifts)
        # The constant y^2 / rho in the inner cost would make a relative decrease look small.
        rules = replace(self._config.inner, cost_tolerance=0.0, initial_damping=self._damping)
        found = minimise(inner, self._point, rules, timer, progress)
        self._point, self._damping = found.point, min(found.damping, self._config.inner.initial_damping)
        self._iterations, self._degenerate = self._iterations + found.iterations, self._degenerate + found.degenerate
        values = self._problem.equality_values(self._point)
        self._multipliers = [y + weight * c for y, weight, c in zip(self._multipliers, weights, values, strict=True)]
        self._violation = _violation(values, self._sigmas)
        if not found.status.converged and found.status is not SolveStatus.MAX_ITERATIONS:
            return found.status
        return found.status if self._violation <= self._config.tolerance else SolveStatus.INFEASIBLE

    def _may_continue(self, before: float) -> bool:
        """Raises the penalty where the violation did not fall enough; False when it is at its largest already."""
        if self._violation > self._config.reduction * before:
            if self._penalty >= self._config.maximum_penalty:
                return False
            self._penalty = min(self._config.maximum_penalty, self._penalty * self._config.growth)
        return True


def _weight(blocks: Blocks, root: Array, shift: Array) -> Blocks:
    rows = root[:, :, None]
    return replace(
        blocks,
        residual=root * (blocks.residual + shift),
        jacobian=blocks.jacobian * rows,
        parameter_jacobian=None if blocks.parameter_jacobian is None else blocks.parameter_jacobian * rows,
        local_jacobian=None if blocks.local_jacobian is None else blocks.local_jacobian * rows,
        loss=None,
    )


def _violation(values: Sequence[Array], sigmas: Sequence[Array]) -> float:
    return max(
        (float(np.abs(c / sigma).max(initial=0.0)) for c, sigma in zip(values, sigmas, strict=True)), default=0.0
    )


def _sigmas(groups: Sequence[Blocks], equalities: Sequence[Blocks], layout: Layout) -> list[Array]:
    """(B, m) standard deviation of each equality if all coordinates were independent; its row's norm where unknown."""
    stage, parameter, local = assemble(groups, layout).diagonals()
    if local.shape[1] != layout.local:  # no residual holds local variables
        local = np.zeros((layout.stages, layout.local))
    found = []
    for blocks in equalities:
        width = blocks.jacobian.shape[2] // layout.size
        window = stage[blocks.first[:, None] + np.arange(width)].reshape(blocks.first.size, 1, width * layout.size)
        squared = _spread(blocks.jacobian, window)
        if blocks.parameter_jacobian is not None:
            squared += _spread(blocks.parameter_jacobian, parameter[None, None])
        if blocks.local_jacobian is not None and blocks.local is not None:
            squared += _spread(blocks.local_jacobian, local[blocks.local][:, None])
        found.append(np.sqrt(np.where(squared > 0.0, squared, 1.0)))
    return found


def _spread(jacobian: Array, information: Array) -> Array:
    """(B, m) sum of squares of rows over the information of their columns; columns without any count as one."""
    known = np.where(information > 0.0, information, 1.0)
    return np.asarray((jacobian**2 / known).sum(axis=2))
