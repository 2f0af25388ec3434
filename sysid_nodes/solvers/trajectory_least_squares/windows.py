# SPDX-License-Identifier: Apache-2.0
"""Places of blocks: the widest window of a problem, and where the window of each stage's local variables begins."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, IntArray, Layout, check

_FEW = 4  # runs of consecutive stages that are cheaper to add one by one


@dataclass(frozen=True)
class Windows:
    """Coupling structure of a problem.

    Attributes:
        width: W, stages that one block, or the blocks of one owner of local variables together, can couple; at least
            2 where there are as many.
        local_first: (T + 1,) first stage of the W stages coupled to the local variables of each stage.
        local_used: (T + 1,) whether any block holds the local variables of that stage.
    """

    width: int
    local_first: IntArray
    local_used: np.ndarray[tuple[int], np.dtype[np.bool_]]


def windows(groups: Sequence[Blocks], layout: Layout) -> Windows:
    """The structure of the given blocks.

    Raises:
        SamplesError: a group's shapes do not fit the layout.
    """
    width = min(2, layout.stages)
    begin = np.full(layout.stages, layout.stages, dtype=np.intp)
    end = np.zeros(layout.stages, dtype=np.intp)
    for number, blocks in enumerate(groups):
        reach = check(blocks, layout, number)
        if blocks.first.size == 0:
            continue
        width = max(width, reach)
        if blocks.local is not None:
            np.minimum.at(begin, blocks.local, blocks.first)
            np.maximum.at(end, blocks.local, blocks.first + reach)
    used = end > 0
    if used.any():
        # Eliminating local variables couples all the stages that their blocks touch.
        width = max(width, int((end - begin)[used].max()))
    begin = np.where(used, np.minimum(begin, layout.stages - width), 0)
    return Windows(width, begin, used)


def scatter_add(target: Array, index: IntArray, values: Array) -> None:
    """target[index] += values along the first axis, where an index may repeat; without a loop over the rows."""
    breaks = np.flatnonzero(np.diff(index) != 1) + 1
    if breaks.size <= _FEW:
        ends = [0, *breaks.tolist(), index.size]
        for start, end in itertools.pairwise(ends):
            if end > start:
                target[index[start] : index[end - 1] + 1] += values[start:end]
        return
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    target[ordered[starts]] += np.add.reduceat(values[order], starts, axis=0)
