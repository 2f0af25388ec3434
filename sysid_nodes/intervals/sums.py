# SPDX-License-Identifier: Apache-2.0
"""Sums of affine forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sysid_nodes.exceptions import InputError
from sysid_nodes.intervals.parts import Parts, lift
from sysid_nodes.intervals.rounding import EPS, Array, grow

if TYPE_CHECKING:
    from sysid_nodes.intervals.affine_form import Affine


def add(x: Affine, y: Affine, combine: np.ufunc) -> Parts:
    """x + y or x - y: one rounding a number, relative to numbers whose sizes sum to at most the sum of the scales."""
    _check(x.shape, y.shape)
    ndim = max(x.ndim, y.ndim)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = x.scale + y.scale
        return Parts(
            combine(x.centre, y.centre),
            combine(lift(x.terms, ndim), lift(y.terms, ndim)),
            grow(x.remainder + y.remainder + EPS * scale, 4),
            grow(scale, 8),
        )


def shift(x: Affine, offset: Array) -> Parts:
    """x + offset: only the centre is rounded."""
    _check(x.shape, offset.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        centre = x.centre + offset
        remainder = x.remainder + EPS * np.abs(centre)
        terms = lift(x.terms, centre.ndim)
        if terms.shape[1:] != centre.shape:
            terms = np.broadcast_to(terms, (x.symbols, *centre.shape))
        return Parts(
            centre,
            terms,
            grow(remainder, 4),
            grow(x.scale + np.abs(offset), 8),
        )


def total(x: Affine, axes: tuple[int, ...]) -> Parts:
    """Sum over axes of the values; n numbers take at most n - 1 roundings, in any order."""
    count = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    with np.errstate(over="ignore", invalid="ignore"):
        scale = grow(x.scale.sum(axis=axes), 2 * count + 8)
        return Parts(
            x.centre.sum(axis=axes),
            x.terms.sum(axis=tuple(a + 1 for a in axes)),
            grow(x.remainder.sum(axis=axes) + count * EPS * scale, count + 8),
            scale,
        )


def _check(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    try:
        np.broadcast_shapes(x, y)
    except ValueError:
        raise InputError(f"values of shapes {x} and {y} do not fit '+'") from None
