# SPDX-License-Identifier: Apache-2.0
"""A few Gauss-Newton steps on a window that was almost solved before: the real-time iteration.

Diehl et al., Real-time optimization and nonlinear model predictive control (2002): problems that follow one another are
not each iterated to the end; each gets a step from the shifted answer of the one before. Steps are undamped unless the
cost rises; then they are damped as Levenberg and Marquardt do, so that no step is ever for the worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.least_squares import SolveResult, SolveStatus
from sysid_nodes.solvers.trajectory_least_squares import Blocks, assemble
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, factorise
from sysid_nodes.solvers.trajectory_least_squares.robust import cost, fits
from sysid_nodes.solvers.trajectory_least_squares.timer import Timer
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

_DAMPINGS = (0.0, 1e-3, 1e-1, 10.0)
"""Tried one after the other until the cost falls."""

_LEFT = 2.0
"""Cost by which a step's decrease may differ from the linear model's where that holds: about what is then left, half
the square of a distance in sigmas of all unknowns. A share of the decrease instead would leave more the farther a
window was off, as where feet leave the ground."""


@dataclass(frozen=True)
class Improved:
    """A window after its steps.

    Attributes:
        problem: of the window.
        linearised: point at which the blocks below are, from which the last step was taken.
        blocks: residuals with derivatives there.
        factor: undamped, of their normal equations; None where they leave a coordinate undetermined.
        result: of the steps.
        residuals: at the result, not at the prediction that the last step began from.
    """

    problem: PrimeProblem
    linearised: Trajectory
    blocks: tuple[Blocks, ...]
    factor: Factor | None
    result: SolveResult[Trajectory]
    residuals: tuple[Array, ...]

    @property
    def finite(self) -> bool:
        """Whether the result is one at all."""
        return bool(np.isfinite(self.result.cost) and np.isfinite(self.result.point.q).all())

    @property
    def fits(self) -> bool:
        """Whether noise explains the residuals, all together."""
        return fits(self.result.cost, self.residuals)


def improve(problem: PrimeProblem, start: Trajectory, iterations: int, timer: Timer, most: int = 0) -> Improved:
    """Takes up to `iterations` steps, fewer where the timer says so, but always one.

    Up to `most` are taken where those leave residuals that their noise does not explain, or end elsewhere than the
    linear model says: after an impact a step leads past the solution, and the next ones are worth their time.

    The result's status is CONVERGED_COST where the linear model predicted what the last step would do.
    """
    point, used, status = start, 0, SolveStatus.MAX_ITERATIONS
    initial = float("nan")
    while True:
        blocks = tuple(problem.linearise(point))
        losses = [entry.loss for entry in blocks]
        left = tuple(entry.residual for entry in blocks)
        value = cost(left, losses)
        initial = initial if used else value
        if not np.isfinite(value):
            result = SolveResult(SolveStatus.NOT_FINITE, point, value, initial, used, 0, 0.0, timer.elapsed())
            return Improved(problem, point, blocks, None, result, left)
        equations = assemble(blocks, problem.layout)
        undamped = factorise(equations, 0.0)
        used += 1
        trial, reached, damping = point, value, 0.0
        status, degenerate = SolveStatus.STALLED, 0
        for damping in _DAMPINGS:
            factor = undamped if damping == 0.0 else factorise(equations, damping)
            if factor is None:
                degenerate += 1
                continue
            step = factor.step()
            with np.errstate(over="ignore", invalid="ignore"):  # too far a step, of a window that fits nothing
                moved = problem.retract(point, step.stage, step.parameter, step.local)
                after = tuple(problem.residuals(moved))
            there = cost(after, losses)
            if there <= value:
                predicted = step.promise(equations)
                trial, reached, left = moved, there, after
                exact = damping == 0.0 and abs(value - there - predicted) <= _LEFT
                status = SolveStatus.CONVERGED_COST if exact else SolveStatus.MAX_ITERATIONS
                break
        linearised, point = point, trial
        settled = fits(reached, left) and status is SolveStatus.CONVERGED_COST
        last = settled or status is SolveStatus.STALLED or used >= max(iterations, most)
        if not last and timer.is_up():
            status, last = SolveStatus.TIME_LIMIT, True
        if last:
            result = SolveResult(status, point, reached, initial, used, degenerate, damping, timer.elapsed())
            return Improved(problem, linearised, blocks, undamped, result, left)
