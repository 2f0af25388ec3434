# SPDX-License-Identifier: Apache-2.0
"""Pivots of the dual simplex method on a dense tableau, in NumPy.

Basic variables are ``table @ nonbasic``. A basic variable beyond an end goes there and leaves: the one of steepest
edge, whose excess is the longest way in the space of the nonbasic ones (J. J. Forrest, D. Goldfarb, Mathematical
Programming 57, 1992). Nonbasic variables that move it back go to their other end, cheapest first, and the one in whose
range it gets there enters (bound flipping: I. Maros, Computational Techniques of the Simplex Method, 2003, sec. 10.2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

OPTIMAL, ENDLESS = -1, -2


def pivots(
    table: Array,
    basic: Indices,
    nonbasic: Indices,
    at_upper: npt.NDArray[np.bool_],
    cost: Array,
    value: Array,
    place: Array,
    lower: Array,
    upper: Array,
    tolerances: Array,
    limit: int,
) -> int:
    """Pivots until every basic variable is between its ends; all arrays but the ends change in place.

    Args:
        table: (w, d) basic variables as sums of the nonbasic ones.
        basic, nonbasic: (w,) and (d,) which variables they are.
        at_upper: (d,) at which of its ends a nonbasic variable is, the one that `cost` likes better.
        cost: (d,) the objective, to be maximised, as a sum of the nonbasic variables.
        value, place: (w,) and (d,) values of basic and of nonbasic variables.
        lower, upper: finite ends of all variables.
        tolerances: see `TOLERANCES` in solvers/dual_simplex.py.
        limit: pivots at most.

    Returns:
        OPTIMAL; ENDLESS at the limit; else a row of the table whose variable stays beyond an end wherever the nonbasic
        ones are: there is no solution.
    """
    feasible, smallest, stable = tolerances
    for _ in range(limit):
        excess = np.maximum(value - upper[basic], lower[basic] - value)
        far = np.where(excess > feasible, excess**2 / (1.0 + (table**2).sum(axis=1)), 0.0)
        if not far.any():
            return OPTIMAL
        leaving = int(np.argmax(far))
        above = bool(value[leaving] > upper[basic[leaving]])
        target = (upper if above else lower)[basic[leaving]]
        own = table[leaving].copy()
        gain = np.where(at_upper == above, own, -own)
        order = np.flatnonzero(gain > smallest)
        order = order[np.argsort(np.abs(cost[order]) / gain[order], kind="stable")]
        span = np.maximum(0.0, upper[nonbasic[order]] - lower[nonbasic[order]])
        way = np.cumsum(gain[order] * span)
        if not way.size or way[-1] < excess[leaving] - feasible:
            return leaving
        # Where ends touch, rounding may be missing on the whole way.
        chosen = min(int(np.searchsorted(way, excess[leaving])), len(way) - 1)
        while chosen > 0 and gain[order[chosen]] < stable * gain[order].max():
            chosen -= 1
        flips, entering = order[:chosen], order[chosen]
        at_upper[flips] = ~at_upper[flips]
        there = np.where(at_upper[flips], upper[nonbasic[flips]], lower[nonbasic[flips]])
        value += table[:, flips] @ (there - place[flips])
        place[flips] = there
        step = (target - value[leaving]) / own[entering]
        row = -own / own[entering]
        row[entering] = 1.0 / own[entering]
        factor = table[:, entering].copy()
        factor[leaving] = 0.0
        table[:, entering] = 0.0
        table += np.outer(factor, row)
        table[leaving] = row
        reduced, cost[entering] = cost[entering], 0.0
        cost += reduced * row
        value += factor * step
        value[leaving] = place[entering] + step
        place[entering], at_upper[entering] = target, above
        basic[leaving], nonbasic[entering] = nonbasic[entering], basic[leaving]
    return ENDLESS
