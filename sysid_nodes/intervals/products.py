# SPDX-License-Identifier: Apache-2.0
"""Products of affine forms: elementwise, of matrices and of 3-vectors, all by one rule for bilinear maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sysid_nodes.exceptions import InputError
from sysid_nodes.intervals.parts import Parts, lift
from sysid_nodes.intervals.rounding import EPS, Array, grow

if TYPE_CHECKING:
    from sysid_nodes.intervals.affine_form import Affine


@dataclass(frozen=True)
class Product:
    """A bilinear map P on trailing axes, whose entries are sums of products.

    Attributes:
        name: for messages.
        apply: P itself.
        sizes: P with every difference made a sum: `|P(x, y)| <= sizes(|x|, |y|)`, monotone in both.
        axes: trailing axes each factor needs.
        roundings: roundings of one entry of P at most, from the shape of the left factor.
    """

    name: str
    apply: Callable[[Array, Array], Array]
    sizes: Callable[[Array, Array], Array]
    axes: int
    roundings: Callable[[tuple[int, ...]], int]


def _combine_crosswise(combine: np.ufunc, x: Array, y: Array) -> Array:
    out = np.empty(np.broadcast_shapes(x.shape, y.shape))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        combine(x[..., j] * y[..., k], x[..., k] * y[..., j], out=out[..., i])
    return out


def _cross(x: Array, y: Array) -> Array:
    return _combine_crosswise(np.subtract, x, y)


def _cross_sizes(x: Array, y: Array) -> Array:
    return _combine_crosswise(np.add, x, y)


TIMES = Product("*", np.multiply, np.multiply, axes=0, roundings=lambda _: 1)
MATMUL = Product("@", np.matmul, np.matmul, axes=2, roundings=lambda shape: shape[-1])
CROSS = Product("cross", _cross, _cross_sizes, axes=1, roundings=lambda _: 2)


def bilinear(product: Product, x: Affine, y: Affine) -> Parts:
    """P of two forms over the same symbols.

    With x = x0 + X + r, X the sum of its terms and r its remainder, and y = y0 + Y + t, the result's centre is P(x0,
    y0), its terms those of P(X, y0) + P(x0, Y). Left over are P(x0, t) + P(r, y0) + P(X + r, Y + t), of a size of at
    most P(|x0| + |X| + r, t) + P(r, |y0| + |Y|) + P(|X|, |Y|).

    Rounding: with n roundings an entry of P, centre and terms err by at most (n + 1) U / (1 - (n + 1) U) times sizes
    that sum to P(|x0|, |y0|) + P(|X|, |y0|) + P(|x0|, |Y|) <= P(scale x, scale y), for any order of summation. `grow`
    adds TINY, which covers the n (2 S + 1) underflows.
    """
    _check(product, x.centre, y.centre)
    apply, sizes, ndim = product.apply, product.sizes, max(x.ndim, y.ndim)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        terms = apply(lift(x.terms, ndim), y.centre)
        terms += apply(x.centre, lift(y.terms, ndim))
        x0, y0, X, Y = np.abs(x.centre), np.abs(y.centre), x.spread, y.spread
        n = product.roundings(x.shape)
        scale = grow(sizes(x.scale, y.scale), 2 * n + 8)
        left_over = sizes(x0 + X + x.remainder, y.remainder) + sizes(x.remainder, y0 + Y) + sizes(X, Y)
        remainder = grow(left_over + (n + 2) * EPS * scale, 2 * len(terms) + n + 8)
        return Parts(apply(x.centre, y.centre), terms, remainder, scale)


def linear(product: Product, x: Affine, factor: Array, *, factor_first: bool) -> Parts:
    """P of a form and finite numbers, in the given order; errors as in `bilinear`."""
    first, second = (factor, x.centre) if factor_first else (x.centre, factor)
    _check(product, first, second)

    def apply(function: Callable[[Array, Array], Array], value: Array, number: Array) -> Array:
        return function(number, value) if factor_first else function(value, number)

    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        size, n = np.abs(factor), product.roundings(first.shape)
        scale = grow(apply(product.sizes, x.scale, size), 2 * n + 8)
        return Parts(
            apply(product.apply, x.centre, factor),
            apply(product.apply, lift(x.terms, factor.ndim), factor),
            grow(apply(product.sizes, x.remainder, size) + (n + 2) * EPS * scale, n + 8),
            scale,
        )


def quotient(x: Affine, divisor: Array) -> Parts:
    """x / divisor, of finite numbers other than 0: one rounding a number."""
    try:
        np.broadcast_shapes(x.shape, divisor.shape)
    except ValueError:
        raise InputError(f"values of shapes {x.shape} and {divisor.shape} do not fit '/'") from None
    if (divisor == 0.0).any():
        raise InputError("division of an affine form by 0")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        size = np.abs(divisor)
        scale = grow(x.scale / size, 8)
        remainder = grow(x.remainder / size + EPS * scale, 8)
        return Parts(x.centre / divisor, lift(x.terms, divisor.ndim) / divisor, remainder, scale)


def square(x: Affine) -> Parts:
    """x^2: with d the deviation from the centre c, `c^2 + 2 c d + d^2` and d^2 in [0, radius^2].

    Rounding: centre and terms err by at most 2 U times sizes that sum to (|c| + |X|)^2 and half of radius^2.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        double = 2.0 * x.centre
        half = 0.5 * grow((x.spread + x.remainder) ** 2, 2 * x.symbols + 8)
        scale = grow(x.scale**2 + half, 16)
        remainder = grow(np.abs(double) * x.remainder + half + 4.0 * EPS * scale, 8)
        return Parts(x.centre * x.centre + half, double * x.terms, remainder, scale)


def _check(product: Product, x: Array, y: Array) -> None:
    try:
        if min(x.ndim, y.ndim) < product.axes:
            raise ValueError
        if product.axes == 1 and (x.shape[-1] != 3 or y.shape[-1] != 3):
            raise ValueError
        if product.axes == 2 and x.shape[-1] != y.shape[-2]:
            raise ValueError
        np.broadcast_shapes(x.shape[: x.ndim - product.axes], y.shape[: y.ndim - product.axes])
    except ValueError:
        raise InputError(f"values of shapes {x.shape} and {y.shape} do not fit {product.name!r}") from None
