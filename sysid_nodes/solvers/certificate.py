# SPDX-License-Identifier: Apache-2.0
"""Bounds that hold in exact arithmetic, from approximate dual multipliers.

For any multipliers y, every x with ``row_lower <= A x <= row_upper`` and ``lower <= x <= upper`` obeys (weak duality)

    c'x = y'(A x) + (c - A'y)'x <= sum_i max(y_i row_lower_i, y_i row_upper_i) + sum_j max(d_j lower_j, d_j upper_j)

with d = c - A'y. The right-hand side is evaluated in floating point and its rounding error is bounded a priori
(N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, sec. 3.1), so the solver that found y need not
be trusted: a bad y gives a weak bound, never a wrong one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_UNIT_ROUNDOFF = np.finfo(np.float64).eps / 2.0
_TINY = np.finfo(np.float64).tiny


def _gamma(terms: int) -> float:
    """Relative error bound of a sum of `terms` products, doubled to cover the evaluation of the bound itself."""
    return 2.0 * terms * _UNIT_ROUNDOFF / (1.0 - 2.0 * terms * _UNIT_ROUNDOFF)


def upper_bound(
    c: Array, rows: Array, row_lower: Array, row_upper: Array, lower: Array, upper: Array, multipliers: Array
) -> float:
    """A proven upper bound of c'x over ``{x: row_lower <= rows x <= row_upper, lower <= x <= upper}``.

    Args:
        c: (d,) objective.
        rows: (m, d) constraint matrix.
        row_lower: (m,) lower sides, -inf where none.
        row_upper: (m,) upper sides, inf where none.
        lower: (d,) finite lower ends of x.
        upper: (d,) finite upper ends of x.
        multipliers: (m,) any dual multipliers; positive ones use the upper side, negative ones the lower side.

    Returns:
        A number not below the true maximum, whatever the multipliers are; inf where the evaluation overflows.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        bound = _dual_value(c, rows, row_lower, row_upper, lower, upper, multipliers)
    return bound if np.isfinite(bound) else float("inf")


def _dual_value(
    c: Array, rows: Array, row_lower: Array, row_upper: Array, lower: Array, upper: Array, multipliers: Array
) -> float:
    """The dual objective plus twice its rounding error; not finite when a product overflows."""
    side = np.where(multipliers > 0.0, row_upper, row_lower)
    used = (multipliers != 0.0) & np.isfinite(side) & np.isfinite(multipliers)
    y, a, b = multipliers[used], rows[used], side[used]
    d = c - y @ a
    reach = np.maximum(np.abs(lower), np.abs(upper))
    terms = y.size + c.size + 4
    d_error = _gamma(terms) * (np.abs(c) + np.abs(y) @ np.abs(a)) + _TINY
    by = y * b
    dx = np.maximum(d * lower, d * upper)
    value = float(by.sum() + dx.sum())
    error = float(d_error @ reach + _gamma(terms) * (np.abs(by).sum() + np.abs(dx).sum())) + _TINY
    return float(np.nextafter(value + 2.0 * error, np.inf))


def proves_empty(
    rows: Array, row_lower: Array, row_upper: Array, lower: Array, upper: Array, multipliers: Array
) -> bool:
    """Whether the multipliers prove (Farkas) that no x satisfies the constraints: max of 0'x would be negative."""
    bound = upper_bound(np.zeros(rows.shape[1]), rows, row_lower, row_upper, lower, upper, multipliers)
    return bound < 0.0


def width_costs(
    rows_radius: Array, box_radius: Array, c: Array, rows: Array, multipliers: Array
) -> tuple[Array, Array]:
    """How much each row radius and each box half-width adds to a certified bound.

    Args:
        rows_radius: (m, k) row radius split into k causes.
        box_radius: (d,) half-width of each unknown.
        c: (d,) objective.
        rows: (m, d) constraint matrix.
        multipliers: (m,) dual multipliers of the bound.

    Returns:
        (k,) share of each cause of row radius and (d,) share of each unknown, in units of the bound.
    """
    return np.abs(multipliers) @ rows_radius, np.abs(c - multipliers @ rows) * box_radius
