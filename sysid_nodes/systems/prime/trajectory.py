# SPDX-License-Identifier: Apache-2.0
"""The unknowns: configurations, free contact variables and parameters; and the model's quantities at them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.contact_motion import ContactMotion
from sysid_nodes.models.discrete_motion import DiscreteMotion
from sysid_nodes.models.floating_base import ContactKinematics
from sysid_nodes.systems.prime.contacts import ContactLaw

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trajectory:
    """A point of the estimation problem.

    Attributes:
        q: (N, nq) configurations.
        w: (N, nc, 3) free contact variables in contact coordinates; those of the first and last stage are not used.
        theta: (p,) parameters.
    """

    q: Array
    w: Array
    theta: Array


@dataclass(frozen=True)
class Evaluated:
    """Everything that several residuals need at a trajectory; K = N - 2 inner stages.

    Attributes:
        law: contact model, the ground as theta has it.
        motion: velocities and accelerations.
        kinematics: contact spheres, (N, ...).
        contact: gaps and sliding.
        force: (K, nc, 3) on the robot in the world [N].
        moment: (K, nc, 3) of these forces about the spheres' centres [N m].
    """

    law: ContactLaw
    motion: DiscreteMotion
    kinematics: ContactKinematics
    contact: ContactMotion
    force: Array
    moment: Array
