# SPDX-License-Identifier: Apache-2.0
"""Variances of the noise of each kind of rows, by the residuals of the same second: see observed_noise.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.solvers.trajectory_least_squares.variance_components import STATED, correlation_time
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

REACH = 2
"""Stages before and after a change of contact that are about it: a stage's forces and accelerations are means over its
neighbourhood, and the change itself is known to a stage."""


MEMORY = 100
"""Stages over which noise counts as of one size: that of a robot that stands is not that of its trot."""


class ObservedVariances:
    """Variances of the noise of each kind of rows from the residuals of late, in units of that of a problem.

    What is older fades: ten minutes of standing say nothing of the errors of a trot.
    """

    def __init__(self) -> None:
        self._sums: dict[str, Array] = {}  # (2, 2, m): squares and redundancy, elsewhere and about changes of contact
        self._touching: list[Array] = [np.zeros((0, 0))] * 3  # residuals of gaps and of sliding along two axes
        self._lasting: list[Array] = [np.ones(1)] * 3

    def add(
        self,
        problem: PrimeProblem,
        blocks: Sequence[Blocks],
        leverage: Sequence[Array],
        changing: BoolArray,
        counted: slice,
    ) -> None:
        """Adds residuals.

        Args:
            problem: they are of.
            blocks: its residuals with derivatives.
            leverage: (B, m) of each group.
            changing: (N,) stages about a change of contact.
            counted: stages whose residuals are new.
        """
        about = np.count_nonzero(changing[counted])
        new = np.array([len(changing[counted]) - about, about])
        fade = np.maximum(1.0 - new / MEMORY, 0.0)[:, None]
        for name, group, own in zip(problem.groups, blocks, leverage, strict=True):
            if name not in _STATED:
                sums = _sums_bystage_of(problem, name, group, own, changing)[:, :, counted].sum(axis=2)
                self._sums[name] = sums + fade * self._sums.get(name, np.zeros(sums.shape))
        for axis in range(3):
            fresh, old = _touching(problem, blocks, counted, axis), self._touching[axis]
            self._touching[axis] = np.concatenate([old[-_KEPT:], fresh]) if len(old) else fresh
        self._lasting = _repetitions(self._touching)

    def of(self, problem: PrimeProblem, blocks: Sequence[Blocks], changing: BoolArray) -> list[Array]:
        """(B, m) of each group."""
        out = []
        for name, group in zip(problem.groups, blocks, strict=True):
            variance = np.ones(group.residual.shape)
            if name in self._sums:
                squares, free = self._sums[name] + STATED
                variance = (squares / free)[changing[stage_of(group, problem.layout.size)].astype(np.intp)]
            out.append(variance * weight_factors(problem, name, *group.residual.shape) ** 2)
        return _with_lasting_gaps(out, blocks, self._lasting[0])

    def with_lasting_sliding(self, variances: Sequence[Array], blocks: Sequence[Blocks]) -> list[Array]:
        """Variances (B, m), of sliding as often as stages and feet repeat one another, as those of gaps are already."""
        split, contact = motion_rows(blocks), variances[CONTACT].copy()
        for axis, times in enumerate(self._lasting[1:], start=1):
            contact[:, axis:split:3] *= times
        return [*variances[:CONTACT], contact, *variances[CONTACT + 1 :]]


def observed_variances(
    problem: PrimeProblem, blocks: Sequence[Blocks], leverage: Sequence[Array], changing: BoolArray
) -> list[Array]:
    """(B, m) variances of each group's noise, from the residuals of stages at most MEMORY before or after.

    Args:
        problem: of a whole log.
        blocks: its residuals with derivatives.
        leverage: (B, m) of each group.
        changing: (N,) stages about a change of contact.
    """
    stages = np.arange(len(changing))
    first, last = np.maximum(stages - MEMORY, 0), np.minimum(stages + MEMORY + 1, len(stages))
    out = []
    for name, group, own in zip(problem.groups, blocks, leverage, strict=True):
        variance = np.ones(group.residual.shape)
        if name not in _STATED:
            total = np.cumsum(_sums_bystage_of(problem, name, group, own, changing), axis=2)
            total = np.concatenate([np.zeros_like(total[:, :, :1]), total], axis=2)
            squares, free = total[:, :, last] - total[:, :, first] + STATED
            at = stage_of(group, problem.layout.size)
            variance = (squares / free)[changing[at].astype(np.intp), at]
        out.append(variance * weight_factors(problem, name, *group.residual.shape) ** 2)
    return _with_lasting_gaps(out, blocks, _repetitions([_touching(problem, blocks, slice(None), 0)])[0])


def noisy_rows(problem: PrimeProblem, blocks: Sequence[Blocks]) -> list[slice]:
    """Rows of each group whose noise is estimated: not those that keep the variance that they state."""
    rows = [slice(0) if name in _STATED else slice(None) for name in problem.groups]
    rows[CONTACT] = slice(motion_rows(blocks))
    return rows


def squares_and_redundancy(problem: PrimeProblem, name: str, group: Blocks, leverage: Array) -> tuple[Array, Array]:
    """(B, m) squares of a group's residuals in units of the stated noise, and how much of a row's noise is in them.

    Stages without a reading of the torques have rows of the joints, too (sensing.py): they tell nothing of any noise.
    """
    squares = (reweight(group).residual / weight_factors(problem, name, *group.residual.shape)) ** 2
    free = np.clip(1.0 - leverage, 0.0, 1.0)
    if name == "dynamics":
        unread = ~problem.inner.dynamics.read
        squares[unread, 6:] = free[unread, 6:] = 0.0
    return squares, free


def weight_factors(problem: PrimeProblem, name: str, blocks: int, rows: int) -> Array:
    """(B, m) by what the rows of a group are weighed more than their readings state (noise_weights.py)."""
    out, weight = np.ones((blocks, rows)), problem.weights.get(name)
    if weight is not None and name == "dynamics":
        out[:, :6] = weight[:6]
        out[problem.inner.dynamics.read, 6:] = weight[6:]
    elif weight is not None:
        out *= weight
    return out


def _sums_bystage_of(problem: PrimeProblem, name: str, group: Blocks, leverage: Array, changing: BoolArray) -> Array:
    """(2, 2, N, m) squares and redundancy of a group's rows at each stage, elsewhere and about changes of contact."""
    out = np.zeros((2, 2, len(changing), group.residual.shape[1]))
    stage = stage_of(group, problem.layout.size)
    part = changing[stage].astype(np.intp)
    for sums, own in zip(out, squares_and_redundancy(problem, name, group, leverage), strict=True):
        np.add.at(sums, (part, stage), own)
    return out


def _touching(problem: PrimeProblem, blocks: Sequence[Blocks], counted: slice, axis: int) -> Array:
    """(K, nc) residuals of the contacts' gaps (0), or of their sliding along either of two axes, at some stages."""
    new = np.zeros(problem.stages, dtype=bool)
    new[counted] = True
    chosen = new[stage_of(blocks[CONTACT], problem.layout.size)]
    return np.asarray(blocks[CONTACT].residual[chosen, axis : motion_rows(blocks) : 3])


def _repetitions(kinds: Sequence[Array]) -> list[Array]:
    """(nc,) of each kind, by how much the variance of its residuals (K, nc) counts more: stages and feet repeat one
    another."""
    if not len(kinds[0]):
        return [np.ones(rows.shape[1]) for rows in kinds]
    times = np.split(correlation_time(np.concatenate(kinds, axis=1)), len(kinds))
    return [own * _variance_ratio(rows) for own, rows in zip(times, kinds, strict=True)]


def _with_lasting_gaps(variances: list[Array], blocks: Sequence[Blocks], repetition: Array) -> list[Array]:
    """The variances, those of gaps so many times as large; the forces' prior has its own."""
    split = motion_rows(blocks)
    variances[CONTACT][:, split:] = 1.0
    variances[CONTACT][:, :split:3] *= repetition
    return variances


_STATED = ("arrival", "prior")
"""Groups that keep the variance that they state."""

_KEPT = 1000
"""Stages whose contacts' residuals are kept for their correlation."""

CONTACT = 1
"""Place of the contacts among the problem's groups; half of their rows are the motion's, three a contact, the gap's
first, and half the forces' prior."""


def motion_rows(blocks: Sequence[Blocks]) -> int:
    """Rows of a contact block that are the motion's."""
    return int(blocks[CONTACT].residual.shape[1] // 2)


def _variance_ratio(r: Array) -> float:
    """By how much the variance of a sum over columns exceeds the sum of their variances, at least 1."""
    return max(1.0, float(np.sum(r.sum(axis=1) ** 2) / max(np.sum(r**2), np.finfo(float).tiny)))


def stage_of(blocks: Blocks, size: int) -> IntArray:
    """(B,) the stage that a block is about: the middle of its window."""
    return np.asarray(blocks.first + (blocks.jacobian.shape[2] // size - 1) // 2, dtype=np.intp)


def near_contact_change(problem: PrimeProblem, point: Trajectory) -> BoolArray:
    """(N,) whether a contact begins or ends within reach of a stage."""
    on = problem.law.force(point.w)[..., 0] > problem.model.config.contact.threshold
    on[0], on[-1] = on[1], on[-2]
    (changes,) = np.nonzero(np.any(on[1:] != on[:-1], axis=1))
    out = np.zeros(len(on), dtype=bool)
    for shift in range(1 - REACH, REACH + 1):
        out[np.clip(changes + shift, 0, len(on) - 1)] = True
    return out
