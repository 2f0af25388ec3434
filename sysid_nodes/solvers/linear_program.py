# SPDX-License-Identifier: Apache-2.0
"""A linear program over a box, solved once by HiGHS; dual_simplex.py has those that are solved again and again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import highspy
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class LpStatus(Enum):
    """End of a solve."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    FAILED = "failed"


@dataclass(frozen=True)
class LpSolution:
    """Attributes: status; x (d,) point; multipliers (m,) of the rows, or a Farkas ray when infeasible."""

    status: LpStatus
    x: Array
    multipliers: Array


class LinearProgram:
    """max c'x subject to row_lower <= A x <= row_upper and lower <= x <= upper.

    Args:
        lower: (d,) lower ends.
        upper: (d,) upper ends.
        iteration_limit: pivots a solve may take; by default three times the rows and columns, which a healthy solve
            does not come near, while one that cycles would use up any number.
    """

    def __init__(self, lower: Array, upper: Array, *, iteration_limit: int | None = None) -> None:
        self._limit = iteration_limit
        self.size = lower.size
        self._columns = np.arange(self.size, dtype=np.int32)
        self._highs = highspy.Highs()
        for name, value in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("solver", "simplex"),
        ):
            self._highs.setOptionValue(name, value)
        self._highs.addVars(self.size, lower, upper)

    @property
    def row_count(self) -> int:
        return int(self._highs.getNumRow())

    def add_rows(self, rows: Array, lower: Array, upper: Array) -> None:
        """Appends (m, d) rows; sides may be infinite."""
        m = rows.shape[0]
        starts = np.arange(0, rows.size, self.size, dtype=np.int32)
        self._highs.addRows(m, lower, upper, rows.size, starts, np.tile(self._columns, m), rows.ravel())

    def maximise(self, c: Array) -> LpSolution:
        """Solves for one objective (d,)."""
        highs = self._highs
        highs.changeColsCost(self.size, self._columns, -c)
        limit = 3 * (self.row_count + self.size) + 500 if self._limit is None else self._limit
        highs.setOptionValue("simplex_iteration_limit", limit)
        highs.run()
        status = highs.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            solution = highs.getSolution()
            # HiGHS minimises -c'x: its multipliers, and its ray, have the opposite sign of ours.
            x, y = np.array(solution.col_value), -np.array(solution.row_dual)
            return LpSolution(LpStatus.OPTIMAL, x, y)
        nothing = np.zeros(self.row_count)
        if status == highspy.HighsModelStatus.kInfeasible:
            _, has_ray, ray = highs.getDualRay()
            if has_ray:
                return LpSolution(LpStatus.INFEASIBLE, np.zeros(self.size), -np.array(ray, dtype=np.float64))
            return LpSolution(LpStatus.INFEASIBLE, np.zeros(self.size), nothing)
        return LpSolution(LpStatus.FAILED, np.zeros(self.size), nothing)
