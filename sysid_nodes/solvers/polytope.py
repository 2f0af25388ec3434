# SPDX-License-Identifier: Apache-2.0
"""A polytope in a box whose leading coordinates are bounded ever tighter, each bound with its own proof.

Rows may be added and dropped at any time: the set only has to contain the truth, so dropping a row is always sound,
and a bound once proven stays. A linear program is solved again only where its last optimum stopped being feasible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.certificate import proves_empty, upper_bound
from sysid_nodes.solvers.lazy_program import Constraints, LazyProgram, lazy_program
from sysid_nodes.solvers.linear_program import LpStatus

Array = npt.NDArray[np.float64]

_FEASIBLE = 1e-6
"""An optimum outside the set by less than this share of the unit box is not worth another solve."""

_NEGLIGIBLE = 1e-9
"""Multipliers below this share of the largest are solver noise; leaving them out keeps certificates short."""


@dataclass(frozen=True)
class Tightening:
    """Result of a round of solves.

    Attributes:
        solved: objectives that were solved, 2 k for the lower and 2 k + 1 for the upper end of coordinate k.
        empty: (m,) multipliers that prove the polytope empty, or None.
        failed: solves that ended without an optimum and without a proof; their bounds stay.
    """

    solved: tuple[int, ...]
    empty: Array | None
    failed: int


class Polytope:
    """``{x: row_lower <= rows x <= row_upper, lower <= x <= upper}`` with its first k coordinates bounded.

    Args:
        lower: (d,) finite lower ends.
        upper: (d,) finite upper ends.
        k: number of leading coordinates to bound.
    """

    def __init__(self, lower: Array, upper: Array, k: int) -> None:
        d = lower.size
        self.lower, self.upper, self.k = lower.copy(), upper.copy(), k
        self.rows = np.zeros((0, d))
        self.row_lower, self.row_upper = np.zeros(0), np.zeros(0)
        self.multipliers = np.zeros((2 * k, 0))
        self._points = np.full((2 * k, d), np.nan)
        self._programs: dict[int, LazyProgram] = {}
        self._latest = lazy_program(d)

    def objective(self, index: int) -> Array:
        """(d,) direction that is maximised for an objective: minus the coordinate for its lower end."""
        c = np.zeros(self.lower.size)
        c[index // 2] = 1.0 if index % 2 else -1.0
        return c

    @property
    def points(self) -> Array:
        """(2 k, d) last optimum of each objective, NaN before its first solve."""
        return self._points

    def add(self, rows: Array, row_lower: Array, row_upper: Array) -> npt.NDArray[np.bool_]:
        """Adds (m, d) rows, leaving out those that hold everywhere in the box; returns which were kept (m,)."""
        centre, radius = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        middle, reach = rows @ centre, np.abs(rows) @ radius
        kept = (middle + reach > row_upper) | (middle - reach < row_lower)
        count = int(kept.sum())
        if count:
            self.rows = np.vstack([self.rows, rows[kept]])
            self.row_lower = np.concatenate([self.row_lower, row_lower[kept]])
            self.row_upper = np.concatenate([self.row_upper, row_upper[kept]])
            self.multipliers = np.hstack([self.multipliers, np.zeros((2 * self.k, count))])
        return np.asarray(kept)

    def set_sides(self, row_lower: Array, row_upper: Array) -> None:
        """Moves the sides of all rows."""
        self.row_lower, self.row_upper = row_lower, row_upper

    def remove(self, indices: npt.NDArray[np.intp]) -> None:
        """Drops rows; solves that rested on one of them start afresh, bounds already proven stay."""
        if not indices.size:
            return
        keep = np.ones(self.rows.shape[0], dtype=bool)
        keep[indices] = False
        self.rows, self.row_lower, self.row_upper = self.rows[keep], self.row_lower[keep], self.row_upper[keep]
        self.multipliers = self.multipliers[:, keep]
        for program in {*self._programs.values(), self._latest}:
            program.remove(keep, self.rows)

    def usefulness(self) -> Array:
        """(m,) how much the rows carry the present bounds: largest multiplier, then nearness to the optima."""
        if not self.rows.size:
            return np.zeros(0)
        weight = np.abs(self.multipliers).max(axis=0, initial=0.0)
        known = self._points[~np.isnan(self._points[:, 0])]
        if not known.size:
            return np.asarray(weight)
        values = known @ self.rows.T
        slack = np.minimum(self.row_upper - values, values - self.row_lower).min(axis=0)
        scale = np.linalg.norm(self.rows, axis=1) + 1e-300
        return np.asarray(weight + 1e-6 / (1.0 + np.maximum(slack, 0.0) / scale))

    def tighten(self, limit: int | None = None) -> Tightening:
        """Solves objectives whose last optimum is no longer feasible and moves the proven bounds inward.

        Args:
            limit: solve no more than this many, the most infeasible first; the others keep their bounds.
        """
        solved: list[int] = []
        failed = 0
        within = Constraints.of(self.rows, self.row_lower, self.row_upper, self.lower, self.upper)
        violation = self._violation(within)
        order = np.argsort(-violation, kind="stable")
        for index in order[violation[order] > _FEASIBLE][:limit]:
            c = self.objective(index)
            self._latest = self._programs.get(index) or self._latest.copy()
            self._programs[index] = self._latest
            solution = self._latest.maximise(c, within, _FEASIBLE)
            solved.append(int(index))
            y = solution.multipliers
            y = np.where(np.abs(y) > _NEGLIGIBLE * np.abs(y).max(initial=0.0), y, 0.0)
            if solution.status is LpStatus.INFEASIBLE and proves_empty(
                self.rows, self.row_lower, self.row_upper, self.lower, self.upper, y
            ):
                return Tightening(tuple(solved), y, failed)
            if solution.status is not LpStatus.OPTIMAL:
                del self._programs[index]
                self._latest = lazy_program(c.size)
                failed += 1
                continue
            self._points[index] = solution.x
            bound = upper_bound(c, self.rows, self.row_lower, self.row_upper, self.lower, self.upper, y)
            coordinate, is_upper = divmod(int(index), 2)
            if is_upper and bound < self.upper[coordinate]:
                self.upper[coordinate] = bound
                self.multipliers[index] = y
            elif not is_upper and -bound > self.lower[coordinate]:
                self.lower[coordinate] = -bound
                self.multipliers[index] = y
            if self.lower[coordinate] > self.upper[coordinate]:
                # Two proven bounds that cross prove the set empty as well: add up their multipliers.
                both = self.multipliers[2 * coordinate] + self.multipliers[2 * coordinate + 1]
                return Tightening(tuple(solved), both, failed)
        return Tightening(tuple(solved), None, failed)

    def _violation(self, within: Constraints) -> Array:
        """(2 k,) how far each objective's last optimum is outside, in unit boxes; inf before its first solve."""
        violation = np.full(2 * self.k, np.inf)
        known = np.flatnonzero(~np.isnan(self._points[:, 0]))
        if not known.size:
            return violation
        points = self._points[known]
        outside = np.maximum(points - self.upper, self.lower - points).max(axis=1)
        if self.rows.size:
            outside = np.maximum(outside, within.excess(points).max(axis=1))
        violation[known] = outside
        return violation
