# SPDX-License-Identifier: Apache-2.0
"""Covariances by square roots, with hard equalities: slower than `posterior`, exact where that is not.

The sweep gives each unknown as gain times the later ones plus independent noise; backward, covariances follow as sums
of squares. Directions that equalities fix get exactly zero variance, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.elimination import Conditional, eliminate
from sysid_nodes.solvers.trajectory_least_squares.factor import Step
from sysid_nodes.solvers.trajectory_least_squares.posterior import Posterior
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.sweep import sweep


@dataclass(frozen=True)
class Smoothed:
    """Solution of the linearised problem with its equalities.

    Attributes:
        step: exact constrained Gauss-Newton step from the point of linearisation.
        posterior: covariances of the linearised model given the equalities.
        contradiction: by how much equalities, scaled to unit rows, contradict one another; about zero if they do not.
    """

    step: Step
    posterior: Posterior
    contradiction: float


def smooth(groups: Sequence[Blocks], layout: Layout, equalities: Sequence[Blocks] = ()) -> Smoothed | None:
    """Step and covariances of a linearised problem, or None where data and equalities leave a coordinate undetermined.

    Raises:
        SamplesError: shapes do not fit.
    """
    forward = sweep(groups, equalities, layout, layout.stages)
    last = eliminate(forward.equalities, forward.rows, layout.parameters)
    conditionals = [*forward.stages, last.conditional, *(own for _, own in forward.local.values())]
    if not all(conditional.determined for conditional in conditionals):
        return None
    s, n, p = layout.stages, layout.size, layout.parameters
    step = Step(np.zeros((s, n)), last.conditional.mean, np.zeros((s, layout.local)))
    covariance = Posterior(
        last.conditional.noise @ last.conditional.noise.T,
        np.full((s, n, n), np.nan),
        np.full((s, n, p), np.nan),
        np.full((s - 1, n, n), np.nan),
        np.full((max(s - 2, 0), n, n), np.nan),
        np.full((s, layout.local, layout.local), np.nan),
    )
    owners: dict[int, list[int]] = {}
    for owner, (k, _) in forward.local.items():
        owners.setdefault(k, []).append(owner)
    joint, mean = covariance.parameter, step.parameter
    for k in range(s - 1, -1, -1):
        conditional = forward.stages[k]
        joint, mean = _extend(conditional, joint, mean)
        step.stage[k] = mean[:n]
        covariance.stage[k] = joint[:n, :n]
        covariance.stage_parameter[k] = joint[:n, joint.shape[0] - p :]
        if joint.shape[0] - p > n:
            covariance.neighbour[k] = joint[:n, n : 2 * n]
        if joint.shape[0] - p > 2 * n:
            covariance.second[k] = joint[:n, 2 * n : 3 * n]
        for owner in owners.get(k, ()):
            own = forward.local[owner][1]
            step.local[owner] = own.gain @ mean + own.mean
            covariance.local[owner] = own.noise @ own.noise.T + own.gain @ joint @ own.gain.T
        if (joint.shape[0] - p) // n == forward.width:
            keep = np.r_[: (forward.width - 1) * n, forward.width * n : joint.shape[0]]
            joint, mean = joint[np.ix_(keep, keep)], mean[keep]
    return Smoothed(step, covariance, max(forward.contradiction, last.contradiction))


def _extend(conditional: Conditional, joint: Array, mean: Array) -> tuple[Array, Array]:
    """Joint covariance and mean of x and s from those of s."""
    cross = conditional.gain @ joint
    own = conditional.noise @ conditional.noise.T + cross @ conditional.gain.T
    together = np.block([[0.5 * (own + own.T), cross], [cross.T, joint]])
    return together, np.concatenate([conditional.gain @ mean + conditional.mean, mean])
