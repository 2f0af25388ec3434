# SPDX-License-Identifier: Apache-2.0
"""Functions of the constant unknowns that are asked for a dozen times between two of their steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

Moved = TypeVar("Moved")

_KEPT = 16
"""Values kept by an object, of all its functions together."""

_KEPT_MOVED = 4
"""Of things as constants have them, kept by what they are made from."""


def remember_last(evaluate: Callable[[Any, Array], Array]) -> Callable[[Any, Array], Array]:
    """A method of theta whose last values the object keeps; they cannot be written to."""

    @functools.wraps(evaluate)
    def recall(self: Any, theta: Array) -> Array:
        known: dict[tuple[str, bytes], Array] = self.__dict__.setdefault("_remembered", {})
        key = evaluate.__name__, theta.tobytes()
        found = known.get(key)
        if found is None:
            found = evaluate(self, theta)
            found.flags.writeable = False
            if len(known) >= _KEPT:
                known.clear()
            known[key] = found
        return found

    return recall


def remember_moved(move: Callable[[Moved, Any, Array], Moved]) -> Callable[[Moved, Any, Array], Moved]:
    """A function of a thing, a layout of theta and theta, whose last values the thing keeps."""

    @functools.wraps(move)
    def recall(thing: Moved, layout: Any, theta: Array) -> Moved:
        known: dict[bytes, tuple[Any, Moved]] = thing.__dict__.setdefault("_moved", {})
        key = theta.tobytes()
        found = known.get(key)
        if found is None or found[0] is not layout:
            if len(known) >= _KEPT_MOVED:
                known.clear()
            known[key] = found = layout, move(thing, layout, theta)
        return found[1]

    return recall
