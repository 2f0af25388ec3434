# SPDX-License-Identifier: Apache-2.0
"""Normal equations of blocks whose rows are weighed anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sysid_nodes.kernel.normal_equations import compiled_normal_equations
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import (
    NormalEquations,
    add_compiled,
    assemble_pieces,
    blank_equations,
)
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.solvers.trajectory_least_squares.windows import Windows

_CACHED = 2**17
"""Numbers of scaled rows held at a time: a megabyte."""


def assemble_scaled(
    groups: Sequence[Blocks],
    roots: Sequence[Array],
    structure: Windows,
    layout: Layout,
    *,
    room: NormalEquations | None = None,
) -> NormalEquations:
    """J'J and J'r of rows times factors (B, m), of groups of which none measures steps.

    Robust losses keep the weights that they have at the residuals without factors. `structure`, `layout` and `room` as
    in `assemble_pieces`.
    """
    kernel = compiled_normal_equations()
    if kernel is None:
        return assemble_pieces(_scaled_pieces(groups, roots), structure, layout, room=room)
    equations = blank_equations(structure, layout, room)
    add_compiled(kernel, equations, [reweight(blocks) for blocks in groups], roots)
    return equations


def _scaled_pieces(groups: Sequence[Blocks], roots: Sequence[Array]) -> Iterator[list[Blocks]]:
    """Rows times their factors, of a few blocks at a time."""
    for blocks, root in zip(map(reweight, groups), roots, strict=True):
        size = max(1, _CACHED // max(blocks.jacobian[:1].size, 1))
        for begin in range(0, len(root), size):
            yield [_scale_rows(blocks, slice(begin, begin + size), root[begin : begin + size, :, None])]


def _scale_rows(blocks: Blocks, part: slice, root: Array) -> Blocks:
    """Some of the blocks, their rows times factors (B, m, 1)."""
    parameter, local = blocks.parameter_jacobian, blocks.local_jacobian
    return replace(
        blocks,
        first=blocks.first[part],
        residual=blocks.residual[part] * root[:, :, 0],
        jacobian=blocks.jacobian[part] * root,
        parameter_jacobian=None if parameter is None else parameter[part] * root,
        local_jacobian=None if local is None else local[part] * root,
        local=None if blocks.local is None else blocks.local[part],
    )
