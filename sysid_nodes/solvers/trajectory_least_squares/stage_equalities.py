# SPDX-License-Identifier: Apache-2.0
"""Hard equalities of each stage by itself, c(x_k) = 0: the manifold that they leave, its tangent space, the way back.

With C = dc/dx of full rank, C' = [Y Z] [R; 0] gives the steps dx = Z y that keep the linearised equality, n - c
coordinates a stage, and the shortest way back, dx = -Y R^-T c (the null-space method). A trajectory that moves in these
coordinates is plain least squares on a smaller manifold: the closing of a mechanism costs no penalty, no multiplier and
no drift, and the band gets narrower.

Equalities may hold at some stages only. All stages keep as many coordinates; where fewer equalities take them up, those
that are left over move nothing, and rows that nothing contradicts keep them at zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout

BoolArray = npt.NDArray[np.bool_]

_SINGULAR = 1e-9  # least pivot of unit rows: below it the stage is singular, and the tangent space is not this one


@dataclass(frozen=True)
class StageEqualities:
    """Equalities of every stage.

    Attributes:
        value: (T + 1, c).
        jacobian: (T + 1, c, n).
        held: (T + 1, c) which of them hold where; None where all do.
    """

    value: Array
    jacobian: Array
    held: BoolArray | None = None

    @property
    def violation(self) -> float:
        """Largest |c| of those that hold; inf where one is not a number."""
        value = self.value if self.held is None else self.value[self.held]
        worst = float(np.abs(value).max(initial=0.0))
        return worst if np.isfinite(worst) else np.inf


@dataclass(frozen=True)
class TangentSpace:
    """Steps that keep the linearised equalities.

    Attributes:
        basis: (T + 1, n, m) orthonormal Z, and zero in coordinates that are left over.
        correction: (T + 1, n) the shortest step that meets the linearised equalities.
        regular: whether C has full rank at every stage.
        left_over: (T + 1, m) coordinates that move nothing; None where there is none.
    """

    basis: Array
    correction: Array
    regular: bool
    left_over: BoolArray | None = None

    def layout(self, full: Layout) -> Layout:
        """Sizes of the unknown in these coordinates."""
        return replace(full, size=self.basis.shape[2])

    def reduce(self, blocks: Blocks) -> Blocks:
        """A group of blocks with derivatives in these coordinates."""
        n, m = self.basis.shape[1:]
        b, rows, columns = blocks.jacobian.shape
        width = columns // n
        parts = blocks.jacobian.reshape(b, rows, width, n)
        stages = blocks.first[:, None] + np.arange(width)
        reduced = parts.transpose(0, 2, 1, 3) @ self.basis[stages]
        return replace(blocks, jacobian=reduced.transpose(0, 2, 1, 3).reshape(b, rows, width * m))

    def expand(self, step: Array) -> Array:
        """(T + 1, n) of a step (T + 1, n - c) in these coordinates."""
        return np.asarray(np.einsum("kij,kj->ki", self.basis, step))


def tangent_space(equalities: StageEqualities) -> TangentSpace:
    """The tangent space of the equalities at a point, in as many coordinates as its widest stage has."""
    held, (count, _, n) = equalities.held, equalities.jacobian.shape
    if held is None or held.all():
        return _tangent_space(equalities)
    wide = n - int(held.sum(axis=1).min())
    basis, correction = np.zeros((count, n, wide)), np.zeros((count, n))
    left_over, regular = np.zeros((count, wide), dtype=np.bool_), True
    patterns, kinds = np.unique(held, axis=0, return_inverse=True)
    for kind, rows in enumerate(patterns):
        at = np.flatnonzero(kinds.ravel() == kind)
        found = _tangent_space(StageEqualities(equalities.value[np.ix_(at, rows)], equalities.jacobian[at][:, rows]))
        free = n - int(rows.sum())
        basis[at, :, :free], correction[at], left_over[at, free:] = found.basis, found.correction, True
        regular = regular and found.regular
    return TangentSpace(basis, correction, regular, left_over if left_over.any() else None)


def _tangent_space(equalities: StageEqualities) -> TangentSpace:
    """Where all hold."""
    c, n = equalities.jacobian.shape[1:]
    norm = np.linalg.norm(equalities.jacobian, axis=2, keepdims=True)
    scale = np.where(norm > 0.0, norm, 1.0)
    q, r = np.linalg.qr((equalities.jacobian / scale).swapaxes(1, 2), mode="complete")
    r = r[:, :c]
    pivots = np.abs(np.diagonal(r, axis1=1, axis2=2))
    regular = bool(np.all(pivots > _SINGULAR))
    correction = np.zeros((len(q), n))
    if regular and c:
        value = (equalities.value / scale[:, :, 0])[:, :, None]
        correction = -(q[:, :, :c] @ np.linalg.solve(r.swapaxes(1, 2), value))[:, :, 0]
    return TangentSpace(q[:, :, c:], correction, regular)


def reduce_all(groups: Sequence[Blocks], space: TangentSpace) -> list[Blocks]:
    """Groups of blocks with derivatives in the coordinates of a tangent space, then what holds those left over."""
    reduced = [space.reduce(blocks) for blocks in groups]
    if space.left_over is None:
        return reduced
    at = np.flatnonzero(space.left_over.any(axis=1))
    rows = np.eye(space.left_over.shape[1]) * space.left_over[at][:, None]
    return [*reduced, Blocks(at, np.zeros(rows.shape[:2]), rows, measures=True)]
