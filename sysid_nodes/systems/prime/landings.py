# SPDX-License-Identifier: Apache-2.0
"""Uncertainty of the ground's height where a robot lands: when it touches is known to a stage.

A stage's force is a mean over its neighbourhood, its gap is that of an instant. A foot that touches between two stages
presses at the first of them, where it is as far above the ground as it comes down in up to one step: 14 mm of a fall of
0.1 m at 10 ms. Where another foot bears, that one holds the height; after a flight nothing does, and the ground seems
too high, and to give. Residuals do not show it, for ground that gives explains it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.contact_motion import contact_gaps
from sysid_nodes.models.floating_base import contact_kinematics
from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.prime.noise_variances import CONTACT, REACH, motion_rows, stage_of
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.surroundings import contact_law_with, robot_with
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def landing_variances(problem: PrimeProblem, point: Trajectory) -> Array:
    """(N, nc) variances of gaps, in units of the stated one, for when in a step a foot touches after a flight.

    That is anywhere within the step with the same probability, and for all feet that land together the same.
    """
    bears: Flags = problem.law.force(point.w)[..., 0] > problem.model.config.contact.threshold
    bears[0], bears[-1] = bears[1], bears[-2]
    flies: Flags = ~np.any(bears, axis=1)
    out = np.zeros(bears.shape)
    if not flies.any() or flies.all():
        return out
    model = problem.model
    base = robot_with(model.base, model.parameters, point.theta)
    law = contact_law_with(problem.law, model.parameters, point.theta)
    gap = contact_gaps(contact_kinematics(base, point.q).centre, base.contact_radii, law.plane, 0.0)
    for stage in (np.flatnonzero(flies[:-1] & ~flies[1:]) + 1).tolist():
        for k in range(stage, min(stage + REACH, len(bears))):
            lands = bears[k] & ~bears[k - 1]
            down = np.maximum(gap[k - 1] - gap[k], 0.0) * law.per_gap * law.scale[0]
            firmness = problem.inner.firmness[min(k, len(bears) - 2) - 1, :, 0]
            out[k] = np.count_nonzero(lands) * lands * (firmness * down) ** 2 / 3.0
    return out


def with_landings(variances: Sequence[Array], blocks: Sequence[Blocks], size: int, landings: Array) -> list[Array]:
    """Variances (B, m) of each group's noise with those of gaps at landings (N, nc); `size` is that of a stage."""
    contact = variances[CONTACT].copy()
    contact[:, : motion_rows(blocks) : 3] += landings[stage_of(blocks[CONTACT], size)]
    return [*variances[:CONTACT], contact, *variances[CONTACT + 1 :]]
