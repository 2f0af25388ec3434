# SPDX-License-Identifier: Apache-2.0
"""A linear program with many rows of which few matter: a row enters only once an optimum breaks it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.dual_simplex import compiled_program
from sysid_nodes.solvers.dual_simplex import ITERATIONS, PERTURBATION, TOLERANCES, DualSimplex
from sysid_nodes.solvers.linear_program import LpSolution, LpStatus

if TYPE_CHECKING:
    from sysid_nodes.kernel import _dual_simplex

Array = npt.NDArray[np.float64]

_ENTERING = 16
"""Rows that enter at a time, those that are broken most."""

_CONSTANTS = np.append(TOLERANCES, PERTURBATION)

_STATUS = (LpStatus.OPTIMAL, LpStatus.INFEASIBLE, LpStatus.FAILED)
"""By the compiled program's numbers."""


@dataclass(frozen=True)
class Constraints:
    """``lower <= x <= upper`` and ``row_lower <= rows @ x <= row_upper``: (d,), (m, d) and (m,), all finite.

    Attributes:
        scale: (m,) largest that a row times a point of the unit box may be.
    """

    rows: Array
    row_lower: Array
    row_upper: Array
    lower: Array
    upper: Array
    scale: Array

    @classmethod
    def of(cls, rows: Array, row_lower: Array, row_upper: Array, lower: Array, upper: Array) -> Constraints:
        """With sides that may be infinite: these become such as no point of the box gets to."""
        size = np.abs(rows)
        beyond = size @ np.maximum(np.abs(lower), np.abs(upper)) + 1.0
        sides = np.maximum(row_lower, -beyond), np.minimum(row_upper, beyond)
        return cls(rows, *sides, lower, upper, size.sum(axis=1) + 1e-300)

    def excess(self, points: Array) -> Array:
        """(..., m) how far points (..., d) are beyond the rows' sides, in unit boxes."""
        values = points @ self.rows.T
        return np.asarray(np.maximum(values - self.row_upper, self.row_lower - values) / self.scale)


class LazyProgram(Protocol):
    """The rows that have entered, and the vertex of the last solve."""

    def copy(self) -> LazyProgram:
        """Another one at the same vertex."""

    def remove(self, keep: npt.NDArray[np.bool_], rows: Array) -> None:
        """Drops rows but those (k, d) that it keeps; where one of them was binding, the next solve starts afresh."""

    def maximise(self, c: Array, within: Constraints, tolerance: float) -> LpSolution:
        """Optimum of c (d,) that breaks no row by more than a tolerance in unit boxes; multipliers of all rows."""


def lazy_program(d: int) -> LazyProgram:
    """A program over d unknowns, compiled where that was built."""
    compiled = compiled_program(d)
    return ReferenceProgram(d) if compiled is None else CompiledProgram(compiled)


class CompiledProgram:
    """See `LazyProgram`: one of kernel/dual_simplex.cpp."""

    def __init__(self, program: _dual_simplex.LazyProgram) -> None:
        self._program = program

    def copy(self) -> CompiledProgram:
        """See `LazyProgram`."""
        return CompiledProgram(self._program.copy())

    def remove(self, keep: npt.NDArray[np.bool_], rows: Array) -> None:
        """See `LazyProgram`."""
        self._program.remove(keep, rows)

    def maximise(self, c: Array, within: Constraints, tolerance: float) -> LpSolution:
        """See `LazyProgram`."""
        status, x, multipliers = self._program.maximise(
            c, within.rows, within.row_lower, within.row_upper, within.scale, within.lower, within.upper, tolerance,
            _CONSTANTS, ITERATIONS, _ENTERING,
        )  # fmt: skip
        return LpSolution(_STATUS[status], x, multipliers)


class ReferenceProgram:
    """See `LazyProgram`: in NumPy."""

    def __init__(self, d: int) -> None:
        self._simplex = DualSimplex(d)
        self._entered = np.zeros(0, dtype=np.intp)

    def copy(self) -> ReferenceProgram:
        """See `LazyProgram`."""
        new = ReferenceProgram(0)
        new._simplex, new._entered = self._simplex.copy(), self._entered
        return new

    def remove(self, keep: npt.NDArray[np.bool_], _rows: Array) -> None:
        """See `LazyProgram`."""
        stays = keep[self._entered]
        if not stays.all():
            self._simplex.remove(np.flatnonzero(~stays))
        self._entered = (np.cumsum(keep) - 1)[self._entered[stays]]

    def maximise(self, c: Array, within: Constraints, tolerance: float) -> LpSolution:
        """See `LazyProgram`."""
        fresh = True
        while True:
            at = self._entered
            lower = np.concatenate([within.lower, within.row_lower[at]])
            upper = np.concatenate([within.upper, within.row_upper[at]])
            solution = self._simplex.maximise(c, lower, upper)
            excess = within.excess(solution.x)
            # "not <=" so that what is not a number is worn as well.
            worn = solution.status is LpStatus.FAILED or not excess[at].max(initial=0.0) <= tolerance
            if worn and fresh:  # by rounding, which shows in rows that are broken although they have entered
                fresh = False
                self._simplex.restart()
                continue
            excess[at] = 0.0
            worst = np.flatnonzero(excess > tolerance)
            if solution.status is not LpStatus.OPTIMAL or not worst.size:
                multipliers = np.zeros(len(within.rows))
                multipliers[at] = solution.multipliers
                return replace(solution, multipliers=multipliers)
            worst = worst[np.argsort(-excess[worst], kind="stable")[:_ENTERING]]
            self._simplex.enter(within.rows[worst])
            self._entered = np.concatenate([at, worst])
