# SPDX-License-Identifier: Apache-2.0
"""Affine forms: values whose errors are linear in shared symbols, plus a remainder of their own."""

from __future__ import annotations

from typing import Any, Union

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.intervals import products, sums, trigonometry
from sysid_nodes.intervals.interval import Interval
from sysid_nodes.intervals.rounding import Array, grow

Operand = Union["Affine", Interval, npt.ArrayLike]

_BASIC = (int, np.integer, slice)


class Affine:
    """Array of affine forms over S shared symbols. Never changed in place; arrays given are kept, not copied.

    An entry stands for the values `centre + sum_s terms[s] eps_s + remainder rho` with every eps_s in [-1, 1], the
    same for all entries and forms, and every rho in [-1, 1], one an entry. An operation on forms encloses the
    operation on values that have one common eps: the result's centre and terms take the linear part, its remainder all
    else, rounding included. An Interval operand is an error without symbols.

    Rounding follows the lemma in `rounding`: the errors of centre and terms of one entry sum to at most n EPS `scale`,
    where `scale >= |centre| + sum_s |terms[s]|` is carried along, so that no further pass over the terms is needed. A
    number that overflows makes the remainder inf or NaN; such an entry's `interval()` is the whole line.

    Attributes:
        centre: (...) centres.
        terms: (S, ...) coefficients of the symbols.
        remainder: (...) bounds of the rest, >= 0.
    """

    __slots__ = ("_scale", "_spread", "centre", "remainder", "terms")
    __array_ufunc__ = None  # ndarray + Affine is this class's business

    centre: Array
    terms: Array
    remainder: Array

    def __init__(self, centre: npt.ArrayLike, terms: npt.ArrayLike, remainder: npt.ArrayLike | None = None) -> None:
        """Forms from their parts; `remainder` broadcasts to the centre's shape and is 0 if left out.

        Raises:
            InputError: shapes differ, a centre or term is not finite, a remainder is negative or NaN.
        """
        c, t = np.asarray(centre, np.float64), np.asarray(terms, np.float64)
        if t.ndim != c.ndim + 1 or t.shape[1:] != c.shape:
            raise InputError(f"terms of shape {t.shape} need a centre of shape {t.shape[1:]}, got {c.shape}")
        if not (np.isfinite(c).all() and np.isfinite(t).all()):
            raise InputError("centre and terms of an affine form must be finite")
        r = np.asarray(0.0 if remainder is None else remainder, np.float64)
        if not (r >= 0.0).all():
            raise InputError("the remainder of an affine form must not be negative or NaN")
        try:
            r = np.broadcast_to(r, c.shape)
        except ValueError:
            raise InputError(f"a remainder of shape {r.shape} does not fit a centre of shape {c.shape}") from None
        self._set(c, t, r, None)

    @classmethod
    def constant(cls, x: npt.ArrayLike, *, symbols: int) -> Affine:
        """Finite numbers without error, over S symbols."""
        x = np.asarray(x, np.float64)
        return cls(x, np.zeros((symbols, *x.shape)))

    @classmethod
    def symbol(cls, centre: npt.ArrayLike, radius: npt.ArrayLike, index: int, *, symbols: int) -> Affine:
        """`centre + radius eps_index`, over S symbols; centre and radius broadcast.

        Raises:
            InputError: no such symbol, or a number is not finite.
        """
        if not 0 <= index < symbols:
            raise InputError(f"symbol {index} is not among the {symbols} symbols")
        c, r = np.broadcast_arrays(np.asarray(centre, np.float64), np.asarray(radius, np.float64))
        terms = np.zeros((symbols, *c.shape))
        terms[index] = r
        return cls(c, terms)

    def _set(self, centre: Array, terms: Array, remainder: Array, scale: Array | None) -> None:
        self.centre, self.terms, self.remainder = centre, terms, remainder
        self._scale: Array | None = scale
        self._spread: Array | None = None

    def __repr__(self) -> str:
        return f"Affine(shape={self.shape}, symbols={self.symbols})"

    # Size

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.centre.shape

    @property
    def ndim(self) -> int:
        return self.centre.ndim

    @property
    def symbols(self) -> int:
        """Number S of symbols."""
        return len(self.terms)

    def __len__(self) -> int:
        return len(self.centre)

    @property
    def spread(self) -> Array:
        """(...) sums of |terms| over the symbols, rounded to nearest: fewer than S roundings."""
        if self._spread is None:
            with np.errstate(over="ignore"):
                self._spread = np.abs(self.terms).sum(axis=0)
        return self._spread

    @property
    def scale(self) -> Array:
        """(...) upper bounds of `|centre| + sum_s |terms[s]|`, for rounding errors; may be loose after cancellation."""
        if self._scale is None:
            with np.errstate(over="ignore"):
                self._scale = grow(np.abs(self.centre) + self.spread, self.symbols + 2)
        return self._scale

    def radius(self) -> Array:
        """(...) upper bounds of |value - centre|."""
        with np.errstate(over="ignore"):
            return _undefined_to_infinite(grow(self.spread + self.remainder, self.symbols + 2))

    def magnitude(self) -> Array:
        """(...) upper bounds of |value|."""
        with np.errstate(over="ignore"):
            return _undefined_to_infinite(grow(np.abs(self.centre) + self.spread + self.remainder, self.symbols + 4))

    def interval(self) -> Interval:
        """(...) ranges."""
        return Interval.around(self.centre, self.radius())

    # Sums

    def __neg__(self) -> Affine:
        return form(-self.centre, -self.terms, self.remainder, self._scale)

    def __add__(self, other: Operand) -> Affine:
        if isinstance(other, Affine):
            same_symbols(self, other)
            return form(*sums.add(self, other, np.add))
        if isinstance(other, Interval):
            return form(*sums.shift(self, other.centre, other.radius))
        return form(*sums.shift(self, numbers(other)))

    def __sub__(self, other: Operand) -> Affine:
        if isinstance(other, Affine):
            same_symbols(self, other)
            return form(*sums.add(self, other, np.subtract))
        return self + (-other if isinstance(other, Interval) else -numbers(other))

    def __rsub__(self, other: Operand) -> Affine:
        return (-self) + other

    def sum(self, axis: int | tuple[int, ...] | None = None) -> Affine:
        """Sum over axes of the values, or over all.

        Raises:
            InputError: no such axis.
        """
        axes = tuple(range(self.ndim)) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
        for a in axes:
            if not -self.ndim <= a < self.ndim:
                raise InputError(f"axis {a} is not among the {self.ndim} axes")
        return form(*sums.total(self, tuple(a % self.ndim for a in axes)))

    # Products

    def __mul__(self, other: Operand) -> Affine:
        return self.sqr() if other is self else multiply(products.TIMES, self, other)

    def __rmul__(self, other: Operand) -> Affine:
        return multiply(products.TIMES, self, other)

    def __matmul__(self, other: Operand) -> Affine:
        """Matrix products of the last two axes, the others broadcast; of vectors see `matvec`."""
        return multiply(products.MATMUL, self, other)

    def __rmatmul__(self, other: Operand) -> Affine:
        return multiply(products.MATMUL, other, self)

    def __truediv__(self, other: npt.ArrayLike) -> Affine:
        """Quotient by numbers.

        Raises:
            InputError: one of them is 0.
        """
        return form(*products.quotient(self, numbers(other)))

    def sqr(self) -> Affine:
        """Squares, tighter than the product of two forms."""
        return form(*products.square(self))

    # Functions

    def sin(self) -> Affine:
        """Sines, linear about the centre where that is tight."""
        return _along(self, trigonometry.linear_sine(self.centre, self.radius()))

    def cos(self) -> Affine:
        """Cosines, linear about the centre where that is tight."""
        return _along(self, trigonometry.linear_cosine(self.centre, self.radius()))

    def sin_cos(self) -> tuple[Affine, Affine]:
        """Sines and cosines for little more than the price of one."""
        sine, cosine = trigonometry.linear_waves(self.centre, self.radius())
        return _along(self, sine), _along(self, cosine)

    # Shape

    def __getitem__(self, index: Any) -> Affine:
        """Forms by an index of the values, by NumPy's rules."""
        index = index if isinstance(index, tuple) else (index,)
        if all(i is None or i is Ellipsis or (isinstance(i, _BASIC) and not isinstance(i, bool)) for i in index):
            terms = self.terms[(slice(None), *index)]
        else:  # by position: an index of several arrays may move their axes to the front
            positions = np.arange(self.centre.size).reshape(self.shape)[index]
            terms = self.terms.reshape(self.symbols, -1)[:, positions]
        scale = None if self._scale is None else self._scale[index]
        return form(self.centre[index], terms, self.remainder[index], scale)

    def reshape(self, *shape: Any) -> Affine:
        """Forms of another shape of the values, given as numbers or one tuple; one length may be -1."""
        centre = self.centre.reshape(*shape)
        scale = None if self._scale is None else self._scale.reshape(centre.shape)
        terms = self.terms.reshape(self.symbols, *centre.shape)
        return form(centre, terms, self.remainder.reshape(centre.shape), scale)

    def transpose(self) -> Affine:
        """Forms with the last two axes of the values swapped."""
        if self.ndim < 2:
            raise InputError(f"forms of shape {self.shape} have no two axes to swap")
        centre, terms, remainder = (x.swapaxes(-1, -2) for x in (self.centre, self.terms, self.remainder))
        return form(centre, terms, remainder, None if self._scale is None else self._scale.swapaxes(-1, -2))

    @property
    def mT(self) -> Affine:  # noqa: N802 (NumPy's name)
        """Forms with the last two axes of the values swapped."""
        return self.transpose()

    __radd__ = __add__


def form(centre: Array, terms: Array, remainder: Array, scale: Array | None) -> Affine:
    """Forms from parts that are valid by construction, unchecked; for this package's own operations."""
    out = Affine.__new__(Affine)
    out._set(np.asarray(centre), terms, np.asarray(remainder), None if scale is None else np.asarray(scale))
    return out


def numbers(x: Any) -> Array:
    """Finite numbers from what a caller passed.

    Raises:
        InputError: they are not.
    """
    try:
        out = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"an affine form does not combine with {type(x).__name__}") from None
    if not np.isfinite(out).all():
        raise InputError("an affine form combines with finite numbers only")
    return out


def same_symbols(x: Affine, y: Affine) -> None:
    """Checks that two forms can be joined.

    Raises:
        InputError: they have different numbers of symbols.
    """
    if len(x.terms) != len(y.terms):
        raise InputError(f"affine forms over {x.symbols} and {y.symbols} symbols cannot be combined")


def multiply(product: products.Product, x: Operand, y: Operand) -> Affine:
    """A product of two operands.

    Raises:
        InputError: shapes or symbols do not fit, or neither operand is a form.
    """
    first = next((z for z in (x, y) if isinstance(z, Affine)), None)
    if first is None:
        raise InputError(f"{product.name!r} needs an affine form")
    x, y = (_without_symbols(z, first.symbols) if isinstance(z, Interval) else z for z in (x, y))
    if isinstance(x, Affine) and isinstance(y, Affine):
        same_symbols(x, y)
        return form(*products.bilinear(product, x, y))
    if isinstance(x, Affine):
        return form(*products.linear(product, x, numbers(y), factor_first=False))
    return form(*products.linear(product, first, numbers(x), factor_first=True))


def _without_symbols(x: Interval, symbols: int) -> Affine:
    centre = x.centre
    return form(centre, np.zeros((symbols, *centre.shape)), x.radius, None)


def _along(x: Affine, line: trigonometry.Line) -> Affine:
    """Forms of a function from its linear approximation, whose error allows for the rounding of `slope * terms`."""
    with np.errstate(over="ignore", invalid="ignore"):
        slope = np.abs(line.slope)
        own = np.where(slope > 0.0, slope * x.remainder, 0.0)  # not 0 times inf
        scale = grow(np.abs(line.value) + slope * x.spread, x.symbols + 8)
        return form(line.value, line.slope * x.terms, grow(own + line.error, 4), scale)


def _undefined_to_infinite(bound: Array) -> Array:
    """An undefined bound is an infinite one."""
    return np.where(np.isnan(bound), np.inf, bound)
