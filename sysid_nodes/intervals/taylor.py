# SPDX-License-Identifier: Apache-2.0
"""Polynomials in time and their derivatives over time intervals: linear in time plus a remainder."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, perm

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.intervals import rounding
from sysid_nodes.intervals.rounding import Array


@dataclass(frozen=True)
class TimeEnclosure:
    """A function of time over T intervals: `|f(mid + half e) - (centre + slope_term e)| <= remainder` for |e| <= 1.

    `mid` and `half` are those of `time_intervals`, so that functions enclosed over the same edges share the symbol e.

    Attributes:
        centre: (T, ...) value near the middle of each interval.
        slope_term: (T, ...) half the change over the interval, the term of the symbol for time.
        remainder: (T, ...) bound of the rest, rounding included; infinite where numbers overflow.
    """

    centre: Array
    slope_term: Array
    remainder: Array


def time_intervals(edges: npt.ArrayLike) -> tuple[Array, Array]:
    """(T,) middles and (T,) half widths such that `[mid - half, mid + half]` holds the time between two edges.

    Raises:
        InputError: the T + 1 edges are not finite or do not increase.
    """
    t = np.asarray(edges, np.float64)
    if t.ndim != 1 or t.size < 2 or not np.isfinite(t).all() or not (t[1:] > t[:-1]).all():
        raise InputError("time edges must be a vector of at least two finite, increasing times")
    with np.errstate(over="ignore"):
        mid = 0.5 * t[:-1] + 0.5 * t[1:]
        return mid, rounding.next_up(np.maximum(t[1:] - mid, mid - t[:-1]))


def polynomial_enclosure(
    coefficients: npt.ArrayLike, edges: npt.ArrayLike
) -> tuple[TimeEnclosure, TimeEnclosure, TimeEnclosure]:
    """Enclose `p(t) = sum_n coefficients[n] t^n`, `p'` and `p''` over the intervals between consecutive edges.

    About the middle m of an interval of half width h, `p(m + h e) = sum_j b_j h^j e^j` with the finite Taylor
    coefficients `b_j = sum_(n >= j) C(n, j) c_n m^(n - j)`; the d-th derivative has `(j + d)! / j! b_(j + d)` in their
    place. Terms of j >= 2 are bounded: an even power of e lies in [0, 1], so that its term adds one half to the centre
    and one half of its size to the remainder; an odd power lies in [-1, 1].

    Args:
        coefficients: (degree + 1, ...) of the polynomials, lowest power first [unit / s^n].
        edges: (T + 1,) increasing times [s].

    Raises:
        InputError: values that are not finite, edges that do not increase, or no coefficient.
    """
    c = np.asarray(coefficients, np.float64)
    if c.ndim < 1 or not c.shape[0]:
        raise InputError("a polynomial needs at least one coefficient")
    if not np.isfinite(c).all():
        raise InputError("polynomial coefficients must be finite")
    mid, half = time_intervals(edges)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        taylor, errors = _taylor(c, mid)
        return _enclose(taylor, errors, half, 0), _enclose(taylor, errors, half, 1), _enclose(taylor, errors, half, 2)


def _taylor(c: Array, mid: Array) -> tuple[Array, Array]:
    """(N, T, ...) Taylor coefficients about the middles, and bounds of their errors.

    A power takes fewer than N roundings, its binomial coefficient 2 (one of its own, if huge), the sum over n N: fewer
    than 2 N + 4, relative to the sum of the sizes. A power that underflows is of |m| < 1, hence errs by less than TINY
    times the sizes of its factors.
    """
    n = c.shape[0]
    binomials = np.array([[float(comb(k, j)) for k in range(n)] for j in range(n)])
    exponents = np.maximum(np.arange(n) - np.arange(n)[:, None], 0)  # 0 where the binomial is 0
    weights = binomials[:, None, :] * _powers(mid, n)[exponents].transpose(0, 2, 1)
    flat = c.reshape(n, -1)
    shape = (n, mid.size, *c.shape[1:])
    sizes = np.abs(weights) @ np.abs(flat)
    underflow = rounding.TINY * (binomials @ np.abs(flat))[:, None, :]
    errors = rounding.grow((2 * n + 4) * rounding.EPS * sizes + underflow, 2 * n + 8)
    return (weights @ flat).reshape(shape), errors.reshape(shape)


def _powers(x: Array, count: int) -> Array:
    """(count, T) powers 0, 1, ..., each by repeated products."""
    factors = np.broadcast_to(x, (count, *x.shape)).copy()
    factors[0] = 1.0
    return np.cumprod(factors, axis=0, dtype=np.float64)


def _enclose(taylor: Array, errors: Array, half: Array, derivative: int) -> TimeEnclosure:
    """The derivative's enclosure; a term takes at most 2 N + 4 roundings, and its size bounds each of them."""
    if derivative >= len(taylor):
        zero = np.zeros(taylor.shape[1:])
        return TimeEnclosure(zero, zero, zero)
    taylor, errors = taylor[derivative:], errors[derivative:]
    n, blank = len(taylor), (1,) * (taylor.ndim - 2)
    factorials = np.array([float(perm(j + derivative, derivative)) for j in range(n)]).reshape(n, 1, *blank)
    powers = _powers(half, n).reshape(n, half.size, *blank)
    above = rounding.grow(powers, n)
    terms = factorials * taylor * powers
    sizes = factorials * np.abs(taylor) * above
    centre = terms[0] + 0.5 * terms[2::2].sum(axis=0)
    slope = terms[1] if n > 1 else np.zeros_like(centre)
    rest = 0.5 * sizes[2::2].sum(axis=0) + sizes[3::2].sum(axis=0)
    rounded = (2 * n + 6) * rounding.EPS * sizes.sum(axis=0) + (factorials * errors * above).sum(axis=0)
    remainder = rounding.grow(rest + rounded, 4 * n + 8)
    known = np.isfinite(centre) & np.isfinite(slope) & np.isfinite(remainder)
    return TimeEnclosure(np.where(known, centre, 0.0), np.where(known, slope, 0.0), np.where(known, remainder, np.inf))
