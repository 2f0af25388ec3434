# SPDX-License-Identifier: Apache-2.0
"""Explains an empty set: the assumption whose smallest relaxation makes the data possible again is the one to doubt.

And says how near to empty one is that is not: where the data leave hardly any room, an error that the assumptions lack
has bent the set, and the truth may well be outside.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.results.identification import Contradiction
from sysid_nodes.solvers.linear_program import LinearProgram, LpStatus
from sysid_nodes.systems.interval.feasible_set import FeasibleSet
from sysid_nodes.systems.interval.momentum_rows import CAUSES, ROUNDING, TORQUE_ABSOLUTE, MomentumRows, select
from sysid_nodes.systems.interval.unknowns import BODY, Unknowns

Array = npt.NDArray[np.float64]

_LARGEST = 1e3
"""Relaxations beyond this factor are reported as no explanation."""

_TOLERANCE = 1e-6
"""By which a program's optimum may be outside of rows, whose largest entry is about 1."""

_CONFIRM_CHANGE = 10
"""Windows after a contradiction that must agree with one another before it is called a changed payload."""


class ChangeWatch:
    """Distinguishes a changed payload from a false assumption, by the windows that follow a contradiction.

    Args:
        before: bounds proven before the contradiction.
        fresh: a set that knows nothing of the payload.
        start: stamp of its first data [s].
    """

    def __init__(self, before: Bounds, fresh: FeasibleSet, start: float) -> None:
        self._before, self._after, self._start = before, fresh, start
        self._count = 0
        self._done = False

    def step(self, rows: MomentumRows, ids: npt.NDArray[np.int64]) -> float | None:
        """Takes the rows of more windows; returns the time of the change once it is certain.

        The windows must agree with one another and prove another value of some parameter than those before.
        Agreement alone is not enough: a torque bias contradicts the data only now and then.
        """
        if self._done:
            return None
        since = rows.t[:, 0] >= self._start  # windows in a row may begin before
        rows, ids = select(rows, since), ids[since]
        if not len(ids):
            return None
        self._after.step(rows, ids)
        self._count += len(np.unique(ids))  # sums of windows have the id of one of them
        self._done = self._after.empty is not None
        if self._done or self._count < _CONFIRM_CHANGE:
            return None
        later = self._after.bounds
        self._done = bool(((later.lower > self._before.upper) | (later.upper < self._before.lower)).any())
        return self._start if self._done else None


def explain(empty: FeasibleSet, unknowns: Unknowns) -> Contradiction:
    """Windows in the proof of emptiness and, for each assumption, how much it would have to grow.

    Args:
        empty: a set that was proven empty.
        unknowns: the box it lives in.
    """
    windows = empty.clashing_windows()
    index = {int(window): k for k, window in enumerate(empty.windows)}
    times = np.array([empty.times[index[int(window)]] for window in windows]).reshape(-1, 2)
    factors = relaxations(empty, unknowns)
    best = min(factors, key=lambda name: factors[name])
    return Contradiction(tuple(int(window) for window in windows), times, best, factors)


def relaxations(empty: FeasibleSet, unknowns: Unknowns) -> Mapping[str, float]:
    """For each assumption alone, the factor on its uncertainty that makes the rows kept feasible; inf if none."""
    rows, radius, low, high = _rows(empty)
    factors: dict[str, float] = {}
    for k, cause in enumerate(CAUSES):
        if cause != ROUNDING and radius[:, k].max(initial=0.0) > 0.0:
            factors[cause] = _smallest_relaxation(rows, low, high, radius[:, k], np.zeros(unknowns.size, dtype=bool))
    for group in sorted(set(unknowns.groups)):
        mask = np.array([name == group for name in unknowns.groups])
        factors["prior of the body" if group == BODY else group] = _smallest_relaxation(
            rows, low, high, np.zeros(len(low)), mask
        )
    return factors


def error_needed(kept: FeasibleSet) -> tuple[float, Array]:
    """Share of the absolute torque noise that the rows kept need, at most 1 where they are feasible and 0 for none.

    And unknowns (d,) that need no more; NaN where no share will do.
    """
    rows, radius, low, high = _rows(kept)
    give = radius[:, CAUSES.index(TORQUE_ABSOLUTE)]
    return _least_relaxed(rows, low, high, give, np.zeros(rows.shape[1], dtype=bool), least=-1.0)


def error_needed_at(kept: FeasibleSet, xi: Array) -> float:
    """The same share for unknowns (d,) inside their box: of all such shares `error_needed` is the least."""
    rows, radius, low, high = _rows(kept)
    give = radius[:, CAUSES.index(TORQUE_ABSOLUTE)]
    over = np.maximum(low - rows @ xi, rows @ xi - high)  # infinite ends of cuts included
    loose = give > 0.0
    if (over[~loose] > _TOLERANCE).any():
        return float("inf")
    return 1.0 + float((over[loose] / give[loose]).max(initial=-1.0))


def _rows(kept: FeasibleSet) -> tuple[Array, Array, Array, Array]:
    """Rows (m, d), radii by cause (m, causes) and the ends (m,) that follow; of cuts, without a radius, their own."""
    rows, offset, radius = kept.relaxation_rows()
    total = radius.sum(axis=1)
    cut = ~np.isfinite(kept.polytope.row_upper)
    low = np.where(cut, kept.polytope.row_lower, -total - offset)
    return rows, radius, low, np.where(cut, np.inf, total - offset)


def _smallest_relaxation(rows: Array, low: Array, high: Array, give: Array, free: npt.NDArray[np.bool_]) -> float:
    return _least_relaxed(rows, low, high, give, free, least=0.0)[0]


def _least_relaxed(
    rows: Array, low: Array, high: Array, give: Array, free: npt.NDArray[np.bool_], *, least: float
) -> tuple[float, Array]:
    """Factor 1 + s with the least s >= least where low - s give <= rows xi <= high + s give, |xi_free| <= 1 + s; xi."""
    m, d = rows.shape
    reach = np.where(free, 1.0 + _LARGEST, 1.0)
    program = LinearProgram(np.append(-reach, least), np.append(reach, _LARGEST))
    infinite = np.full(m, np.inf)
    program.add_rows(np.column_stack([rows, -give]), -infinite, high)
    program.add_rows(np.column_stack([rows, give]), low, infinite)
    if free.any():
        box = np.eye(d)[free]
        ones = np.ones((box.shape[0], 1))
        limit = np.full(box.shape[0], np.inf)
        program.add_rows(np.hstack([box, -ones]), -limit, np.ones(len(limit)))
        program.add_rows(np.hstack([box, ones]), -np.ones(len(limit)), limit)
    c = np.zeros(d + 1)
    c[-1] = -1.0
    solution = program.maximise(c)
    if solution.status is not LpStatus.OPTIMAL:
        return float("inf"), np.full(d, np.nan)
    return 1.0 + float(solution.x[-1]), solution.x[:-1]
