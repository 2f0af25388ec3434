# SPDX-License-Identifier: Apache-2.0
"""Arrays of closed intervals with outward rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.intervals import rounding, trigonometry
from sysid_nodes.intervals.rounding import Array, next_down, next_up

Real = Union["Interval", npt.ArrayLike]


@dataclass(frozen=True, eq=False)
class Interval:
    """Array of closed intervals `[lower, upper]`; the ends may be infinite.

    Every operation returns an enclosure of the exact set for real numbers. Elementary operations are rounded to nearest
    and moved one floating-point number outward. Overflow gives an infinite end, and an operation on infinite ends whose
    value is undefined (inf - inf) gives the whole line.

    Attributes:
        lower: infima, any shape.
        upper: suprema, of the same shape.

    Raises:
        InputError: the shapes do not broadcast, an end is NaN, `lower > upper`, or an interval holds no real number.
    """

    lower: Array
    upper: Array

    __array_ufunc__ = None  # ndarray + Interval is this class's business

    def __post_init__(self) -> None:
        try:
            lower, upper = np.broadcast_arrays(np.asarray(self.lower, np.float64), np.asarray(self.upper, np.float64))
        except ValueError:
            shapes = f"{np.shape(self.lower)} and {np.shape(self.upper)}"
            raise InputError(f"interval ends of shapes {shapes} do not broadcast") from None
        if np.isnan(lower).any() or np.isnan(upper).any():
            raise InputError("interval ends must not be NaN")
        if (bad := lower > upper).any():
            k = int(np.argmax(bad))
            raise InputError(f"interval lower {lower.flat[k]:g} above upper {upper.flat[k]:g} at entry {k}")
        if (lower == np.inf).any() or (upper == -np.inf).any():
            raise InputError("an interval must hold a real number, not only an infinity")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @classmethod
    def point(cls, x: npt.ArrayLike) -> Interval:
        """Intervals of no width."""
        x = np.asarray(x, np.float64)
        return cls(x, x)

    @classmethod
    def around(cls, centre: npt.ArrayLike, radius: npt.ArrayLike) -> Interval:
        """`[centre - radius, centre + radius]`, rounded outward; the whole line where that is undefined.

        Raises:
            InputError: a radius is negative or NaN.
        """
        centre, radius = np.asarray(centre, np.float64), np.asarray(radius, np.float64)
        if not (radius >= 0.0).all():
            raise InputError("an interval's radius must not be negative or NaN")
        with np.errstate(over="ignore", invalid="ignore"):
            return _enclosure(next_down(centre - radius), next_up(centre + radius))

    @staticmethod
    def hull(*intervals: Interval) -> Interval:
        """Smallest intervals that hold all the given ones, element by element.

        Raises:
            InputError: no interval is given.
        """
        if not intervals:
            raise InputError("the hull of no intervals is empty")
        first, *others = intervals
        lower, upper = first.lower, first.upper
        for other in others:
            lower, upper = np.minimum(lower, other.lower), np.maximum(upper, other.upper)
        return Interval(lower, upper)

    # Size and parts

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lower.shape

    @property
    def width(self) -> Array:
        """`upper - lower`, rounded up."""
        with np.errstate(over="ignore"):
            return _upward(self.upper - self.lower)

    @property
    def centre(self) -> Array:
        """A finite point inside, near the middle."""
        largest = np.finfo(np.float64).max
        lower, upper = np.maximum(self.lower, -largest), np.minimum(self.upper, largest)
        return np.clip(0.5 * lower + 0.5 * upper, lower, upper)

    @property
    def radius(self) -> Array:
        """Smallest r, rounded up, with the interval inside `[centre - r, centre + r]`."""
        centre = self.centre
        with np.errstate(over="ignore"):
            return _upward(np.maximum(self.upper - centre, centre - self.lower))

    def magnitude(self) -> Array:
        """max |x| over each interval."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    def mignitude(self) -> Array:
        """min |x| over each interval; 0 where it holds 0."""
        return np.maximum(np.maximum(self.lower, -self.upper), 0.0)

    def contains(self, x: Real) -> npt.NDArray[np.bool_]:
        """Whether each interval holds x, a number or all of an interval."""
        lower, upper = (x.lower, x.upper) if isinstance(x, Interval) else (np.asarray(x), np.asarray(x))
        return np.asarray((self.lower <= lower) & (upper <= self.upper))

    def __getitem__(self, index: Any) -> Interval:
        return Interval(self.lower[index], self.upper[index])

    # Arithmetic

    def _partner(self, other: Real) -> Interval:
        """The other operand.

        Raises:
            InputError: its shape does not broadcast with this one's.
        """
        other = _interval(other)
        try:
            np.broadcast_shapes(self.shape, other.shape)
        except ValueError:
            raise InputError(f"intervals of shapes {self.shape} and {other.shape} do not broadcast") from None
        return other

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __abs__(self) -> Interval:
        return Interval(self.mignitude(), self.magnitude())

    def __add__(self, other: Real) -> Interval:
        if _defers(other):
            return NotImplemented
        other = self._partner(other)
        with np.errstate(over="ignore"):
            return _enclosure(next_down(self.lower + other.lower), next_up(self.upper + other.upper))

    def __sub__(self, other: Real) -> Interval:
        if _defers(other):
            return NotImplemented
        return self + (-self._partner(other))

    def __rsub__(self, other: Real) -> Interval:
        return _interval(other) + (-self)

    def __mul__(self, other: Real) -> Interval:
        if _defers(other):
            return NotImplemented
        other = self._partner(other)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            products = [_product(a, b) for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return _hull_of_rounded(products)

    def __truediv__(self, other: Real) -> Interval:
        """Quotient.

        Raises:
            InputError: a divisor holds 0.
        """
        if _defers(other):
            return NotImplemented
        other = self._partner(other)
        if other.contains(0.0).any():
            raise InputError("division by an interval that holds 0")
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            quotients = [a / b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        # inf / inf: the divisor is unbounded, and quotients by it reach down to 0.
        return _hull_of_rounded([np.where(np.isnan(q), 0.0, q) for q in quotients])

    def __rtruediv__(self, other: Real) -> Interval:
        return _interval(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def sqr(self) -> Interval:
        """x^2, the same x in both factors."""
        with np.errstate(over="ignore", under="ignore"):
            lower, upper = np.square(self.mignitude()), np.square(self.magnitude())
        return _enclosure(np.maximum(next_down(lower), 0.0), next_up(upper))

    def sqrt(self) -> Interval:
        """Non-negative square root.

        Raises:
            InputError: an interval reaches below 0.
        """
        if (self.lower < 0.0).any():
            raise InputError("square root of an interval that reaches below 0")
        return Interval(np.maximum(next_down(np.sqrt(self.lower)), 0.0), next_up(np.sqrt(self.upper)))

    def minimum(self, other: Real) -> Interval:
        """min(x, y)."""
        other = self._partner(other)
        return Interval(np.minimum(self.lower, other.lower), np.minimum(self.upper, other.upper))

    def maximum(self, other: Real) -> Interval:
        """max(x, y)."""
        other = self._partner(other)
        return Interval(np.maximum(self.lower, other.lower), np.maximum(self.upper, other.upper))

    def sum(self, axis: int | tuple[int, ...] | None = None) -> Interval:
        """Sum over the given axes, or over all.

        A sum of n numbers in any order errs by at most `(n - 1) U / (1 - n U)` of the sum of their sizes.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            lower, upper = (np.asarray(x.sum(axis=axis)) for x in (self.lower, self.upper))
            count = self.lower.size // max(lower.size, 1)
            below, above = (
                rounding.grow(count * rounding.EPS * np.abs(x).sum(axis=axis), count) for x in (self.lower, self.upper)
            )
            return _enclosure(next_down(lower - below), next_up(upper + above))

    def __matmul__(self, matrix: npt.ArrayLike) -> Interval:
        """Product with a matrix or vector of finite numbers, by NumPy's rules for `@`."""
        if _defers(matrix):
            return NotImplemented
        return self._times(np.asarray(matrix, np.float64), from_left=False)

    def __rmatmul__(self, matrix: npt.ArrayLike) -> Interval:
        return self._times(np.asarray(matrix, np.float64), from_left=True)

    dot = __matmul__

    def _times(self, matrix: Array, *, from_left: bool) -> Interval:
        """Centre and radius each times the matrix; their errors follow the lemma in `rounding`."""

        def product(x: Array, m: Array) -> Array:
            return np.asarray(m @ x if from_left else x @ m)

        if not np.isfinite(matrix).all():
            raise InputError("a matrix must be finite")
        centre, size = self.centre, np.abs(matrix)
        inner = self.shape[-2] if from_left and len(self.shape) > 1 else self.shape[-1]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            slack = inner * rounding.EPS * product(np.abs(centre), size) + product(self.radius, size)
            middle, radius = product(centre, matrix), rounding.grow(slack, inner + 4)
            return _enclosure(next_down(middle - radius), next_up(middle + radius))

    # Functions

    def sin(self) -> Interval:
        """Sine, extrema inside included; see `rounding` for the error allowed to the library's sine."""
        return Interval(*trigonometry.sine_range(self.lower, self.upper))

    def cos(self) -> Interval:
        """Cosine, extrema inside included; see `rounding` for the error allowed to the library's cosine."""
        return Interval(*trigonometry.cosine_range(self.lower, self.upper))


hull = Interval.hull


def _defers(other: object) -> bool:
    """Whether another class than this or NumPy's should do the arithmetic, as its `__array_ufunc__` of None tells."""
    return not isinstance(other, Interval) and getattr(other, "__array_ufunc__", "NumPy's") is None


def _interval(x: Real) -> Interval:
    return x if isinstance(x, Interval) else Interval.point(x)


def _enclosure(lower: Array, upper: Array) -> Interval:
    """Ends already rounded outward; an undefined end becomes an infinite one."""
    return Interval(np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper))


def _hull_of_rounded(values: list[Array]) -> Interval:
    """Hull of values rounded to nearest; rounding is monotone, so that only the extremes move outward."""
    return Interval(next_down(np.minimum.reduce(values)), next_up(np.maximum.reduce(values)))


def _product(a: Array, b: Array) -> Array:
    """Product of two ends, where 0 times an infinite end is 0: the end stands for numbers, all finite."""
    return np.where((a == 0.0) | (b == 0.0), 0.0, a * b)


def _upward(difference: Array) -> Array:
    """A difference rounded up. One of 0 is exact."""
    return np.where(difference > 0.0, next_up(difference), 0.0)
