# SPDX-License-Identifier: Apache-2.0
"""Stages that leave a window, eliminated with their contact variables: what their rows tell of the stages that stay.

A row J x + K s + r of unknowns x that leave and s that stay is, with the x = gain s + .. that all rows together want,
the row (K + J gain) s + ..: what a projection leaves of it. Sums of squares of such rows are information that is never
negative, whatever was rounded on the way; an error of the gain enters it squared. And as every row stays one, noise of
the size that its residuals had goes along (score.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.solvers.trajectory_least_squares.influence import gains, residuals_after
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.systems.prime.carried import Carried, Leaving, carry
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
    effects: Mapping[str, Array],
) -> tuple[Array, Score, Carried] | None:
    """Rows [next stages, parameters, residual] of what the first `count` stages tell, its noise, and what they tell of
    effects that are left out.

    Noise in common with a neighbour's is taken for noise in common with all: parameters add up what the stages say.
    None where the stages that leave are not determined by those that stay.

    Args:
        problem: of the window.
        blocks: all but the parameters' own prior, windows in order.
        point: of linearisation.
        factor: undamped, of the blocks and that prior.
        count: stages that leave.
        variances: (B, m) of each group's noise.
        effects: (B, m, e) derivatives of residuals by sizes of effects, of groups by name.
    """
    wanted = factor.first_stages(count)
    if wanted is None:
        return None
    by_told, step = wanted
    told, p = by_told.shape[2], problem.layout.parameters
    chosen = [slice(int(np.searchsorted(group.first, count))) for group in blocks]
    used = [reweight(_take(group, own)) for group, own in zip(blocks, chosen, strict=True)]
    by_arrival = problem.arrival_unknowns(point)
    *rows, arrived = gains([*used, by_arrival], factor, by_told, np.eye(p, told, told - p))
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
    after = residuals_after(used, step)
    parts = zip(rows, after, strict=True)
    left = [np.concatenate([gain, own[:, :, None]], axis=2).reshape(-1, told + 1) for gain, own in parts]
    carried = Carried.nothing(told)
    if len(problem.arrival.carried.gradient):
        shown = [
            None if name not in effects else _weigh(group, effects[name], own)
            for name, group, own in zip(problem.groups, blocks, chosen, strict=False)
        ]
        # Of the arrival's own rows the squares have been counted.
        leaving = Leaving(used[:-1], rows[:-1], after[:-1], shown[:-1])
        carried = carry(problem.arrival.carried, leaving, by_arrival, arrived[0], factor, step, count)
    return np.concatenate(left), Score(covariance, pull), carried


def _weigh(group: Blocks, columns: Array, chosen: slice) -> Array:
    """Columns (B, m, e) of some of a group's blocks, as much reduced by its loss as its residuals are."""
    own = replace(group, parameter_jacobian=columns, local_jacobian=None, local=None)
    by = reweight(_take(own, chosen)).parameter_jacobian
    assert by is not None
    return by


def _take(blocks: Blocks, chosen: slice) -> Blocks:
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
