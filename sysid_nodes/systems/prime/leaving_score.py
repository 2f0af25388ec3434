# SPDX-License-Identifier: Apache-2.0
"""Noise of what the stages that leave a window tell of those that stay: see score.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.solvers.trajectory_least_squares.sweep import Sweep
from sysid_nodes.solvers.trajectory_least_squares.windows import scatter_add
from sysid_nodes.systems.prime.noise_variances import motion_rows
from sysid_nodes.systems.prime.observed_noise import TRIANGLE, overlaps
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.score import Score
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]


def leaving_score(
    problem: PrimeProblem, blocks: Sequence[Blocks], point: Trajectory, swept: Sweep, variances: Sequence[Array]
) -> Score | None:
    """Noise of what the stages that leave a window tell of the next ones and the parameters; None where undetermined.

    What leaves is linear in what stays, x = gain s + .., so that rows J on both are rows J [gain; 1] on s.
    Noise in common with a neighbour's is taken for noise in common with all: parameters add up what the stages say.

    Args:
        problem: of the window.
        blocks: all but the parameters' own prior.
        point: of linearisation.
        swept: the elimination of the stages that leave.
        variances: (B, m) of each group's noise, of the same window; the last is the prior's.
    """
    if not all(own.determined for own in (*swept.stages, *(own for _, own in swept.local.values()))):
        return None
    count, n, p = len(swept.stages), problem.layout.size, problem.layout.parameters
    split = swept.width * n  # stages beyond the window's end have columns that hold nothing
    noise, pull = np.zeros((count, split + p, split + p)), np.zeros((count, split + p))
    for name, group, used, variance in zip(problem.groups[:-1], blocks, swept.used, variances[:-1], strict=True):
        if name == "arrival":
            continue  # has a score of its own
        first, own = group.first[used], variance[used]
        rows = _frames(reweight(group), used, swept, split + p)
        if name == "contact":
            motion = motion_rows(blocks)
            scatter_add(pull, first, np.einsum("bm,bmi->bi", group.residual[used, motion:], rows[:, motion:]))
            rows, own = rows[:, :motion], own[:, :motion]
        rows = rows * np.sqrt(own)[:, :, None]
        if overlaps(problem, name):
            rows[:, 6 if name == "dynamics" else 0 :] *= np.sqrt(1.0 + 2.0 * TRIANGLE)
        scatter_add(noise, first, rows.swapaxes(1, 2) @ rows)
    unknowns = _frames(problem.arrival_unknowns(point), np.ones(1, dtype=np.bool_), swept, split + p)[0]
    start, inner = problem.arrival.score.change_unknowns(unknowns), np.r_[: split - n, split : split + p]
    noise[0] += start.covariance
    pull[0] += start.pull
    for k, conditional in enumerate(swept.stages):
        stays = conditional.gain.shape[1] - p
        gain = np.zeros((n, len(inner)))
        gain[:, :stays], gain[:, split - n :] = conditional.gain[:, :stays], conditional.gain[:, stays:]
        left = Score(noise[k], pull[k]).substitute(gain)
        if k + 1 < count:
            noise[k + 1][np.ix_(inner, inner)] += left.covariance
            pull[k + 1][inner] += left.pull
    told = np.r_[:stays, split - n : len(inner)]
    return Score(left.covariance[np.ix_(told, told)], left.pull[told])


def _frames(blocks: Blocks, used: npt.NDArray[np.bool_], swept: Sweep, count: int) -> Array:
    """(B, m, count) rows of the blocks used on their stages, as many as blocks couple, and the parameters."""
    jacobian = blocks.jacobian[used]
    out = np.zeros((*jacobian.shape[:2], count))
    if blocks.local is not None and blocks.local_jacobian is not None:
        gains = [swept.local[owner][1].gain for owner in blocks.local[used].tolist()]
        out = blocks.local_jacobian[used] @ np.array(gains)
    out[:, :, : jacobian.shape[2]] += jacobian
    if blocks.parameter_jacobian is not None:
        out[:, :, count - blocks.parameter_jacobian.shape[2] :] += blocks.parameter_jacobian[used]
    return np.asarray(out)
