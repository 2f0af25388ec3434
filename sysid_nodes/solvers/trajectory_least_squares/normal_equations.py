# SPDX-License-Identifier: Apache-2.0
"""Normal equations of a linearised trajectory problem, assembled straight into LAPACK's band, in O(T).

A group of blocks is added with one product of its columns by themselves and one addition a stage of its window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sysid_nodes.kernel.normal_equations import compiled_normal_equations
from sysid_nodes.solvers.trajectory_least_squares.band import Band
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, IntArray, Layout
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.solvers.trajectory_least_squares.windows import Windows, scatter_add, windows

CHUNK = 2**18  # doubles of products held at a time: few calls, and they are added while still in the cache


@dataclass(frozen=True)
class LocalTerms:
    """Hessian rows of the local variables of each stage (rows of unused owners are zero).

    Attributes:
        hessian: (T + 1, l, l).
        stage: (T + 1, l, W * n) coupling to the W stages from `Windows.local_first`.
        parameter: (T + 1, l, p).
        gradient: (T + 1, l).
    """

    hessian: Array
    stage: Array
    parameter: Array
    gradient: Array


@dataclass(frozen=True)
class NormalEquations:
    """Gauss-Newton Hessian and gradient, nothing eliminated, no damping.

    Attributes:
        layout, windows: sizes and coupling structure.
        band: of the stages; the entries above the diagonal are left over from products and mean nothing.
        border: (T + 1, n, p) between stages and parameters.
        corner: (p, p) of the parameters.
        gradient: (T + 1, n).
        parameter_gradient: (p,).
        local: the rows of local variables, or None where there are none.
        measured: diagonals of stages, parameters and local variables of the groups that measure steps (`Blocks`); None
            where none does.
        held: (T + 1,) factors on the damping of each stage and its local variables; None for one.
    """

    layout: Layout
    windows: Windows
    band: Band
    border: Array
    corner: Array
    gradient: Array
    parameter_gradient: Array
    local: LocalTerms | None
    measured: tuple[Array, Array, Array] | None = None
    held: Array | None = None

    def add(self, other: NormalEquations, factor: float, *, room: NormalEquations | None = None) -> NormalEquations:
        """The Hessian plus a factor times that of other equations with the same windows; the gradient is this one's.

        `room`, what an earlier call returned and is needed no longer, gives its memory.
        """

        def total(mine: Array, theirs: Array, out: Array | None) -> Array:
            out = np.multiply(theirs, factor, out=out)
            out += mine
            return out

        local, terms = self.local, None if room is None else room.local
        if local is not None and other.local is not None:
            local = replace(
                local,
                hessian=total(local.hessian, other.local.hessian, None if terms is None else terms.hessian),
                stage=total(local.stage, other.local.stage, None if terms is None else terms.stage),
                parameter=total(local.parameter, other.local.parameter, None if terms is None else terms.parameter),
            )
        storage = total(self.band.storage, other.band.storage, None if room is None else room.band.storage)
        return replace(
            self,
            band=Band(storage, self.band.size),
            border=total(self.border, other.border, None if room is None else room.border),
            corner=total(self.corner, other.corner, None if room is None else room.corner),
            local=local,
        )

    def diagonals(self) -> tuple[Array, Array, Array]:
        """Diagonals of the stages (T + 1, n), the parameters (p,) and the local variables (T + 1, l)."""
        j = np.arange(self.layout.size)
        stage = self.band.columns[:, j, j]
        local = np.zeros((self.layout.stages, 0))
        if self.local is not None:
            local = np.diagonal(self.local.hessian, axis1=1, axis2=2).copy()
        return stage, np.diag(self.corner).copy(), local

    def damping_scale(self) -> tuple[Array, Array, Array]:
        """The diagonal that damping is relative to: of the groups that measure steps, where they tell something."""
        stage, parameter, local = self.diagonals()
        if self.measured is not None:
            stage, parameter, local = (
                np.where(own > 0.0, own, every)
                for own, every in zip(self.measured, (stage, parameter, local), strict=True)
            )
        if self.held is not None:
            stage, local = stage * self.held[:, None], local * self.held[:, None]
        return stage, parameter, local

    def with_damping(self, damping: float) -> NormalEquations:
        """With damping times its scale added to the diagonal, 1 where a coordinate occurs in no residual."""
        stage, parameter, local = (damping * np.where(scale > 0.0, scale, 1.0) for scale in self.damping_scale())
        band, corner, terms = self.band.copy(), self.corner.copy(), self.local
        j = np.arange(self.layout.size)
        band.columns[:, j, j] += stage
        corner[np.diag_indices(self.layout.parameters)] += parameter
        if terms is not None:
            hessian, i = terms.hessian.copy(), np.arange(self.layout.local)
            hessian[:, i, i] += local
            terms = replace(terms, hessian=hessian)
        return replace(self, band=band, corner=corner, local=terms)


def assemble(groups: Sequence[Blocks], layout: Layout) -> NormalEquations:
    """J'J and J'r of whitened blocks, with the weights that robust losses have at these residuals.

    Raises:
        SamplesError: shapes do not fit.
    """
    return assemble_pieces([groups], windows(groups, layout), layout)


def assemble_pieces(
    pieces: Iterable[Sequence[Blocks]], structure: Windows, layout: Layout, *, room: NormalEquations | None = None
) -> NormalEquations:
    """`assemble` of blocks that come in pieces.

    Args:
        pieces: each is added before the next is asked for.
        structure: of all of them together.
        layout: sizes.
        room: equations of the same structure that are needed no longer, whose memory these take.
    """
    equations, kernel = blank_equations(structure, layout, room), compiled_normal_equations()
    measured = None
    for groups in pieces:
        plain = [reweight(blocks) for blocks in groups]
        measured = _add_measured(measured, plain, layout)
        if kernel is not None:
            add_compiled(kernel, equations, plain)
        else:
            for same in _group_by_windows(plain):
                _add(equations, same)
    return replace(equations, measured=measured)


def blank_equations(structure: Windows, layout: Layout, room: NormalEquations | None) -> NormalEquations:
    """Equations of no blocks; `room` as in `assemble_pieces`."""
    return _zero(structure, layout) if room is None else _clear(room)


def _clear(equations: NormalEquations) -> NormalEquations:
    """The same memory, zero."""
    own, terms = equations, equations.local
    arrays = [own.band.storage, own.border, own.corner, own.gradient, own.parameter_gradient]
    for array in [*arrays, *([] if terms is None else [terms.hessian, terms.stage, terms.parameter, terms.gradient])]:
        array.fill(0.0)
    return equations


def _zero(structure: Windows, layout: Layout) -> NormalEquations:
    s, n, p, own = layout.stages, layout.size, layout.parameters, layout.local
    reach, local = structure.width * n, None
    if structure.local_used.any():
        local = LocalTerms(
            np.zeros((s, own, own)), np.zeros((s, own, reach)), np.zeros((s, own, p)), np.zeros((s, own))
        )
    return NormalEquations(
        layout,
        structure,
        Band.zeros(s, n, structure.width),
        np.zeros((s, n, p)),
        np.zeros((p, p)),
        np.zeros((s, n)),
        np.zeros(p),
        local,
    )


def _add_measured(
    before: tuple[Array, Array, Array] | None, groups: Sequence[Blocks], layout: Layout
) -> tuple[Array, Array, Array] | None:
    """`NormalEquations.measured` with these groups as well."""
    chosen = [blocks for blocks in groups if blocks.measures and blocks.residual.size]
    if not chosen:
        return before
    s, n, p, own = layout.stages, layout.size, layout.parameters, layout.local
    stage, parameter, local = before or (np.zeros((s, n)), np.zeros(p), np.zeros((s, own)))
    for blocks in chosen:
        squares = np.sum(blocks.jacobian**2, axis=1).reshape(len(blocks.first), -1, layout.size)
        for k in range(squares.shape[1]):
            scatter_add(stage, blocks.first + k, squares[:, k])
        if blocks.parameter_jacobian is not None:
            parameter += np.sum(blocks.parameter_jacobian**2, axis=(0, 1))
        if blocks.local_jacobian is not None and blocks.local is not None:
            scatter_add(local, blocks.local, np.sum(blocks.local_jacobian**2, axis=1))
    return stage, parameter, local


def add_compiled(
    kernel: Any, equations: NormalEquations, groups: Sequence[Blocks], roots: Sequence[Array] | None = None
) -> None:
    """Adds plain least-squares groups by the kernel, their rows times factors (B, m) where there are any.

    The kernel wants every array, some with no columns, and contiguous last axes.
    """
    empty = np.zeros((0, 0, 0))
    terms = equations.local or LocalTerms(empty, empty, empty, np.zeros((0, 0)))
    none = np.zeros((0, 0))
    kernel.add_blocks(
        [
            _arrays(blocks, root)
            for blocks, root in zip(groups, roots or [none] * len(groups), strict=True)
            if blocks.residual.size
        ],
        equations.windows.local_first,
        equations.band.storage,
        equations.border,
        equations.corner,
        equations.gradient,
        equations.parameter_gradient,
        terms.hessian,
        terms.stage,
        terms.parameter,
        terms.gradient,
    )


def _arrays(blocks: Blocks, root: Array) -> tuple[Array | IntArray, ...]:
    """A group in the order of the kernel's `BlockRows`."""
    none = np.zeros((*blocks.residual.shape, 0))
    parameter, local = blocks.parameter_jacobian, blocks.local_jacobian
    return (
        np.ascontiguousarray(blocks.first, dtype=np.int64),
        blocks.residual,
        rows_contiguous(blocks.jacobian),
        none if parameter is None else rows_contiguous(parameter),
        none if local is None else rows_contiguous(local),
        np.zeros(0, dtype=np.int64) if blocks.local is None else np.ascontiguousarray(blocks.local, dtype=np.int64),
        root,
    )


def rows_contiguous(array: Array) -> Array:
    """(B, m, k) with rows that the kernel can read."""
    return array if array.shape[2] <= 1 or array.strides[2] == array.itemsize else np.ascontiguousarray(array)


def _group_by_windows(groups: Sequence[Blocks]) -> list[list[Blocks]]:
    """Groups that lie on the same windows and owners, so that one product serves them all."""
    together: dict[tuple[int, bytes, bytes], list[Blocks]] = {}
    for blocks in groups:
        if blocks.residual.size:
            owners = b"" if blocks.local is None else blocks.local.tobytes()
            together.setdefault((blocks.jacobian.shape[2], blocks.first.tobytes(), owners), []).append(blocks)
    return list(together.values())


def _add(equations: NormalEquations, groups: list[Blocks]) -> None:
    """Adds groups on the same windows."""
    first, local = groups[0].first, groups[0].local
    columns = _columns(groups, equations.layout.parameters)
    chunk = max(1, CHUNK // columns.shape[2] ** 2)
    for start in range(0, first.size, chunk):
        part = slice(start, start + chunk)
        rows = columns[part]
        products = rows.transpose(0, 2, 1) @ rows
        reach = groups[0].jacobian.shape[2]
        _add_products(equations, products, first[part], None if local is None else local[part], reach)


def _columns(groups: list[Blocks], p: int) -> Array:
    """(B, sum of m, W * n + p + 1 + l) stage, parameter and residual columns, then local ones, side by side."""
    stacked = []
    for blocks in groups:
        shape = blocks.residual.shape
        parameter = blocks.parameter_jacobian
        pieces = [
            blocks.jacobian,
            np.zeros((*shape, p)) if parameter is None else parameter,
            blocks.residual[:, :, None],
        ]
        if blocks.local_jacobian is not None:
            pieces.append(blocks.local_jacobian)
        stacked.append(np.concatenate(pieces, axis=2))
    return stacked[0] if len(stacked) == 1 else np.concatenate(stacked, axis=1)


def _add_products(
    equations: NormalEquations, products: Array, first: IntArray, local: IntArray | None, reach: int
) -> None:
    n, p = equations.layout.size, equations.layout.parameters
    add_window(equations, first, products, reach)
    theta = slice(reach, reach + p)
    equations.corner[...] += products[:, theta, theta].sum(axis=0)
    equations.parameter_gradient[...] += products[:, theta, reach + p].sum(axis=0)
    terms = equations.local
    if local is None or terms is None:
        return
    own = slice(reach + p + 1, None)
    scatter_add(terms.hessian, local, products[:, own, own])
    scatter_add(terms.parameter, local, products[:, own, theta])
    scatter_add(terms.gradient, local, products[:, own, reach + p])
    offset = first - equations.windows.local_first[local]
    for shift in np.unique(offset):
        chosen = offset == shift
        part = terms.stage[:, :, shift * n : shift * n + reach]
        scatter_add(part, local[chosen], products[chosen, own, :reach])


def add_window(equations: NormalEquations, first: IntArray, products: Array, reach: int) -> None:
    """Adds the stage rows of (B, K, K) products of columns ordered stages, parameters, residual."""
    n, p = equations.layout.size, equations.layout.parameters
    for offset in range(0, reach, n):
        stage, rows = first + offset // n, slice(offset, offset + n)
        scatter_add(equations.band.columns[:, :, : reach - offset], stage, products[:, rows, offset:reach])
        if p:
            scatter_add(equations.border, stage, products[:, rows, reach : reach + p])
        scatter_add(equations.gradient, stage, products[:, rows, reach + p])
