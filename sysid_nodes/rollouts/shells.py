# SPDX-License-Identifier: Apache-2.0
"""Shapes with which a robot touches the ground beside its feet, coarse: as it lies there, or with its knees."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import Primitive, Robot

_GO2: Mapping[str, tuple[tuple[float, float, float], tuple[float, ...]]] = {
    "root_joint": ((0.0, 0.0, 0.0), (0.19, 0.047, 0.057)),
    **{f"{leg}_hip_joint": ((0.0, 0.0, 0.0), (0.046,)) for leg in ("FL", "FR", "RL", "RR")},
    **{f"{leg}_calf_joint": ((0.0, 0.0, 0.0), (0.02,)) for leg in ("FL", "FR", "RL", "RR")},
}
_G1: Mapping[str, tuple[tuple[float, float, float], tuple[float, ...]]] = {
    "root_joint": ((0.0, 0.0, -0.07), (0.09,)),
    "waist_pitch_joint": ((0.0, 0.0, 0.2), (0.12,)),
    **{f"{side}_knee_joint": ((0.0, 0.0, 0.0), (0.06,)) for side in ("left", "right")},
    **{f"{side}_shoulder_roll_joint": ((0.0, 0.0, 0.0), (0.06,)) for side in ("left", "right")},
    **{f"{side}_elbow_joint": ((0.0, 0.0, 0.0), (0.05,)) for side in ("left", "right")},
    **{f"{side}_wrist_yaw_joint": ((0.05, 0.0, 0.0), (0.05,)) for side in ("left", "right")},
}
_SHELLS = {"go2": _GO2, "g1": _G1}


def known_shell(robot: Robot) -> tuple[Primitive, ...]:
    """The robot's, or none where none is known."""
    return shell(robot) if robot.name in _SHELLS else ()


def shell(robot: Robot) -> tuple[Primitive, ...]:
    """Spheres (one number) and boxes (three half lengths) by joint.

    Raises:
        RobotError: no shell is known for the robot.
    """
    if robot.name not in _SHELLS:
        raise RobotError(f"no simulation of robot '{robot.name}'; there is one of {', '.join(_SHELLS)}")
    return tuple(
        Primitive(joint, "sphere" if len(size) == 1 else "box", np.array(centre), np.eye(3), np.array(size))
        for joint, (centre, size) in _SHELLS[robot.name].items()
    )


class Shell:
    """Whether a robot touches the ground with more than its feet.

    Args:
        model: of `build_legged_mujoco`, with a shell or none.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        own = [k for k in range(model.ngeom) if model.geom(k).name.startswith("shell_")]
        box = model.geom_type[own] == mujoco.mjtGeom.mjGEOM_BOX
        self._own, self._half = own, np.where(box[:, None], model.geom_size[own], 0.0)
        self._radius = np.where(box, 0.0, model.geom_size[own, 0])

    def touches(self, states: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """(...,) of states (..., nq + nv)."""
        if not self._own:
            return np.zeros(states.shape[:-1], dtype=bool)
        flat = states.reshape(-1, states.shape[-1])[:, : self._model.nq]
        return np.array([self._lowest(q) <= 0.0 for q in flat]).reshape(states.shape[:-1])

    def _lowest(self, q: npt.NDArray[np.float64]) -> float:
        """Height of its lowest point [m]."""
        self._data.qpos[:] = q
        mujoco.mj_kinematics(self._model, self._data)
        upright = np.abs(self._data.geom_xmat[self._own, 6:])  # the vertical's parts in the shapes' axes
        reach = (upright * self._half).sum(axis=1) + self._radius
        return float((self._data.geom_xpos[self._own, 2] - reach).min())
