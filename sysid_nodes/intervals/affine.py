# SPDX-License-Identifier: Apache-2.0
"""Affine arithmetic: the forms and the functions that join them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.intervals import products
from sysid_nodes.intervals.affine_form import Affine, Operand, form, multiply, numbers, same_symbols
from sysid_nodes.intervals.rounding import Array

__all__ = ["Affine", "concatenate", "cross", "matvec", "stack"]


def cross(a: Operand, b: Operand) -> Affine:
    """Cross products of 3-vectors along the last axis; at least one operand is a form."""
    return multiply(products.CROSS, a, b)


def matvec(A: Operand, x: Operand) -> Affine:
    """(..., a) products of matrices (..., a, b) and vectors (..., b); at least one operand is a form."""
    column = x[..., None] if isinstance(x, Affine) else numbers(x)[..., None]
    return multiply(products.MATMUL, A, column)[..., 0]


def stack(values: Sequence[Affine | npt.ArrayLike], axis: int = 0) -> Affine:
    """Forms, and numbers as forms without error, along a new axis of the values."""
    return _join(np.stack, values, axis, new=1)


def concatenate(values: Sequence[Affine | npt.ArrayLike], axis: int = 0) -> Affine:
    """Forms, and numbers as forms without error, along an axis of the values."""
    return _join(np.concatenate, values, axis, new=0)


def _join(function: Callable[..., Any], values: Sequence[Affine | npt.ArrayLike], axis: int, *, new: int) -> Affine:
    forms = _forms(values)
    ndim = max(x.ndim for x in forms) + new
    if not -ndim <= axis < ndim:
        raise InputError(f"axis {axis} is not among the {ndim} axes")
    axis %= ndim
    try:
        terms: Array = function([x.terms for x in forms], axis=axis + 1)
    except ValueError:
        shapes = ", ".join(str(x.shape) for x in forms)
        raise InputError(f"values of shapes {shapes} do not join along axis {axis}") from None
    centre, remainder, scale = (
        function([getattr(x, part) for x in forms], axis=axis) for part in ("centre", "remainder", "scale")
    )
    return form(centre, terms, remainder, scale)


def _forms(values: Sequence[Affine | npt.ArrayLike]) -> list[Affine]:
    """Forms over one set of symbols."""
    first = next((x for x in values if isinstance(x, Affine)), None)
    if first is None:
        raise InputError("joining needs at least one affine form")
    forms = [x if isinstance(x, Affine) else Affine.constant(numbers(x), symbols=first.symbols) for x in values]
    for x in forms:
        same_symbols(first, x)
    return forms
