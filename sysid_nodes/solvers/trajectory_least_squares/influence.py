# SPDX-License-Identifier: Apache-2.0
"""Influence of every residual on the estimate: its leverage, and how the parameters move with it.

With the rows J of all blocks and H = J' J, the fit leaves r = (1 - P) e of the noise e, P = J H^-1 J' (Belsley, Kuh and
Welsch, Regression diagnostics, 1980). A row's leverage P_ii says how much of its noise the fit takes away, and
(J H^-1)_theta by how much the parameters err for it. O(T), from the covariances of neighbouring stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sysid_nodes.kernel.normal_equations import compiled_normal_equations
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, Step, factorise
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import CHUNK, assemble, rows_contiguous
from sysid_nodes.solvers.trajectory_least_squares.posterior import Posterior, covariances
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, IntArray, Layout
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight


@dataclass(frozen=True)
class Influence:
    """Of B blocks of m rows, weighted as a robust loss weights them.

    Attributes:
        residual: (B, m).
        leverage: (B, m): 0 for a row whose noise stays in its residual, 1 for one that is met whatever its noise is.
        gain: (B, m, p): the parameters err by minus the sum of gain times noise, to first order.
    """

    residual: Array
    leverage: Array
    gain: Array


def influences(groups: Sequence[Blocks], factor: Factor) -> tuple[Posterior, list[Influence]] | None:
    """The posterior and the influence of every group, or None where the data leave a coordinate undetermined.

    Args:
        groups: blocks that were assembled, which couple three stages at most.
        factor: undamped, of their normal equations.
    """
    found = covariances(factor)
    if found is None:
        return None
    parts = zip(groups, leverages(groups, factor, found), parameter_gains(groups, factor, found), strict=True)
    return found, [Influence(reweight(blocks).residual, leverage, gain) for blocks, leverage, gain in parts]


def leverages(
    groups: Sequence[Blocks], factor: Factor, found: Posterior, rows: Sequence[slice] | None = None
) -> list[Array]:
    """`Influence.leverage` of every group alone.

    Args:
        groups: blocks that were assembled, which couple three stages at most.
        factor: undamped, of their normal equations.
        found: the posterior, all stages covered.
        rows: of each group's blocks, that are asked for; those of others are NaN. All by default.
    """
    out = []
    for blocks, chosen in zip(map(reweight, groups), rows or [slice(None)] * len(groups), strict=True):
        own = np.full(blocks.residual.shape, np.nan)
        if own[:, chosen].size:
            own[:, chosen] = _leverage(_take_rows(blocks, chosen), factor, found)
        out.append(own)
    return out


def _take_rows(blocks: Blocks, rows: slice) -> Blocks:
    parameter, local = blocks.parameter_jacobian, blocks.local_jacobian
    return replace(
        blocks,
        residual=blocks.residual[:, rows],
        jacobian=blocks.jacobian[:, rows],
        parameter_jacobian=None if parameter is None else parameter[:, rows],
        local_jacobian=None if local is None else local[:, rows],
    )


def _leverage(blocks: Blocks, factor: Factor, found: Posterior) -> Array:
    """(B, m) of one group."""
    kernel = compiled_normal_equations()
    if kernel is not None:
        return _compiled_leverage(kernel, blocks, factor, found)
    size = factor.equations.layout.size
    count, rows, columns = blocks.jacobian.shape
    reach, first = columns // size, blocks.first
    jacobian, own = blocks.jacobian, np.zeros((count, rows))
    shared = blocks.parameter_jacobian is not None or blocks.local is not None
    if blocks.local is not None and blocks.local_jacobian is not None:
        # Local variables are -root' (coupling x + e) of stages and parameters x, e of unit variance.
        structure = factor.equations.windows
        reach, first, at = structure.width, structure.local_first[blocks.local], blocks.first
        root = blocks.local_jacobian @ factor.local_root[blocks.local].swapaxes(1, 2)
        own = np.einsum("bij,bij->bi", root, root)
        jacobian = -root @ factor.local_rows[blocks.local][:, :, :-1]
        place = ((at - first) * size)[:, None, None] + np.arange(columns)
        np.put_along_axis(jacobian, place, np.take_along_axis(jacobian, place, 2) + blocks.jacobian, axis=2)
        if blocks.parameter_jacobian is not None:
            jacobian[:, :, reach * size :] += blocks.parameter_jacobian
    elif blocks.parameter_jacobian is not None:
        jacobian = np.concatenate([jacobian, blocks.parameter_jacobian], axis=2)
    chunk = max(1, CHUNK // jacobian.shape[2] ** 2)
    for begin in range(0, count, chunk):
        part = slice(begin, begin + chunk)
        moved = jacobian[part] @ _joint(found, first[part], reach, shared=shared)
        own[part] += np.einsum("bij,bij->bi", moved, jacobian[part])
    return own


def _compiled_leverage(kernel: Any, blocks: Blocks, factor: Factor, found: Posterior) -> Array:
    """`_leverage` by the kernel, which wants every array, some with no columns, and contiguous last axes."""
    count, rows, columns = blocks.jacobian.shape
    size, structure, out = factor.equations.layout.size, factor.equations.windows, np.zeros((count, rows))
    reach, first, owner, none = columns // size, blocks.first, blocks.local, np.zeros((count, rows, 0))
    parameter, local = blocks.parameter_jacobian, blocks.local_jacobian
    if owner is not None:
        reach, first = structure.width, structure.local_first[owner]
    kernel.leverages(
        reach,
        np.ascontiguousarray(first, dtype=np.int64),
        np.ascontiguousarray((blocks.first - first) * size, dtype=np.int64),
        rows_contiguous(blocks.jacobian),
        none if parameter is None else rows_contiguous(parameter),
        none if local is None else rows_contiguous(local),
        np.zeros(0, dtype=np.int64) if owner is None else np.ascontiguousarray(owner, dtype=np.int64),
        factor.local_root,
        factor.local_rows,
        *map(np.ascontiguousarray, (found.stage, found.neighbour, found.second, found.stage_parameter)),
        np.ascontiguousarray(found.parameter),
        out,
    )
    return out


def _joint(found: Posterior, first: IntArray, reach: int, *, shared: bool) -> Array:
    """(B, d, d) covariances of stages first..first + reach - 1 and, where they are shared, of the parameters."""
    n, p = found.stage_parameter.shape[1:]
    at, d = reach * n, reach * n + (p if shared else 0)
    out = np.empty((len(first), d, d))
    apart = (found.stage, found.neighbour, found.second)
    for i in range(reach):
        rows = slice(i * n, (i + 1) * n)
        for j in range(i, reach):
            columns, between = slice(j * n, (j + 1) * n), apart[j - i][first + i]
            out[:, rows, columns], out[:, columns, rows] = between, between.swapaxes(1, 2)
        if shared:
            out[:, rows, at:] = found.stage_parameter[first + i]
            out[:, at:, rows] = out[:, rows, at:].swapaxes(1, 2)
    if shared:
        out[:, at:, at:] = found.parameter
    return out


def parameter_gains(groups: Sequence[Blocks], factor: Factor, found: Posterior) -> list[Array]:
    """`Influence.gain` of every group alone.

    Args:
        groups: blocks, whether they were assembled or not.
        factor: undamped.
        found: its posterior, all stages covered.
    """
    return list(gains(groups, factor, found.stage_parameter, found.parameter))


def gains(groups: Sequence[Blocks], factor: Factor, by_stage: Array, by_parameter: Array) -> Iterator[Array]:
    """(B, m, c) for every group, one at a time: c unknowns err by minus the sum of gain times noise, to first order.

    Args:
        groups: blocks, whether they were assembled or not.
        factor: undamped.
        by_stage: (T + 1, n, c) covariances of the stages with those unknowns.
        by_parameter: (p, c) of the parameters.
    """
    structure, kernel = factor.equations.windows, compiled_normal_equations()
    if kernel is not None:
        known = np.ascontiguousarray(by_stage), np.ascontiguousarray(by_parameter)
        yield from (_compiled_gain(kernel, reweight(blocks), factor, known) for blocks in groups)
        return
    n, c = by_stage.shape[1:]

    def windows_of(first: IntArray, width: int) -> Array:
        return np.asarray(by_stage[first[:, None] + np.arange(width)].reshape(len(first), width * n, c))

    local = np.zeros((0, 0, c))
    if factor.local_root.size:
        reach = structure.width * n
        moved = factor.local_rows[:, :, :reach] @ windows_of(structure.local_first, structure.width)
        local = -factor.local_root.swapaxes(1, 2) @ (moved + factor.local_rows[:, :, reach:-1] @ by_parameter)
    for blocks in (reweight(blocks) for blocks in groups):
        gain = blocks.jacobian @ windows_of(blocks.first, blocks.jacobian.shape[2] // n)
        if blocks.parameter_jacobian is not None:
            gain = gain + blocks.parameter_jacobian @ by_parameter
        if blocks.local_jacobian is not None and blocks.local is not None:
            gain = gain + blocks.local_jacobian @ local[blocks.local]
        yield np.asarray(gain)


def _compiled_gain(kernel: Any, blocks: Blocks, factor: Factor, known: tuple[Array, Array]) -> Array:
    """`gains` of one group by the kernel, from covariances with the stages and with the parameters."""
    count, rows, _ = blocks.jacobian.shape
    none, out = np.zeros((count, rows, 0)), np.empty((count, rows, known[0].shape[2]))
    parameter, local, owner = blocks.parameter_jacobian, blocks.local_jacobian, blocks.local
    kernel.gains(
        np.ascontiguousarray(blocks.first, dtype=np.int64),
        rows_contiguous(blocks.jacobian),
        none if parameter is None else rows_contiguous(parameter),
        none if local is None else rows_contiguous(local),
        np.zeros(0, dtype=np.int64) if owner is None else np.ascontiguousarray(owner, dtype=np.int64),
        factor.equations.windows.local_first,
        factor.local_root,
        factor.local_rows,
        *known,
        out,
    )
    return out


def white_residuals(groups: Sequence[Blocks], layout: Layout, rng: np.random.Generator) -> list[Array] | None:
    """(B, m) residuals that every group would have if all its noise were white, one draw; None where the fit fails."""
    drawn = [
        replace(blocks, residual=rng.standard_normal(blocks.residual.shape))
        for blocks in (reweight(blocks) for blocks in groups)
    ]
    factor = factorise(assemble(drawn, layout), 0.0)
    return None if factor is None else residuals_after(drawn, factor.step())


def residuals_after(groups: Sequence[Blocks], step: Step) -> list[Array]:
    """(B, m) residuals that the linear model of plain least-squares blocks has after a step."""
    left = []
    for blocks in groups:
        count, _, size = blocks.jacobian.shape
        moved = step.stage[blocks.first[:, None] + np.arange(size // step.stage.shape[1])].reshape(count, size)
        rows = blocks.residual + np.einsum("bmj,bj->bm", blocks.jacobian, moved)
        if blocks.parameter_jacobian is not None:
            rows += blocks.parameter_jacobian @ step.parameter
        if blocks.local_jacobian is not None and blocks.local is not None:
            rows += np.einsum("bml,bl->bm", blocks.local_jacobian, step.local[blocks.local])
        left.append(rows)
    return left
