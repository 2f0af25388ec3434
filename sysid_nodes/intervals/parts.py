# SPDX-License-Identifier: Apache-2.0
"""The parts of an affine form, as its operations compute them."""

from __future__ import annotations

from typing import NamedTuple

from sysid_nodes.intervals.rounding import Array


class Parts(NamedTuple):
    """Centre (...), terms (S, ...), remainder (...) and scale (...) of a result; see `Affine`."""

    centre: Array
    terms: Array
    remainder: Array
    scale: Array


def lift(terms: Array, ndim: int) -> Array:
    """Terms (S, ...) of a value of at least `ndim` axes: axes of length 1 go between S and the value's own."""
    missing = ndim + 1 - terms.ndim
    return terms.reshape(terms.shape[0], *(1,) * missing, *terms.shape[1:]) if missing > 0 else terms
