# SPDX-License-Identifier: Apache-2.0
"""Shapes with which a robot touches the ground beside its feet, coarse: as it lies there, or with its knees."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

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
