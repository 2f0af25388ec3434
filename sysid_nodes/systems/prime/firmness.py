# SPDX-License-Identifier: Apache-2.0
"""How firmly a contact's gap and sliding follow from its force at each stage: hardly where it begins or ends.

A stage's force is a mean over a step to both sides, its gap that of an instant, its sliding the mean over both steps.
A foot that lands at 1 m/s presses, by that mean, at a stage at which it is still up to 10 mm above the ground, and its
way through the air passes for sliding. Both errors are alike at every step of a walk: ground that seemed to be 7 mm
too high and to give, and friction a seventh too low, lifted the centre of mass of a simulated Go2 by 1 mm, 2 sigma.
With d the foot's way along the normal in the longer of both steps and u = d^2 / (3 sigma^2), of a landing anywhere in
it,

    gap_sigma^2 (1 + u),   slip_sigma^2 + |v_t|^2 u / (1 + u)

are the variances of a gap of standard deviation sigma and of sliding at a speed v_t. A foot that stands has u = 0.
Where none does, as in a fall or a hop, a landing is all that tells the height, and counts as ever: landings.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.contact_motion import contact_motion
from sysid_nodes.models.floating_base import contact_kinematics
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.surroundings import contact_law_with, robot_with
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]


def with_firmness(problem: PrimeProblem, point: Trajectory) -> PrimeProblem:
    """The problem with contacts as firm as the motion of a point near its solution has them."""
    model = problem.model
    base = robot_with(model.base, model.parameters, point.theta)
    law = contact_law_with(problem.law, model.parameters, point.theta)
    kinematics = contact_kinematics(base, point.q)
    motion = contact_motion(kinematics, base.contact_radii, law.plane, 0.0, law.dt, derivatives=False)
    firmness = contact_firmness(motion.gap, motion.slip, law.gap_sigma, law.config.slip_sigma)
    return replace(problem, inner=problem.inner.firm(firmness))


def contact_firmness(gap: Array, slip: Array, gap_sigma: float, slip_sigma: float) -> Array:
    """(K, nc, 2) factors on the whitening of gaps and of sliding.

    Args:
        gap: (K + 2, nc) [m].
        slip: (K, nc, 2) sliding velocities [m/s].
        gap_sigma, slip_sigma: standard deviations where a foot stands [m, m/s].
    """
    way = np.abs(np.diff(gap, axis=0))
    landing = np.maximum(way[:-1], way[1:]) ** 2 / (3.0 * gap_sigma**2)
    landing[~(landing < 1.0).any(axis=1)] = 0.0
    sliding = np.sum(slip**2, axis=-1) / slip_sigma**2 * landing / (1.0 + landing)
    return np.asarray(1.0 / np.sqrt(1.0 + np.stack([landing, sliding], axis=-1)))
