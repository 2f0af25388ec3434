# SPDX-License-Identifier: Apache-2.0
"""Random linear trajectory problems, and the same problems as one dense matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout


@dataclass(frozen=True)
class LinearPoint:
    """Stages (T + 1, n), parameters (p,), local variables (T + 1, l)."""

    stage: Array
    parameter: Array
    local: Array

    @staticmethod
    def zero(layout: Layout) -> LinearPoint:
        return LinearPoint(
            np.zeros((layout.stages, layout.size)),
            np.zeros(layout.parameters),
            np.zeros((layout.stages, layout.local)),
        )

    def flat(self) -> Array:
        """Stages, parameters, local variables in one vector, the order of `dense`."""
        return np.concatenate([self.stage.ravel(), self.parameter, self.local.ravel()])


@dataclass(frozen=True)
class LinearProblem:
    """Residuals affine in the point; `groups` hold the residual at zero."""

    layout: Layout
    groups: Sequence[Blocks]

    def linearise(self, point: LinearPoint) -> list[Blocks]:
        return [
            replace(blocks, residual=residual)
            for blocks, residual in zip(self.groups, self.residuals(point), strict=True)
        ]

    def residuals(self, point: LinearPoint) -> list[Array]:
        found = []
        for blocks in self.groups:
            rows, offset = dense([blocks], self.layout)
            found.append((rows @ point.flat() + offset).reshape(blocks.residual.shape))
        return found

    def retract(self, point: LinearPoint, stage: Array, parameter: Array, local: Array) -> LinearPoint:
        return LinearPoint(point.stage + stage, point.parameter + parameter, point.local + local)


def dense(groups: Sequence[Blocks], layout: Layout) -> tuple[Array, Array]:
    """All rows (M, N + p + (T + 1) l) and residuals (M,), written as a plain loop."""
    n, p = layout.size, layout.parameters
    states = layout.stages * n
    total = states + p + layout.stages * layout.local
    rows, residuals = [np.zeros((0, total))], [np.zeros(0)]
    for blocks in groups:
        for b in range(blocks.first.size):
            row = np.zeros((blocks.residual.shape[1], total))
            start = blocks.first[b] * n
            row[:, start : start + blocks.jacobian.shape[2]] = blocks.jacobian[b]
            if blocks.parameter_jacobian is not None:
                row[:, states : states + p] = blocks.parameter_jacobian[b]
            if blocks.local_jacobian is not None and blocks.local is not None:
                own = states + p + blocks.local[b] * layout.local
                row[:, own : own + layout.local] = blocks.local_jacobian[b]
            rows.append(row)
            residuals.append(blocks.residual[b])
    return np.vstack(rows), np.concatenate(residuals)


def random_blocks(
    rng: np.random.Generator,
    layout: Layout,
    first: Any,
    rows: int,
    width: int,
    *,
    local: Any = None,
    theta: bool = True,
) -> Blocks:
    """Blocks with normal entries."""
    first = np.asarray(first, dtype=np.intp)
    shape = (first.size, rows)
    return Blocks(
        first,
        rng.normal(size=shape),
        rng.normal(size=(*shape, width * layout.size)),
        rng.normal(size=(*shape, layout.parameters)) if theta and layout.parameters else None,
        None if local is None else rng.normal(size=(*shape, layout.local)),
        None if local is None else np.asarray(local, dtype=np.intp),
    )


def random_groups(rng: np.random.Generator, layout: Layout, width: int) -> list[Blocks]:
    """A well-posed mix: every stage observed, windows of all widths up to `width`, repeated and scattered windows."""
    s = layout.stages
    groups = [random_blocks(rng, layout, np.arange(s), layout.size, 1, theta=False)]
    for reach in range(1, min(width, s) + 1):
        groups.append(random_blocks(rng, layout, np.arange(s - reach + 1), 3, reach))
    groups.append(random_blocks(rng, layout, rng.integers(0, s, 7), 2, 1))
    groups.append(random_blocks(rng, layout, np.zeros(1), layout.parameters + 1, 1))
    if layout.local and s > 2:
        owners = np.arange(1, s - 1)
        groups.append(random_blocks(rng, layout, owners - 1, layout.local + 1, 2, local=owners))
        groups.append(random_blocks(rng, layout, owners, 2, 1, local=owners, theta=False))
    return groups


def select(blocks: Blocks, chosen: Array, shift: int = 0) -> Blocks:
    """Some of the blocks, with stages counted from `shift`."""
    parameter, local = blocks.parameter_jacobian, blocks.local_jacobian
    return replace(
        blocks,
        first=blocks.first[chosen] - shift,
        residual=blocks.residual[chosen],
        jacobian=blocks.jacobian[chosen],
        parameter_jacobian=None if parameter is None else parameter[chosen],
        local_jacobian=None if local is None else local[chosen],
        local=None if blocks.local is None else blocks.local[chosen] - shift,
    )
