# SPDX-License-Identifier: Apache-2.0
"""Linear programs of some dozen unknowns, solved again and again by the dual simplex method on a dense tableau.

max c'x with ``lower <= x <= upper`` and ``row_lower <= A x <= row_upper``, everything finite: then every vertex is dual
feasible once each of its d nonbasic variables is at the end that the objective likes better, and a solve starts from
wherever the last one ended, whether sides, rows or objective have changed since. Nothing here has to be trusted:
certificate.py makes bounds of any multipliers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.dual_simplex_reference import ENDLESS, OPTIMAL, pivots
from sysid_nodes.solvers.linear_program import LpSolution, LpStatus

Array = npt.NDArray[np.float64]

TOLERANCES = np.array([1e-9, 1e-9, 1e-6])
"""How far a basic variable may be beyond an end; the smallest entry of the tableau that is not rounding; the smallest
pivot as a share of the largest that would do, below which an earlier one is taken."""

PERTURBATION = 1e-9
"""Of the reduced costs: ties, of which coordinates as objectives are full, would let the method stall."""

ITERATIONS = 20
"""Pivots that a solve may take for each row and unknown; a healthy one takes less than one."""


class DualSimplex:
    """A program over d unknowns, with rows and sides that change. Variables 0 .. d - 1 are x, the others the rows."""

    def __init__(self, d: int) -> None:
        self._rows = np.zeros((0, d))
        self._table, self._basic = np.zeros((0, d)), np.zeros(0, dtype=np.int64)
        self._nonbasic, self._at_upper = np.arange(d), np.zeros(d, dtype=bool)

    def copy(self) -> DualSimplex:
        """Another one at the same vertex."""
        new = DualSimplex(self._rows.shape[1])
        new._rows = self._rows
        new._table, new._basic, new._nonbasic = self._table.copy(), self._basic.copy(), self._nonbasic.copy()
        new._at_upper = self._at_upper.copy()
        return new

    def enter(self, rows: Array) -> None:
        """Appends rows (k, d)."""
        first = sum(self._rows.shape)
        self._table = np.concatenate([self._table, self._express(rows)])
        self._basic = np.concatenate([self._basic, np.arange(first, first + len(rows))])
        self._rows = np.concatenate([self._rows, rows])

    def remove(self, indices: npt.NDArray[np.intp]) -> None:
        """Drops rows; where one of them was binding, the next solve starts afresh."""
        d = self._rows.shape[1]
        keep = np.ones(d + len(self._rows), dtype=bool)
        keep[d + indices] = False
        self._rows = self._rows[keep[d:]]
        if not keep[self._nonbasic].all():
            self.restart()
            return
        number, stays = np.cumsum(keep) - 1, keep[self._basic]
        self._table, self._basic = self._table[stays], number[self._basic[stays]]
        self._nonbasic = number[self._nonbasic]

    def maximise(self, c: Array, lower: Array, upper: Array) -> LpSolution:
        """Solves for an objective (d,) over ends (d + m,) of the unknowns and of the rows, all finite."""
        d, m = c.size, len(self._rows)
        cost = self._cost(c)
        self._at_upper = np.where(np.abs(cost) > PERTURBATION, cost > 0.0, self._at_upper)
        uneven = 0.5 + np.modf(np.arange(d) * 0.618034)[0]
        cost += np.where(self._at_upper, PERTURBATION, -PERTURBATION) * uneven
        place = np.where(self._at_upper, upper[self._nonbasic], lower[self._nonbasic])
        value = self._table @ place
        end = pivots(
            self._table, self._basic, self._nonbasic, self._at_upper, cost, value, place, lower, upper, TOLERANCES,
            ITERATIONS * (d + m),
        )  # fmt: skip
        if end == ENDLESS:
            return LpSolution(LpStatus.FAILED, np.zeros(d), np.zeros(m))
        multipliers = np.zeros(d + m)
        if end != OPTIMAL:
            # variable = table row: multiplied by the sides that the nonbasic ones are at, a contradiction (Farkas).
            sign = 1.0 if value[end] > upper[self._basic[end]] else -1.0
            multipliers[self._nonbasic], multipliers[self._basic[end]] = -sign * self._table[end], sign
            return LpSolution(LpStatus.INFEASIBLE, np.zeros(d), multipliers[d:])
        multipliers[self._nonbasic] = self._cost(c)
        x = np.zeros(d + m)
        x[self._nonbasic], x[self._basic] = place, value
        return LpSolution(LpStatus.OPTIMAL, x[:d], multipliers[d:])

    def restart(self) -> None:
        """Goes back to the vertex at which no row binds."""
        m, d = self._rows.shape
        self._table = self._rows.copy()
        self._basic, self._nonbasic = np.arange(d, d + m), np.arange(d)
        self._at_upper = np.zeros(d, dtype=bool)

    def _express(self, rows: Array) -> Array:
        """(k, d) rows of x as sums of the nonbasic variables."""
        wanted = np.zeros((len(rows), sum(self._rows.shape)))
        wanted[:, : rows.shape[1]] = rows
        return np.asarray(wanted[:, self._basic] @ self._table + wanted[:, self._nonbasic])

    def _cost(self, c: Array) -> Array:
        """(d,) the same of an objective (d,), most of whose entries are zero."""
        cost = np.zeros(c.size)
        for k in np.flatnonzero(c):
            where = np.flatnonzero(self._basic == k)
            cost += c[k] * (self._table[where[0]] if where.size else self._nonbasic == k)
        return cost
