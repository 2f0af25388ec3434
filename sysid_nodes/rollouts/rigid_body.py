# SPDX-License-Identifier: Apache-2.0
"""Bodies of a MuJoCo model from pinocchio's."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio

from sysid_nodes.robots.robot import Array


def quaternion(rotation: Array) -> Array:
    """MuJoCo's quaternion w, x, y, z of a rotation matrix."""
    x, y, z, w = pinocchio.Quaternion(rotation).coeffs()
    return np.array([w, x, y, z])


def set_inertia(body: mujoco.MjsBody, inertia: pinocchio.Inertia) -> None:
    """Gives a body an inertia about its own frame."""
    tensor = inertia.inertia
    body.explicitinertial = True
    body.mass = inertia.mass
    body.ipos = inertia.lever
    body.fullinertia = [tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2]]
