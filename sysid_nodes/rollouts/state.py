# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's state in pinocchio's conventions.

MuJoCo: base quaternion w, x, y, z; base velocity = linear in the world, angular in the body. Pinocchio: quaternion
x, y, z, w; both parts in the body. Joints have the same order in both models.
"""

from __future__ import annotations

import mujoco
import numpy as np

from sysid_nodes.robots.robot import Array


def rotation_of(quaternion: Array) -> Array:
    """(3, 3) rotation of a unit quaternion x, y, z, w."""
    x, y, z, w = (float(c) for c in quaternion)
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def pinocchio_state(data: mujoco.MjData) -> tuple[Array, Array]:
    """(nq,) configuration and (nv,) velocity in pinocchio's conventions."""
    q, v = np.array(data.qpos), np.array(data.qvel)
    q[3:6], q[6] = data.qpos[4:7], data.qpos[3]
    v[:3] = rotation_of(q[3:7]).T @ v[:3]
    return q, v


def set_state(data: mujoco.MjData, q: Array, v: Array) -> None:
    """Writes a pinocchio state."""
    data.qpos[:], data.qvel[:] = q, v
    data.qpos[3], data.qpos[4:7] = q[6], q[3:6]
    data.qvel[:3] = rotation_of(q[3:7]) @ v[:3]
