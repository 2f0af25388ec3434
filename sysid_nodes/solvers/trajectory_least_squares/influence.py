# SPDX-License-Identifier: Apache-2.0
"""Influence of every residual on the estimate: its leverage, and how the parameters move with it.

With the rows J of all blocks and H = J' J, the fit leaves r = (1 - P) e of the noise e, P = J H^-1 J' (Belsley, Kuh and
Welsch, Regression diagnostics, 1980). A row's leverage P_ii says how much of its noise the fit takes away, and
(J H^-1)_theta by how much the parameters err for it. O(T), beside the recursion that gives the covariances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, factorise
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
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
        groups: blocks that were assembled.
        factor: undamped, of their normal equations.
    """
    visitor = _Visitor(groups, factor)
    found = covariances(factor, visit=visitor)
    return None if found is None else (found, visitor.out)


def parameter_gains(groups: Sequence[Blocks], factor: Factor) -> list[Array]:
    """`Influence.gain` of every group alone.

    Args:
        groups: blocks, whether they were assembled or not.
        factor: undamped.
    """
    layout, structure = factor.equations.layout, factor.equations.windows
    n, p = layout.size, layout.parameters
    if not p:
        return [np.zeros((*blocks.residual.shape, 0)) for blocks in groups]
    own = lapack.dpotrs(factor.corner, np.eye(p), lower=1)[0]
    stage = np.asarray(lapack.dtbtrs(factor.band.lapack, -factor.border @ own, uplo="L", trans="T")[0]).reshape(
        -1, n, p
    )

    def windows_of(first: IntArray, width: int) -> Array:
        return np.asarray(stage[first[:, None] + np.arange(width)].reshape(len(first), width * n, p))

    local = np.zeros((0, 0, p))
    if factor.local_root.size:
        reach = structure.width * n
        moved = factor.local_rows[:, :, :reach] @ windows_of(structure.local_first, structure.width)
        local = -factor.local_root.swapaxes(1, 2) @ (moved + factor.local_rows[:, :, reach:-1] @ own)
    gains = []
    for blocks in (reweight(blocks) for blocks in groups):
        gain = blocks.jacobian @ windows_of(blocks.first, blocks.jacobian.shape[2] // n)
        if blocks.parameter_jacobian is not None:
            gain = gain + blocks.parameter_jacobian @ own
        if blocks.local_jacobian is not None and blocks.local is not None:
            gain = gain + blocks.local_jacobian @ local[blocks.local]
        gains.append(np.asarray(gain))
    return gains


def white_residuals(groups: Sequence[Blocks], layout: Layout, rng: np.random.Generator) -> list[Array] | None:
    """(B, m) residuals that every group would have if all its noise were white, one draw; None where the fit fails."""
    drawn = [
        replace(blocks, residual=rng.standard_normal(blocks.residual.shape))
        for blocks in (reweight(blocks) for blocks in groups)
    ]
    factor = factorise(assemble(drawn, layout), 0.0)
    if factor is None:
        return None
    step, n = factor.step(), layout.size
    left = []
    for blocks in drawn:
        width = blocks.jacobian.shape[2] // n
        moved = step.stage[blocks.first[:, None] + np.arange(width)].reshape(len(blocks.first), width * n)
        rows = blocks.residual + np.einsum("bmj,bj->bm", blocks.jacobian, moved)
        if blocks.parameter_jacobian is not None:
            rows += blocks.parameter_jacobian @ step.parameter
        if blocks.local_jacobian is not None and blocks.local is not None:
            rows += np.einsum("bml,bl->bm", blocks.local_jacobian, step.local[blocks.local])
        left.append(rows)
    return left


class _Visitor:
    """Takes the joint covariance of each window and applies the blocks that begin there."""

    def __init__(self, groups: Sequence[Blocks], factor: Factor) -> None:
        self._factor, self._groups = factor, [reweight(blocks) for blocks in groups]
        self.out = [
            Influence(blocks.residual, np.zeros(blocks.residual.shape), gain)
            for blocks, gain in zip(self._groups, parameter_gains(groups, factor), strict=True)
        ]
        # Blocks by the stage at which their whole window, that of their local variables included, is known.
        self._due: dict[int, list[tuple[int, int]]] = {}
        for number, blocks in enumerate(self._groups):
            begin = blocks.first if blocks.local is None else factor.equations.windows.local_first[blocks.local]
            for b, k in enumerate(begin.tolist()):
                self._due.setdefault(k, []).append((number, b))

    def __call__(self, k: int, window: Array) -> None:
        layout = self._factor.equations.layout
        stages = window.shape[0] - layout.parameters
        due = self._due.get(k, [])
        ends = np.cumsum([0, *(self._groups[number].residual.shape[1] for number, _ in due)]).tolist()
        rows, own = np.zeros((ends[-1], window.shape[0])), np.zeros(ends[-1])
        for (number, b), first, last in zip(due, ends[:-1], ends[1:], strict=True):
            blocks = self._groups[number]
            at = (int(blocks.first[b]) - k) * layout.size
            rows[first:last, at : at + blocks.jacobian.shape[2]] = blocks.jacobian[b]
            if blocks.parameter_jacobian is not None:
                rows[first:last, stages:] = blocks.parameter_jacobian[b]
            if blocks.local_jacobian is not None and blocks.local is not None:
                # Local variables are -root' (rows x + e) of stages and parameters x, e of unit variance.
                owner = int(blocks.local[b])
                root = blocks.local_jacobian[b] @ self._factor.local_root[owner].T
                rows[first:last] -= root @ self._factor.local_rows[owner][:, :-1]
                own[first:last] = np.einsum("ij,ij->i", root, root)
        moved = rows @ window
        own += np.einsum("ij,ij->i", moved, rows)
        for (number, b), first, last in zip(due, ends[:-1], ends[1:], strict=True):
            self.out[number].leverage[b] = own[first:last]
