# SPDX-License-Identifier: Apache-2.0
"""Whole-body control by inverse dynamics: accelerations from weighted tasks, then ground forces, then torques.

1. The acceleration that serves all tasks best in the weighted least-squares sense.
2. The wrench that this acceleration asks of the ground (the base's six rows of the dynamics), shared among the contact
   points within their friction pyramids.
3. tau = (M a + h - sum J_i' f_i), rows of the joints.

Steps 1 and 2 in sequence are not optimal where the ground cannot give the wrench; for slow motions it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.legged.force_distribution import distribute
from sysid_nodes.simulation.legged.kinematics import Kinematics

_WRENCH_WEIGHTS = np.array([1.0, 1.0, 2.0, 20.0, 20.0, 10.0])
_DAMPING = 1e-6
_UNLOADED = 1e-3
"""A point with less than this share of load carries nothing."""


@dataclass(frozen=True)
class Task:
    """J a = wanted, with a weight on each row.

    Attributes:
        jacobian: (m, nv).
        wanted: (m,) acceleration.
        weight: of all rows.
    """

    jacobian: Array
    wanted: Array
    weight: float


def inverse_dynamics(now: Kinematics, tasks: Sequence[Task], loads: Array, friction: float) -> Array:
    """(n,) joint torques [N m].

    Args:
        tasks: in any order; together they must determine the acceleration.
        loads: (k,) 0 to 1: how readily a contact point is loaded; 0 for none.
        friction: assumed coefficient.
    """
    matrix = np.concatenate([task.weight * task.jacobian for task in tasks])
    target = np.concatenate([task.weight * task.wanted for task in tasks])
    normal = matrix.T @ matrix
    normal[np.diag_indices_from(normal)] += _DAMPING
    acceleration = np.linalg.solve(normal, matrix.T @ target)
    effort = now.mass_matrix @ acceleration + now.bias
    wrench = np.concatenate([now.rotation @ effort[:3], now.rotation @ effort[3:6]])
    chosen = np.flatnonzero(loads > _UNLOADED)
    points = now.feet[chosen].copy()
    points[:, 2] -= now.feet[chosen, 2] - now.gaps[chosen]  # the sphere's lowest point
    forces = distribute(
        points - now.position,
        wrench,
        friction,
        weights=_WRENCH_WEIGHTS,
        regularisation=1e-3 / loads[chosen] ** 2,
    )
    torque: Array = effort[6:] - np.einsum("kij,ki->j", now.jacobians[chosen, :, 6:], forces)
    return torque


def com_task(now: Kinematics, mass: float, wanted: Array, weight: float) -> Task:
    """The centre of mass accelerates as wanted, (3,) in the world [m/s2].

    The base's force rows of the dynamics are Newton's law, R (M_f a + h_f) = m (a_com + g): Jacobian and drift at once.
    """
    jacobian = now.rotation @ now.mass_matrix[:3] / mass
    drift = now.rotation @ now.bias[:3] / mass - np.array([0.0, 0.0, 9.81])
    return Task(jacobian, wanted - drift, weight)
