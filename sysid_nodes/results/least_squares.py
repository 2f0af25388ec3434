# SPDX-License-Identifier: Apache-2.0
"""Result of a trajectory least-squares solve."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

Point = TypeVar("Point")


class SolveStatus(IntEnum):
    """Reason that a solver stopped."""

    CONVERGED_COST = 0
    CONVERGED_STEP = 1
    CONVERGED_GRADIENT = 2
    CONVERGED_ROUNDING = 3
    MAX_ITERATIONS = 4
    TIME_LIMIT = 5
    STALLED = 6
    NOT_FINITE = 7
    INFEASIBLE = 8

    @property
    def converged(self) -> bool:
        """The point is a stationary point to the tolerances asked for, or to working precision."""
        return self <= SolveStatus.CONVERGED_ROUNDING

    @property
    def message(self) -> str:
        """One sentence for people."""
        return _MESSAGES[self]


_MESSAGES = {
    SolveStatus.CONVERGED_COST: "converged: the cost no longer falls",
    SolveStatus.CONVERGED_STEP: "converged: the steps are small",
    SolveStatus.CONVERGED_GRADIENT: "converged: the gradient is small",
    SolveStatus.CONVERGED_ROUNDING: "converged: rounding hides any further decrease",
    SolveStatus.MAX_ITERATIONS: "stopped at the iteration limit; the point is the best so far",
    SolveStatus.TIME_LIMIT: "stopped at the time limit; the point is the best so far",
    SolveStatus.STALLED: "no damping gives a step that lowers the cost; the derivatives may be wrong",
    SolveStatus.NOT_FINITE: "residuals or derivatives are not finite at the starting point",
    SolveStatus.INFEASIBLE: "the equality constraints are not met; they may contradict one another",
}


@dataclass(frozen=True)
class Iteration:
    """One iteration, for progress and records.

    Attributes:
        number: from 1.
        cost: after the iteration.
        decrease: of the cost; zero when the step was rejected.
        damping: relative to the Hessian's diagonal.
        gradient: largest |gradient| in units of each coordinate's conditional sigma.
        step: largest step tried, in the same units.
        accepted: whether the step was taken.
        degenerate: the Hessian was not positive definite with this damping; no step was tried.
        elapsed: since the start of the solve [s], by the caller's clock; zero without one.
    """

    number: int
    cost: float
    decrease: float
    damping: float
    gradient: float
    step: float
    accepted: bool
    degenerate: bool
    elapsed: float


@dataclass(frozen=True)
class SolveResult(Generic[Point]):
    """Result of a solve: always the best point it saw.

    Attributes:
        status: why it stopped.
        point: the best point.
        cost: half the sum of squared whitened residuals (after robust losses) there.
        initial_cost: at the start.
        iterations: steps tried, rejected ones included.
        degenerate: of these, how often the Hessian was not positive definite and the damping was raised.
        damping: at the end; a start for the next window.
        elapsed: [s] by the caller's clock; zero without one.
    """

    status: SolveStatus
    point: Point
    cost: float
    initial_cost: float
    iterations: int
    degenerate: int
    damping: float
    elapsed: float
