# SPDX-License-Identifier: Apache-2.0
"""The rigid body's load on each joint along a measured motion, so that n joints become n problems of one.

    tau_j = M_jj(q) qdd_j + load_j,    load_j = sum_{k != j} M_jk(q) qdd_k + (C(q, qd) qd + g(q))_j

A floating base is held where it is, upright: a robot on a stand or on a rope.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]


class JointLoad(NamedTuple):
    """Of n joints at N times, each (N, n).

    Attributes:
        inertia: M_jj [kg m2], without armature.
        load: what the rest of the dynamics takes [N m].
        torque: the whole inverse dynamics [N m].
    """

    inertia: Array
    load: Array
    torque: Array


def joint_load(robot: Robot, q: Array, qd: Array, qdd: Array) -> JointLoad:
    """The load along a motion (N, n) of all the robot's joints.

    Raises:
        SamplesError: shapes do not fit the robot.
    """
    if q.ndim != 2 or q.shape[1] != robot.n or qd.shape != q.shape or qdd.shape != q.shape:
        raise SamplesError(f"motion must have shape (N, {robot.n}), got {q.shape}, {qd.shape} and {qdd.shape}")
    model, data = robot.model, robot.model.createData()
    free = model.nv - robot.n
    rest = pinocchio.neutral(model)
    inertia, torque = np.empty_like(q), np.empty_like(q)
    for k in range(len(q)):
        rest[model.nq - robot.n :] = q[k]
        moving, pushed = np.concatenate([np.zeros(free), qd[k]]), np.concatenate([np.zeros(free), qdd[k]])
        torque[k] = pinocchio.rnea(model, data, rest, moving, pushed)[free:]
        inertia[k] = np.diag(pinocchio.crba(model, data, rest))[free:]
    return JointLoad(inertia, torque - inertia * qdd, torque)


def inertia_matrices(robot: Robot, q: Array) -> Array:
    """(N, n, n) inertia of the robot's joints at positions (N, n), a floating base held, without armature [kg m2]."""
    model, data = robot.model, robot.model.createData()
    free, rest = model.nv - robot.n, pinocchio.neutral(model)
    found = np.empty((*q.shape, robot.n))
    for k in range(len(q)):
        rest[model.nq - robot.n :] = q[k]
        upper = np.triu(pinocchio.crba(model, data, rest)[free:, free:])
        found[k] = upper + np.triu(upper, 1).T
    return found
