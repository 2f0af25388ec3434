# SPDX-License-Identifier: Apache-2.0
"""Two arithmetics of vectors in space: values up to a ball, and sizes with how much they may change.

Both know sums, products with numbers, dot and cross products, so that one text of mechanics serves both. Arrays run
over N moments in front: vectors (N, 3), numbers (N,). Rounding: every operation adds _ROUNDING of the size of its terms
to the ball, many times what double precision loses in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_ROUNDING = 1e-14

S = TypeVar("S", bound="_Quantity")


class _Quantity(Protocol):
    """An arithmetic, as mechanics needs it."""

    def __add__(self: S, other: S) -> S: ...
    def times(self: S, number: S) -> S: ...
    def scaled(self: S, factor: float) -> S: ...
    def dot(self: S, other: S) -> S: ...
    def cross(self: S, other: S) -> S: ...


def size_of(x: Array) -> Array:
    """Norms of vectors (N, 3), magnitudes of numbers (N,)."""
    return np.asarray(np.abs(x) if x.ndim == 1 else np.sqrt((x**2).sum(axis=-1)))


@dataclass(frozen=True)
class Ball:
    """Values no further than a radius (N,) from their middle, (N, 3) or (N,)."""

    middle: Array
    radius: Array

    @property
    def largest(self) -> Array:
        """(N,) bound on the norm."""
        return np.asarray((size_of(self.middle) + self.radius) * (1.0 + _ROUNDING))

    def __add__(self, other: Ball) -> Ball:
        lost = _ROUNDING * (size_of(self.middle) + size_of(other.middle))
        return Ball(self.middle + other.middle, (self.radius + other.radius) * (1.0 + _ROUNDING) + lost)

    def times(self, number: Ball) -> Ball:
        """The product with numbers."""
        factor = number.middle if self.middle.ndim == 1 else number.middle[:, None]
        return Ball(self.middle * factor, self._product(number))

    def scaled(self, factor: float) -> Ball:
        """The product with one number that is known."""
        lost = _ROUNDING * size_of(self.middle)
        return Ball(self.middle * factor, abs(factor) * (self.radius * (1.0 + _ROUNDING) + lost))

    def dot(self, other: Ball) -> Ball:
        return Ball((self.middle * other.middle).sum(axis=-1), self._product(other))

    def cross(self, other: Ball) -> Ball:
        return Ball(np.cross(self.middle, other.middle), self._product(other))

    def _product(self, other: Ball) -> Array:
        """Radius of any product that is no larger than that of the norms."""
        one, two = size_of(self.middle), size_of(other.middle)
        parts = one * other.radius + self.radius * two + self.radius * other.radius
        return np.asarray(parts * (1.0 + _ROUNDING) + _ROUNDING * one * two)


@dataclass(frozen=True)
class Change:
    """Bounds (N,) on the norm of a quantity, and on how far another one like it is from it."""

    size: Array
    change: Array

    def __add__(self, other: Change) -> Change:
        return self._of(self.size + other.size, self.change + other.change)

    def times(self, number: Change) -> Change:
        return self.cross(number)

    def scaled(self, factor: float) -> Change:
        return self._of(abs(factor) * self.size, abs(factor) * self.change)

    def dot(self, other: Change) -> Change:
        return self.cross(other)

    def cross(self, other: Change) -> Change:
        change = self.change * other.size + self.size * other.change + self.change * other.change
        return self._of(self.size * other.size, change)

    @staticmethod
    def _of(size: Array, change: Array) -> Change:
        return Change(size * (1.0 + _ROUNDING), change * (1.0 + _ROUNDING))
