# SPDX-License-Identifier: Apache-2.0
"""Two arithmetics of vectors in space: values up to a ball that moves with errors, and sizes with how they may change.

Both know sums, products with numbers, dot and cross products, so that one text of mechanics serves both. Arrays run
over N moments in front: vectors (N, 3), numbers (N,). Rounding: every operation adds _ROUNDING of the size of its terms
to the ball, many times what double precision loses in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.errors import Errors

Array = npt.NDArray[np.float64]

_ROUNDING = 1e-14

S = TypeVar("S", bound="_Quantity")


class _Quantity(Protocol):
    """An arithmetic, as mechanics needs it."""

    def __add__(self: S, other: S) -> S: ...
    def times(self: S, number: S) -> S: ...
    def scale(self: S, factor: float) -> S: ...
    def dot(self: S, other: S) -> S: ...
    def cross(self: S, other: S) -> S: ...


def size_of(x: Array) -> Array:
    """Norms of vectors (N, 3), magnitudes of numbers (N,)."""
    return np.asarray(np.abs(x) if x.ndim == 1 else np.sqrt((x**2).sum(axis=-1)))


def cross(one: Array, two: Array) -> Array:
    """Cross products along the last axis."""
    a, b = (one[..., k] for k in (1, 2, 0)), (two[..., k] for k in (2, 0, 1))
    c, d = (one[..., k] for k in (2, 0, 1)), (two[..., k] for k in (1, 2, 0))
    return np.stack([w * x - y * z for w, x, y, z in zip(a, b, c, d, strict=True)], axis=-1)


@dataclass(frozen=True)
class Symbols:
    """Errors that balls are linear in: e of n joints, then r."""

    position: Errors
    reference: Errors

    def along(self, slope: Array) -> Array:
        """(N, ...) bound on what slopes (2n, N, ...) make of them."""
        n = len(self.position.root)
        return self.position.along(slope[:n]) + self.reference.along(slope[n:])


@dataclass(frozen=True)
class Ball:
    """Values no further than a radius (N,) from a middle, (N, 3) or (N,), that moves with errors.

    Attributes:
        middle, radius: without errors.
        slope: (2n, N, 3) or (2n, N), by each error; None: they do not move it.
        symbols: the errors.
    """

    middle: Array
    radius: Array
    slope: Array | None = None
    symbols: Symbols | None = None

    @cached_property
    def entry_errors(self) -> Array:
        """Bounds, like the middle, on what errors make of each entry."""
        if self.slope is None or self.symbols is None:
            return np.zeros_like(self.middle)
        return self.symbols.along(self.slope)

    @cached_property
    def error_size(self) -> Array:
        """(N,) the norm of that."""
        return size_of(self.entry_errors)

    @property
    def largest(self) -> Array:
        """(N,) bound on the norm."""
        return np.asarray((size_of(self.middle) + self.error_size + self.radius) * (1.0 + _ROUNDING))

    @property
    def each(self) -> Array:
        """(N, 3) bounds on the entries of vectors."""
        return np.asarray((np.abs(self.middle) + self.entry_errors + self.radius[:, None]) * (1.0 + _ROUNDING))

    def __add__(self, other: Ball) -> Ball:
        lost = _ROUNDING * (size_of(self.middle) + size_of(other.middle) + self.error_size + other.error_size)
        slope = other.slope if self.slope is None else self.slope
        if self.slope is not None and other.slope is not None:
            slope = self.slope + other.slope
        radius = (self.radius + other.radius) * (1.0 + _ROUNDING) + lost
        return Ball(self.middle + other.middle, radius, slope, self.symbols or other.symbols)

    def times(self, number: Ball) -> Ball:
        """The product with numbers."""
        if self.middle.ndim == 1:
            return self._product(number, np.multiply)
        return self._product(number, lambda one, two: one * two[..., None])

    def scale(self, factor: float) -> Ball:
        """The product with one number that is known."""
        lost = _ROUNDING * (size_of(self.middle) + self.error_size)
        radius = abs(factor) * (self.radius * (1.0 + _ROUNDING) + lost)
        return Ball(self.middle * factor, radius, None if self.slope is None else self.slope * factor, self.symbols)

    def dot(self, other: Ball) -> Ball:
        return self._product(other, lambda one, two: (one * two).sum(axis=-1))

    def cross(self, other: Ball) -> Ball:
        return self._product(other, cross)

    def outer(self, other: Ball) -> Ball:
        """(N, 9) products of entries with entries, row by row."""

        def apply(one: Array, two: Array) -> Array:
            table = one[..., :, None] * two[..., None, :]
            return table.reshape(*table.shape[:-2], 9)

        return self._product(other, apply)

    def rotate(self, turn: Array) -> Ball:
        """Entries along the columns of rotations (N, 3, 3)."""
        lost = 10.0 * _ROUNDING * (size_of(self.middle) + self.error_size)
        slope = None if self.slope is None else np.einsum("pba,spb->spa", turn, self.slope)
        return Ball(np.einsum("pba,pb->pa", turn, self.middle), self.radius + lost, slope, self.symbols)

    def entries(self, pairs: Sequence[tuple[int, int]]) -> Ball:
        """Sums of the entries (a, b) and (b, a) of (N, 9), of a pair with itself the one entry."""
        onto = np.zeros((9, len(pairs)))
        for column, (a, b) in enumerate(pairs):
            onto[[3 * a + b, 3 * b + a], column] = 1.0
        lost = _ROUNDING * (size_of(self.middle) + self.error_size)
        slope = None if self.slope is None else self.slope @ onto
        # Two entries of a ball add up to sqrt(2) of its radius at most, and so does the norm of all these sums.
        return Ball(self.middle @ onto, 1.4143 * (self.radius + lost), slope, self.symbols)

    def weighted_sum(self, weight: Array) -> Ball:
        """The sum of entries times numbers that are known."""
        size = float(np.sqrt((weight**2).sum()))
        lost = _ROUNDING * (size_of(self.middle) + self.error_size)
        slope = None if self.slope is None else self.slope @ weight
        return Ball(self.middle @ weight, size * (self.radius * (1.0 + _ROUNDING) + lost), slope, self.symbols)

    def _product(self, other: Ball, apply: Callable[[Array, Array], Array]) -> Ball:
        """Any product that is no larger than that of the norms: linear in the errors, and a ball for all else."""
        one, two = size_of(self.middle), size_of(other.middle)
        most, moved = one + self.error_size, two + other.error_size
        left = self.error_size * other.error_size + (most + self.radius) * other.radius + self.radius * moved
        slopes = []
        if self.slope is not None:
            slopes.append(apply(self.slope, other.middle))
        if other.slope is not None:
            slopes.append(apply(self.middle, other.slope))
        slope = slopes[0] + slopes[1] if len(slopes) == 2 else slopes[0] if slopes else None
        radius = left * (1.0 + _ROUNDING) + _ROUNDING * most * moved
        return Ball(apply(self.middle, other.middle), radius, slope, self.symbols or other.symbols)


@dataclass(frozen=True)
class Change:
    """Bounds (N,) on the norm of a quantity, and on how far another one like it is from it."""

    size: Array
    change: Array

    def __add__(self, other: Change) -> Change:
        return self._of(self.size + other.size, self.change + other.change)

    def times(self, number: Change) -> Change:
        return self.cross(number)

    def scale(self, factor: float) -> Change:
        return self._of(abs(factor) * self.size, abs(factor) * self.change)

    def dot(self, other: Change) -> Change:
        return self.cross(other)

    def cross(self, other: Change) -> Change:
        change = self.change * other.size + self.size * other.change + self.change * other.change
        return self._of(self.size * other.size, change)

    def at_most(self, size: Array) -> Change:
        """The same where the norm is known to be no larger."""
        return Change(np.minimum(self.size, size), self.change)

    @staticmethod
    def _of(size: Array, change: Array) -> Change:
        return Change(size * (1.0 + _ROUNDING), change * (1.0 + _ROUNDING))
