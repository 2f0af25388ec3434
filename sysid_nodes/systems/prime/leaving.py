# SPDX-License-Identifier: Apache-2.0
"""Stages that leave a window, eliminated with their contact variables: what their rows tell of the stages that stay.

A row J x + K s + r of unknowns x that leave and s that stay is, with the x = gain s + .. that all rows together want,
the row (K + J gain) s + ..: what a projection leaves of it. Sums of squares of such rows are information that is never
negative, whatever was rounded on the way; an error of the gain enters it squared. And as every row stays one, noise of
the size that its residuals had goes along (score.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.systems.prime.noise_variances import motion_rows
from sysid_nodes.systems.prime.observed_noise import TRIANGLE, overlaps
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.score import Score
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

_UNDETERMINED = 1e-13
"""A pivot that small, relative to the diagonal, is the rounding of zero."""


def leave(
    problem: PrimeProblem,
    blocks: Sequence[Blocks],
    point: Trajectory,
    factor: Factor,
    count: int,
    variances: Sequence[Array],
) -> tuple[Array, Score] | None:
    """Rows [next stages, parameters, residual] of what the first `count` stages tell, and its noise.

    Noise in common with a neighbour's is taken for noise in common with all: parameters add up what the stages say.
    None where the stages that leave are not determined by those that stay.

    Args:
        problem: of the window.
        blocks: all but the parameters' own prior.
        point: of linearisation.
        factor: undamped, of the blocks and that prior.
        count: stages that leave.
        variances: (B, m) of each group's noise.
    """
    rows = _Rows(problem, blocks, factor, count, variances)
    unknowns, arrived = rows.first_stages(problem.arrival.prior.width), problem.arrival_unknowns(point)
    for k in range(count):
        if not rows.eliminate(k, unknowns):
            return None
    told = slice(count * problem.layout.size, -1)
    left = rows.matrix[:, told]
    noisy = left * np.sqrt(rows.variance)[:, None]
    assert arrived.parameter_jacobian is not None
    by_told = arrived.jacobian[0] @ unknowns[:, told]
    by_told[:, by_told.shape[1] - problem.layout.parameters :] += arrived.parameter_jacobian[0]
    score = Score(noisy.T @ noisy, rows.pull @ left) + problem.arrival.score.change_unknowns(by_told)
    return np.ascontiguousarray(rows.matrix[:, told.start :]), score


class _Rows:
    """Rows of the stages that leave, contact variables eliminated, in the order of their first stages.

    Attributes:
        matrix: (R, S n + p + 1) in columns of stages, parameters and the residual.
        variance: (R,) of the noise; 0 of the arrival's, which has a score of its own, and of the forces' prior.
        pull: (R,) residuals of the forces' prior, zero of others.
    """

    def __init__(
        self, problem: PrimeProblem, blocks: Sequence[Blocks], factor: Factor, count: int, variances: Sequence[Array]
    ) -> None:
        layout, self._width = problem.layout, factor.equations.windows.width
        self._n, self._at = layout.size, min(count + self._width - 1, layout.stages) * layout.size
        used = [np.flatnonzero(group.first < count) for group in blocks]
        sizes = np.zeros(count, dtype=np.intp)
        for group, chosen in zip(blocks, used, strict=True):
            np.add.at(sizes, group.first[chosen], group.residual.shape[1])
        self._ends = np.cumsum(sizes)
        begins = self._ends - sizes
        self.matrix = np.zeros((int(self._ends[-1]), self._at + layout.parameters + 1))
        self.variance, self.pull = np.zeros((2, len(self.matrix)))
        motion = motion_rows(blocks)
        for name, group, chosen, spread in zip(problem.groups, blocks, used, variances, strict=False):
            own, m = reweight(group), group.residual.shape[1]
            variance, pull = spread[chosen].copy(), np.zeros((len(chosen), m))
            if overlaps(problem, name):
                variance[:, 6 if name == "dynamics" else 0 :] *= 1.0 + 2.0 * TRIANGLE
            if name == "arrival":
                variance[:] = 0.0
            if name == "contact":
                variance[:, motion:], pull[:, motion:] = 0.0, group.residual[chosen, motion:]
            eliminated = None if own.local is None else self._without_local(own, factor, chosen)
            for k, b in enumerate(chosen.tolist()):
                stage = int(group.first[b])
                to = slice(begins[stage], begins[stage] + m)
                begins[stage] += m
                self._place(self.matrix[to], own, b, stage)
                if eliminated is not None and own.local is not None:
                    first = int(factor.equations.windows.local_first[own.local[b]]) * self._n
                    across = self._width * self._n
                    self.matrix[to, first : first + across] += eliminated[k, :, :across]
                    self.matrix[to, self._at :] += eliminated[k, :, across:]
                self.variance[to], self.pull[to] = variance[k], pull[k]

    def first_stages(self, width: int) -> Array:
        """(width n, columns) the first stages' unknowns as rows, to be eliminated along."""
        return np.eye(width * self._n, self.matrix.shape[1])

    def eliminate(self, k: int, also: Array) -> bool:
        """Puts what the rows of stages 0 to k want of stage k in its place; False where that is not determined.

        Args:
            k: whose predecessors were eliminated before.
            also: further rows, that only get it put in place.
        """
        n, last = self._n, min((k + self._width) * self._n, self._at)
        here = slice(k * n, (k + 1) * n)
        rows = self.matrix[: self._ends[k]]
        own = np.ascontiguousarray(rows[:, here])
        # Zeros between the two are fewer than what a second pass over the rows costs.
        parts = [slice(here.stop, None)] if self._at - last <= n else [slice(here.stop, last), slice(self._at, None)]
        information = own.T @ own
        root, failed = lapack.dpotrf(information, lower=1)
        if failed or not np.all(np.diag(root) ** 2 > _UNDETERMINED * np.diag(information)):
            return False
        for part in parts:
            gain = -lapack.dpotrs(root, own.T @ rows[:, part], lower=1)[0]
            rows[:, part] += own @ gain
            also[:, part] += also[:, here] @ gain
        return True

    def _place(self, rows: Array, blocks: Blocks, b: int, first: int) -> None:
        """Writes a block's rows, but for what its contact variables change."""
        rows[:, first * self._n : first * self._n + blocks.jacobian.shape[2]] = blocks.jacobian[b]
        if blocks.parameter_jacobian is not None:
            rows[:, self._at : -1] = blocks.parameter_jacobian[b]
        rows[:, -1] = blocks.residual[b]

    @staticmethod
    def _without_local(blocks: Blocks, factor: Factor, chosen: npt.NDArray[np.intp]) -> Array:
        """(B, m, W n + p + 1) that is added to rows when their contact variables follow."""
        assert blocks.local is not None and blocks.local_jacobian is not None
        owners = blocks.local[chosen]
        turned = blocks.local_jacobian[chosen] @ factor.local_root[owners].swapaxes(1, 2)
        return np.asarray(-(turned @ factor.local_rows[owners]))
