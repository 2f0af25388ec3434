# SPDX-License-Identifier: Apache-2.0
"""Noise of what the stages that leave a window tell of those that stay: see score.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.systems.prime.noise_variances import motion_rows
from sysid_nodes.systems.prime.observed_noise import TRIANGLE, overlaps
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.score import Score
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]


def leaving_score(
    problem: PrimeProblem,
    blocks: Sequence[Blocks],
    point: Trajectory,
    used: Sequence[BoolArray],
    variances: Sequence[Array],
    count: int,
    width: int,
) -> Score | None:
    """Noise of what the stages that leave a window tell of the next ones and the parameters; None where undetermined.

    Noise in common with a neighbour's is taken for noise in common with all: parameters add up what the stages say.

    Args:
        problem: of the window.
        blocks: all but the parameters' own prior.
        point: of linearisation.
        used: (B,) of each group, which blocks leave with the stages.
        variances: (B, m) of each group's noise, of the same window; the last is the prior's.
        count: stages that leave.
        width: stages that they tell of.
    """
    owners = [group.local[chosen] for group, chosen in zip(blocks, used, strict=True) if group.local is not None]
    columns = _DenseColumns(problem.layout, np.unique(np.concatenate(owners)), count + width)
    rows, noise, pull = [], [], np.zeros(columns.count)
    for name, group, chosen, variance in zip(problem.groups[:-1], blocks, used, variances[:-1], strict=True):
        part, variance = columns.rows(group, chosen), variance[chosen].copy()
        if name == "arrival":
            variance[:] = 0.0  # has a score of its own
        if name == "contact":
            split = motion_rows(blocks)
            pull += np.tensordot(group.residual[chosen, split:], part[:, split:], axes=2)
            variance[:, split:] = 0.0
        if overlaps(problem, name):
            variance[:, 6 if name == "dynamics" else 0 :] *= 1.0 + 2.0 * TRIANGLE
        rows.append(part.reshape(-1, columns.count))
        noise.append(variance.ravel())
    jacobian, spread = np.concatenate(rows), np.sqrt(np.concatenate(noise))
    noisy = jacobian[spread > 0.0] * spread[spread > 0.0, None]
    unknowns = columns.rows(problem.arrival_unknowns(point), np.ones(1, dtype=bool))[0]
    score = Score(noisy.T @ noisy, pull) + problem.arrival.score.change_unknowns(unknowns)
    gone = len(columns.owners) * problem.layout.local + count * problem.layout.size
    return score.eliminate(jacobian.T @ jacobian, gone)


@dataclass(frozen=True)
class _DenseColumns:
    """Local variables of some stages, the first stages, and the parameters, side by side."""

    layout: Layout
    owners: IntArray
    stages: int

    @property
    def count(self) -> int:
        return len(self.owners) * self.layout.local + self.stages * self.layout.size + self.layout.parameters

    def rows(self, blocks: Blocks, chosen: BoolArray) -> Array:
        """(B, m, count) of the chosen blocks."""
        blocks = reweight(blocks)
        first, split = blocks.first[chosen], len(self.owners) * self.layout.local
        out = np.zeros((len(first), blocks.residual.shape[1], self.count))
        reach = np.arange(blocks.jacobian.shape[2])
        at = split + first[:, None] * self.layout.size + reach
        np.put_along_axis(out, at[:, None, :], blocks.jacobian[chosen], axis=2)
        if blocks.parameter_jacobian is not None:
            out[:, :, self.count - self.layout.parameters :] = blocks.parameter_jacobian[chosen]
        if blocks.local_jacobian is not None and blocks.local is not None:
            owner = np.searchsorted(self.owners, blocks.local[chosen])
            at = owner[:, None] * self.layout.local + np.arange(self.layout.local)
            np.put_along_axis(out, at[:, None, :], blocks.local_jacobian[chosen], axis=2)
        return out
