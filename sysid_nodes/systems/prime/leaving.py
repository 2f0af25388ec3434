# SPDX-License-Identifier: Apache-2.0
"""Stages that leave a window, eliminated with their contact variables: what their rows tell of the stages that stay.

A row J x + K s + r of unknowns x that leave and s that stay is, with the x = gain s + .. that all rows together want,
the row (K + J gain) s + ..: what a projection leaves of it. Sums of squares of such rows are information that is never
negative, whatever was rounded on the way; an error of the gain enters it squared. And as every row stays one, noise of
the size that its residuals had goes along (score.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.solvers.trajectory_least_squares.influence import gains, residuals_after
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.systems.prime.light_forces import friction_errors
from sysid_nodes.systems.prime.noise_variances import motion_rows
from sysid_nodes.systems.prime.observed_noise import TRIANGLE, overlaps
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.score import Score
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]


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
    wanted = factor.first_stages(count)
    if wanted is None:
        return None
    by_told, step = wanted
    told, p = by_told.shape[2], problem.layout.parameters
    chosen = [np.flatnonzero(group.first < count) for group in blocks]
    used = [_take(reweight(group), own) for group, own in zip(blocks, chosen, strict=True)]
    *rows, arrived = gains([*used, problem.arrival_unknowns(point)], factor, by_told, np.eye(p, told, told - p))
    score = problem.arrival.score.change_unknowns(arrived[0])
    covariance, pull = score.covariance, score.pull
    for name, own, gain, noise, index in zip(problem.groups, used, rows, variances, chosen, strict=False):
        if name == "arrival":  # has a score of its own
            continue
        variance = noise[index].copy()
        if overlaps(problem, name):
            variance[:, 6 if name == "dynamics" else 0 :] *= 1.0 + 2.0 * TRIANGLE
        noisy = gain * np.sqrt(variance)[:, :, None]
        if name == "contact":  # the forces' prior pulls, and is no noise
            split = motion_rows(blocks)
            pull = pull + np.einsum("bm,bmc->c", own.residual[:, split:], gain[:, split:])
            noisy = noisy[:, :split]
            light = friction_errors(problem, own, gain, point)
            covariance = covariance + light.T @ light
        flat = noisy.reshape(-1, told)
        covariance = covariance + flat.T @ flat
    parts = zip(rows, residuals_after(used, step), strict=True)
    left = [np.concatenate([gain, own[:, :, None]], axis=2).reshape(-1, told + 1) for gain, own in parts]
    return np.concatenate(left), Score(covariance, pull)


def _take(blocks: Blocks, chosen: npt.NDArray[np.intp]) -> Blocks:
    parameter, local, owner = blocks.parameter_jacobian, blocks.local_jacobian, blocks.local
    return replace(
        blocks,
        first=blocks.first[chosen],
        residual=blocks.residual[chosen],
        jacobian=blocks.jacobian[chosen],
        parameter_jacobian=None if parameter is None else parameter[chosen],
        local_jacobian=None if local is None else local[chosen],
        local=None if owner is None else owner[chosen],
    )
