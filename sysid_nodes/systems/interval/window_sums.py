# SPDX-License-Identifier: Apache-2.0
"""Rows over several windows in a row: over so long, errors of the torque average out in part.

Neighbouring windows share their edge sample, so the balance over several is the sum of theirs. Every error adds up with
them but the absolute torque error: by how much its mean over several windows is less than over one, a calibration finds
from the same residuals. That is experience as its bound for one window is, not proof.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.interval.momentum_rows import CAUSES, TORQUE_ABSOLUTE, MomentumRows, join, select

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

LENGTHS = (8,)
"""Windows added up: a UR10e's residuals are alike for about four. Of sixteen a run of a minute has too few, and four
beside eight narrow little but are what a real pair of logs, nine days apart, contradicts first."""

LEAST_SUMS = 24
"""Sums without a window in common that it takes to know their errors. Of a run with half as many, the rest of a UR10e's
run and others of it, which the bounds for windows hold, are up to 2.6 times beyond those for sums."""


def neighbours(t: Array, length: int, *, overlapping: bool = False) -> tuple[Indices, int]:
    """So many windows at a time of which each begins where the one before ends.

    Args:
        t: (W, 2) first and last stamps of the windows, in order.
        length: windows in each.
        overlapping: all of them, not only those without a window in common.

    Returns:
        (B, length) windows, and the first window that may yet begin another.
    """
    starts, begin = [], 0
    for last in range(len(t)):
        if last and t[last, 0] != t[last - 1, 1]:
            begin = last
        if last - begin + 1 == length:
            starts.append(begin)
            begin = begin + 1 if overlapping else last + 1
    return np.array(starts, dtype=np.intp)[:, None] + np.arange(length), begin


def sum_up(rows: MomentumRows, blocks: Indices, share: Array) -> MomentumRows:
    """Rows over blocks (B, length) of windows, of whose absolute torque error a share (n,) is left; bodies add none."""
    radius = rows.radius[blocks].sum(axis=1)
    radius[:, :, CAUSES.index(TORQUE_ABSOLUTE)] *= share
    return MomentumRows(
        t=np.column_stack([rows.t[blocks[:, 0], 0], rows.t[blocks[:, -1], 1]]),
        coefficients=rows.coefficients[blocks].sum(axis=1),
        radius=radius,
        body_radius=rows.body_radius[blocks].sum(axis=1),
        about=rows.about,
    )


class WindowSums:
    """Adds to the rows of a stream's windows those over several of them.

    Args:
        shares: by number of windows, (n,) share of a window's absolute torque error that bounds the mean over them.
    """

    def __init__(self, shares: Mapping[int, Array]) -> None:
        self._shares = shares
        self._waiting: dict[int, MomentumRows] = {}

    def step(self, rows: MomentumRows, ids: npt.NDArray[np.int64]) -> tuple[MomentumRows, npt.NDArray[np.int64]]:
        """The rows of new windows with the sums that they complete, by their ends; a sum has its last window's id."""
        found, names = rows, ids
        for length, share in self._shares.items():
            before = self._waiting.get(length)
            own = rows if before is None else join(before, rows)
            blocks, rest = neighbours(own.t, length)
            self._waiting[length] = select(own, slice(rest, None))
            if len(blocks):
                found = join(found, sum_up(own, blocks, share))
                names = np.append(names, ids[blocks[:, -1] - (len(own.t) - len(ids))])
        order = np.argsort(found.t[:, 1], kind="stable")
        return select(found, order), names[order]
