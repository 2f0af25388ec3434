# SPDX-License-Identifier: Apache-2.0
"""Pivots of the dual simplex method on a dense tableau, compiled where that was built; see solvers/dual_simplex.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel import dual_simplex_reference, implementation

try:
    from sysid_nodes.kernel import _dual_simplex
except ImportError:
    _dual_simplex = None  # type: ignore[assignment]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

OPTIMAL, ENDLESS = dual_simplex_reference.OPTIMAL, dual_simplex_reference.ENDLESS

TOLERANCES = np.array([1e-9, 1e-9, 1e-6])
"""How far a basic variable may be beyond an end; the smallest entry of the tableau that is not rounding; the smallest
pivot as a share of the largest that would do, below which an earlier one is taken."""


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
    limit: int,
    *,
    kernel: str = "",
) -> int:
    """Pivots until every basic variable is between its ends; all arrays but the ends change in place.

    Args:
        table: (w, d) basic variables as sums of the nonbasic ones.
        basic, nonbasic: (w,) and (d,) which variables they are.
        at_upper: (d,) at which of its ends a nonbasic variable is, the one that `cost` likes better.
        cost: (d,) the objective, to be maximised, as a sum of the nonbasic variables.
        value, place: (w,) and (d,) values of basic and of nonbasic variables.
        lower, upper: finite ends of all variables.
        limit: pivots at most.
        kernel: see `kernel.implementation`.

    Returns:
        OPTIMAL; ENDLESS at the limit; else a row of the table whose variable stays beyond an end wherever the nonbasic
        ones are: there is no solution.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    work: Callable[..., int] = dual_simplex_reference.pivots
    if implementation(kernel) == "compiled" and _dual_simplex is not None:
        work = _dual_simplex.pivots
    return work(table, basic, nonbasic, at_upper, cost, value, place, lower, upper, TOLERANCES, limit)
