# SPDX-License-Identifier: Apache-2.0
"""Sine and cosine over ranges: enclosures, and linear approximations with a proven error."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.intervals.rounding import EPS, LIBM, TINY, Array, grow

WIDEST_LINEAR = 2.0
"""Radius above which a linear approximation of a sine is not worth trying [rad]."""

ALWAYS_LINEAR = 0.5
"""Radius up to which a linear approximation is at most 1.5 times as wide as the range, wherever the centre is [rad]."""

WIDEST_RATIO = 1.5
"""How much wider than the range a linear approximation may be; in exchange it keeps the symbols."""


class Line(NamedTuple):
    """`|f(centre + d) - (value + slope * d)| <= error` for every `|d| <= radius`."""

    value: Array
    slope: Array
    error: Array


def sine_range(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Lower and upper bounds of the sine over `[lower, upper]`, whose ends may be infinite."""
    return _range(lower, upper, np.sin, crest=0.5 * np.pi)


def cosine_range(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Lower and upper bounds of the cosine over `[lower, upper]`, whose ends may be infinite."""
    return _range(lower, upper, np.cos, crest=0.0)


def _range(lower: Array, upper: Array, wave: Callable[[Array], Array], *, crest: float) -> tuple[Array, Array]:
    """Extremes are at the ends, or 1 and -1 where a crest or a trough may lie between them."""
    ends = [wave(np.where(np.isfinite(x), x, 0.0)) for x in (lower, upper)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    low, high = low - (LIBM * np.abs(low) + TINY), high + (LIBM * np.abs(high) + TINY)
    low = np.where(_may_hold(lower, upper, crest + np.pi), -1.0, np.maximum(low, -1.0))
    high = np.where(_may_hold(lower, upper, crest), 1.0, np.minimum(high, 1.0))
    return low, high


def _may_hold(lower: Array, upper: Array, point: float) -> npt.NDArray[np.bool_]:
    """Whether `point + 2 pi k` may lie in the interval for some integer k; True in doubt.

    The turns counted from `point` err by at most 6 U (|turns| + 1), by the roundings of pi, a difference and a
    quotient.
    """
    with np.errstate(invalid="ignore"):
        first, last = (lower - point) / (2.0 * np.pi), (upper - point) / (2.0 * np.pi)
        slack = 8.0 * EPS * (np.maximum(np.abs(first), np.abs(last)) + 1.0)
        return ~(np.floor(last + slack) < np.ceil(first - slack))


def linear_waves(centre: Array, radius: Array) -> tuple[Line, Line]:
    """Linear approximations of sine and cosine.

    With s, k the sine and cosine of the centre c, `sin(c + d) = s cos d + k sin d`, `cos(c + d) = k cos d - s sin d`.
    For |d| <= r,

        cos d = 1 - h / 2 +- h / 2,    h = r^2 / 2 - r^4 / 24 + r^6 / 720 >= 1 - cos r,
        sin d = (1 - r^2 / 8) d +- (r^3 / 24 + r^5 / 120).

    The first holds as h grows with r. The second holds as sin d exceeds d - d^3 / 6 by at most d^5 / 120 for d >= 0,
    and |r^2 d / 8 - d^3 / 6| reaches r^3 / 24, at d = r / 2 and d = r, and not more.

    Rounding, for r <= 2: s and k err by 4 ulp or 8 U and enter with weights of at most 1; value, slope and the caller's
    product of the slope with terms that sum to r err by less than 8 U; `grow` covers the errors of h and of the bounds
    themselves, which are relative. The errors carry 64 U.

    Where the radius is too large for this to be tight, the slope is 0 and value and error are those of the range. The
    radius may be infinite, and must be where the centre is not finite.
    """
    r = np.minimum(radius, WIDEST_LINEAR)
    known = np.where(np.isfinite(centre), centre, 0.0)
    s, k = np.sin(known), np.cos(known)
    q = r * r
    bend = 0.5 * q * (0.5 - q * (1.0 / 24.0 - q * (1.0 / 720.0)))  # h / 2
    even, odd = 1.0 - bend, 1.0 - 0.125 * q
    error = r * q * (1.0 / 24.0 + q * (1.0 / 120.0))
    size_s, size_k = np.abs(s), np.abs(k)
    slack = 32.0 * EPS
    sine = Line(s * even, k * odd, grow(size_s * bend + size_k * error, 16) + slack)
    cosine = Line(k * even, -s * odd, grow(size_k * bend + size_s * error, 16) + slack)
    if (radius <= ALWAYS_LINEAR).all() and np.isfinite(centre).all():
        return sine, cosine
    with np.errstate(invalid="ignore", over="ignore"):
        lower, upper = np.nextafter(centre - radius, -np.inf), np.nextafter(centre + radius, np.inf)
    return (
        _pick_narrower(sine, sine_range(lower, upper), radius),
        _pick_narrower(cosine, cosine_range(lower, upper), radius),
    )


def _pick_narrower(line: Line, ends: tuple[Array, Array], radius: Array) -> Line:
    """The line where it is valid and not much wider than the range, else a level line through the range's middle."""
    middle, half = 0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0]) + 2.0 * EPS
    with np.errstate(invalid="ignore", over="ignore"):
        width = np.abs(line.slope) * radius + line.error
        keep = (radius <= WIDEST_LINEAR) & (width <= WIDEST_RATIO * half) | (radius <= ALWAYS_LINEAR)
    return Line(np.where(keep, line.value, middle), np.where(keep, line.slope, 0.0), np.where(keep, line.error, half))
