# SPDX-License-Identifier: Apache-2.0
"""Stages eliminated one after the other, first to last: a square-root information filter with hard equalities.

Local variables go before the first stage that they couple to. Time is linear in the stages eliminated. It is the
parametrised equality-constrained Riccati recursion, in square-root form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.trajectory_least_squares.elimination import Conditional, eliminate
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.solvers.trajectory_least_squares.windows import windows

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sweep:
    """Result of eliminating stages 0..m-1 and the local variables coupled to them.

    Attributes:
        width: W, stages that can be coupled by blocks and equalities together.
        stages: m conditionals, each given the next min(W - 1, T - k) stages and the parameters.
        local: by owner, the first stage k of its window and the conditional given stages k..k + min(W, T + 1 - k) - 1
            and the parameters.
        equalities: (c, q + 1) rows on what is left: the next stages (fewer than W), the parameters; and the residual.
        rows: (a, q + 1) least-squares rows on the same.
        contradiction: by how much equalities, scaled to unit rows, contradict one another.
        used: for each group, then each group of equalities, (B,) whether a block went into the elimination.
    """

    width: int
    stages: list[Conditional]
    local: dict[int, tuple[int, Conditional]]
    equalities: Array
    rows: Array
    contradiction: float
    used: list[Mask]


class _Frames:
    """Rows by the stage at which they enter, in columns [local variables,] window of stages, parameters, residual."""

    def __init__(self, layout: Layout, width: int) -> None:
        self.layout, self.width = layout, width
        self.rows: dict[tuple[str, int, bool], list[Array]] = {}

    def columns(self, k: int) -> int:
        """Columns of a frame that starts at stage k."""
        return min(self.width, self.layout.stages - k) * self.layout.size + self.layout.parameters + 1

    def add(self, kind: str, index: int, hard: bool, rows: Array) -> None:
        if rows.shape[0]:
            self.rows.setdefault((kind, index, hard), []).append(rows)

    def take(self, kind: str, index: int, hard: bool, columns: int) -> Array:
        return np.concatenate(self.rows.pop((kind, index, hard), [np.zeros((0, columns))]))

    def frame(self, blocks: Blocks, b: int, k: int, own: int) -> Array:
        """Rows of block b in the frame of stage k behind `own` columns of local variables."""
        rows = np.zeros((blocks.residual.shape[1], own + self.columns(k)))
        if blocks.local_jacobian is not None:
            rows[:, :own] = blocks.local_jacobian[b]
        start = own + (int(blocks.first[b]) - k) * self.layout.size
        rows[:, start : start + blocks.jacobian.shape[2]] = blocks.jacobian[b]
        if blocks.parameter_jacobian is not None:
            rows[:, rows.shape[1] - 1 - self.layout.parameters : -1] = blocks.parameter_jacobian[b]
        rows[:, -1] = blocks.residual[b]
        return rows

    def widen(self, rows: Array, k: int) -> Array:
        """Rows left by stage k - 1 in the frame of stage k: a stage further where the trajectory goes on."""
        missing = self.columns(k) - rows.shape[1]
        at = rows.shape[1] - 1 - self.layout.parameters
        return np.concatenate([rows[:, :at], np.zeros((rows.shape[0], missing)), rows[:, at:]], axis=1)


def sweep(groups: Sequence[Blocks], equalities: Sequence[Blocks], layout: Layout, count: int) -> Sweep:
    """Eliminates the first `count` stages with every block that touches them, and their local variables.

    The blocks of an owner of local variables go together: if one of them touches those stages, all are used.

    Args:
        groups: whitened blocks; robust losses keep the weights that they have at these residuals.
        equalities: blocks whose residuals must vanish.
        layout: sizes.
        count: m, from 1 to T + 1.

    Raises:
        SamplesError: shapes do not fit, or count is out of range.
    """
    if not 1 <= count <= layout.stages:
        raise SamplesError(f"can eliminate 1 to {layout.stages} stages, got {count}")
    both = [*groups, *equalities]
    structure = windows(both, layout)
    both = [*(reweight(blocks) for blocks in groups), *equalities]
    begins = _first_stages(both, layout)
    frames = _Frames(layout, structure.width)
    used = [_place(frames, blocks, begins, count, hard=i >= len(groups)) for i, blocks in enumerate(both)]
    local, contradiction = _eliminate_local(frames, begins)
    stages: list[Conditional] = []
    for k in range(count):
        hard, soft = (frames.take("stage", k, kind, frames.columns(k)) for kind in (True, False))
        done = eliminate(hard, soft, layout.size)
        stages.append(done.conditional)
        contradiction = max(contradiction, done.contradiction)
        if k + 1 < count:
            frames.add("stage", k + 1, True, frames.widen(done.equalities, k + 1))
            frames.add("stage", k + 1, False, frames.widen(done.rows, k + 1))
    return Sweep(frames.width, stages, local, done.equalities, done.rows, contradiction, used)


def _first_stages(groups: Sequence[Blocks], layout: Layout) -> npt.NDArray[np.intp]:
    """First stage coupled to the local variables of each owner."""
    begins = np.full(layout.stages, layout.stages, dtype=np.intp)
    for blocks in groups:
        if blocks.local is not None:
            np.minimum.at(begins, blocks.local, blocks.first)
    return begins


def _place(frames: _Frames, blocks: Blocks, begins: npt.NDArray[np.intp], count: int, *, hard: bool) -> Mask:
    """Puts the blocks that take part where they enter."""
    entry = blocks.first if blocks.local is None else begins[blocks.local]
    used = np.asarray(entry < count)
    for b in np.flatnonzero(used).tolist():
        k = int(entry[b])
        if blocks.local is None:
            frames.add("stage", k, hard, frames.frame(blocks, b, k, 0))
        else:
            frames.add("local", int(blocks.local[b]), hard, frames.frame(blocks, b, k, frames.layout.local))
    return used


def _eliminate_local(frames: _Frames, begins: npt.NDArray[np.intp]) -> tuple[dict[int, tuple[int, Conditional]], float]:
    local: dict[int, tuple[int, Conditional]] = {}
    contradiction = 0.0
    own = frames.layout.local
    for owner in sorted({index for kind, index, _ in frames.rows if kind == "local"}):
        k = int(begins[owner])
        hard, soft = (frames.take("local", owner, kind, own + frames.columns(k)) for kind in (True, False))
        done = eliminate(hard, soft, own)
        local[owner] = (k, done.conditional)
        contradiction = max(contradiction, done.contradiction)
        frames.add("stage", k, True, done.equalities)
        frames.add("stage", k, False, done.rows)
    return local, contradiction
