# SPDX-License-Identifier: Apache-2.0
"""Kinds of joints: those that carry the same motor on every leg, arm or side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots.robot import Array, Robot

_SIDES = ("FL_", "FR_", "RL_", "RR_", "LF_", "RF_", "LH_", "RH_", "HL_", "HR_", "left_", "right_")


def joint_kinds(robot: Robot) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """Names of the kinds in order of appearance, and (n,) the kind of every joint: 'FL_hip_joint' is a 'hip'."""
    short = []
    for name in robot.joint_names:
        side = next((prefix for prefix in _SIDES if name.startswith(prefix)), "")
        short.append(name.removeprefix(side).removesuffix("_joint"))
    names = tuple(dict.fromkeys(short))
    return names, np.array([names.index(name) for name in short])


def spread(values: tuple[float, ...], robot: Robot, name: str) -> Array:
    """(n,) of one number for all joints, one for each kind, or one for each joint.

    Raises:
        ConfigError: it is another count.
    """
    kinds, index = joint_kinds(robot)
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) == 1:
        return np.full(robot.n, numbers[0])
    if len(numbers) == len(kinds):
        return np.asarray(numbers[index])
    if len(numbers) == robot.n:
        return numbers
    counts = f"1, {len(kinds)} ({', '.join(kinds)}) or {robot.n}"
    raise ConfigError(f"'{name}' needs {counts} numbers for robot '{robot.name}', got {len(numbers)}")
