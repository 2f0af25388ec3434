# SPDX-License-Identifier: Apache-2.0
"""Rows over several windows in a row, put together from what each window adds.

Windows that share their edge sample have a balance together, and no reading at the edges between them enters it: of the
momentum only the two ends are left. Errors at an edge therefore count for the first and the last window alone, those
within a window for each of them. What a window adds depends on its place: alone, first, between others, or last.

Positions are bounded window by window. At a shared edge the two windows have two estimates of one position; the
momentum of either is left out, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.interval.momentum_rows import MomentumRows

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

ALONE, FIRST, BETWEEN, LAST = range(4)
"""Places of a window in a row of several."""

EDGES_COUNTED = np.array([1.0, 0.5, 0.0, 0.5])
"""Share of what both edges of a window add, by its place."""


def by_place(parts: Array) -> Array:
    """(4, ...) by place, of what both edges of a window and what is between them add (2, ...)."""
    return np.asarray(np.multiply.outer(EDGES_COUNTED, parts[0]) + parts[1])


@dataclass(frozen=True)
class RowParts:
    """Parts of rows that W windows add, by their place.

    Attributes:
        t: (W, 2) first and last stamp [s].
        meets: (W - 1,) whether a window begins where the one before ends.
        coefficients: (W, n, k) of the windows alone.
        jump: (W - 1, n, 10 n) momentum at each window's start less that at the end of the one before, where these meet.
        radius: (4, W, n, causes) by place, of torque, friction and rounding.
        nominal, norms: (4, W, n, 3) two bounds for the nominal body by place and cause.
        spread: (4, W, n, 3) what all bodies may be off it, likewise.
        body: (4, W, n, 3, 3) what the identified body adds by place, cause and norm.
        causes: the three causes among `CAUSES`.
        about: (10,) the identified body.
    """

    t: Array
    meets: npt.NDArray[np.bool_]
    coefficients: Array
    jump: Array
    radius: Array
    nominal: Array
    norms: Array
    spread: Array
    body: Array
    causes: Sequence[int]
    about: Array

    def add_up(self, lengths: Sequence[int]) -> tuple[MomentumRows, Indices]:
        """Rows over so many windows in a row, and the last window of each; 1 is the windows themselves.

        Args:
            lengths: windows in a row, ascending.
        """
        widths = (self.radius, self.nominal, self.norms, self.spread, self.body.reshape(*self.body.shape[:3], -1))
        width, ends = np.concatenate(widths, axis=-1), np.cumsum([each.shape[-1] for each in widths])[:-1]
        met = np.concatenate([[0], np.cumsum(~self.meets)]) if len(self.t) else np.zeros(0)
        found = list[tuple[Array, Array, Array, Indices]]()
        coefficients, between = self.coefficients, np.zeros_like(width[BETWEEN])
        for length in range(1, min(lengths[-1], len(self.t)) + 1):
            last = np.arange(length - 1, len(self.t))
            first = last - length + 1
            if length > 1:
                coefficients = coefficients[:-1] + self.coefficients[length - 1 :]
                coefficients[:, :, : self.jump.shape[2]] += self.jump[length - 2 :]
            if length > 2:
                between = between[:-1] + width[BETWEEN][length - 2 : -1]
            elif length == 2:
                between = between[:-1]
            if length in lengths:
                total = width[ALONE] if length == 1 else width[FIRST][first] + between + width[LAST][last]
                whole = met[first] == met[last]
                found.append((coefficients[whole], total[whole], np.column_stack([first, last])[whole], last[whole]))
        rows, total, at, owner = (np.concatenate(each) for each in zip(*found, strict=True))
        radius, nominal, norms, spread, body = np.split(total, ends, axis=-1)
        # Both are bounds; where steps are long and motions violent, remainders are worse than norms all along.
        better = (nominal.sum(axis=2) < norms.sum(axis=2))[:, :, None]
        radius[:, :, self.causes] += np.where(better, nominal, norms) + spread
        t = np.column_stack([self.t[at[:, 0], 0], self.t[at[:, 1], 1]])
        return MomentumRows(t, rows, radius, body.reshape(*body.shape[:2], 3, 3), self.about), owner
