# SPDX-License-Identifier: Apache-2.0
"""Sections of a trajectory laid end to end: what all of it tells of its noise, most of its stages tell again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, IntArray, Layout
from sysid_nodes.solvers.trajectory_least_squares.windows import Windows, windows


@dataclass(frozen=True)
class Sections:
    """Blocks within sections of a trajectory, which nothing but the parameters has in common.

    Attributes:
        layout, windows: of the sections laid end to end.
        groups: their blocks, stages counted there.
        taken: of each group, the places of its blocks among those given, of the first section alone for `anchored`.
        inside: (T + 1,) whether a stage of the trajectory is in a section and neither its first nor its last.
    """

    layout: Layout
    windows: Windows
    groups: list[Blocks]
    taken: list[IntArray]
    inside: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def lay_back(self, values: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        """Values (B', m) of the sections' blocks at their places among those given, of these shapes, elsewhere NaN."""
        out = [np.full(shape, np.nan) for shape in shapes]
        for whole, taken, own in zip(out, self.taken, values, strict=True):
            whole[taken] = own[: len(taken)]
        return out


def cut_sections(groups: Sequence[Blocks], layout: Layout, period: int, length: int, anchored: int) -> Sections:
    """The first `length` stages of every `period`, without the blocks that reach beyond.

    Args:
        groups: of the trajectory.
        layout: of the trajectory.
        period: stages from one section to the next.
        length: stages of a section, three at least.
        anchored: group of one block on the first stages, which holds the first stages of every section at their
            linearisation point: what a trajectory is known by from its beginning alone.
    """
    count = (layout.stages - length) // period + 1
    cut, taken = [], []
    for index, blocks in enumerate(groups):
        width = blocks.jacobian.shape[2] // layout.size
        section, offset = np.divmod(blocks.first, period)
        (at,) = np.nonzero((offset + width <= length) & (section < count))
        moved = _at(blocks, at, section[at] * length + offset[at])
        if blocks.local is not None:
            moved = replace(moved, local=moved.first + (blocks.local - blocks.first)[at])
        cut.append(_repeat(moved, count, length) if index == anchored else moved)
        taken.append(at)
    whole = replace(layout, stages=count * length)
    section, offset = np.divmod(np.arange(layout.stages), period)
    inside = (section < count) & (offset > 0) & (offset < length - 1)
    return Sections(whole, windows(cut, whole), cut, taken, inside)


def _at(blocks: Blocks, at: IntArray, first: IntArray) -> Blocks:
    """Some of the blocks, on other windows."""
    parameter, local = blocks.parameter_jacobian, blocks.local_jacobian
    return replace(
        blocks,
        first=first,
        residual=blocks.residual[at],
        jacobian=blocks.jacobian[at],
        parameter_jacobian=None if parameter is None else parameter[at],
        local_jacobian=None if local is None else local[at],
    )


def _repeat(blocks: Blocks, count: int, length: int) -> Blocks:
    """A block at the beginning of each section, without residual or parameters from the second on."""
    again = _at(blocks, np.zeros(count, dtype=np.intp), length * np.arange(count))
    again.residual[1:] = 0.0
    if again.parameter_jacobian is not None:
        again.parameter_jacobian[1:] = 0.0
    return again
