# SPDX-License-Identifier: Apache-2.0
"""Friction and armature that a parameter file gives a robot."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import MotorConfig, load_robot, with_motor


def test_one_value_is_every_joint_s_and_none_the_robot_s() -> None:
    """As in the parameter files of arms."""
    robot = load_robot("go2")
    given = with_motor(robot, MotorConfig(coulomb=(0.3,), viscous=tuple(0.01 * np.arange(12)))).motor
    assert np.array_equal(given.coulomb, np.full(12, 0.3))
    assert np.array_equal(given.viscous, 0.01 * np.arange(12))
    assert np.array_equal(given.armature, robot.motor.armature)


def test_any_other_number_of_values_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'motor\.armature' must have 1 or 12 values, got 3"):
        with_motor(load_robot("go2"), MotorConfig(armature=(0.1, 0.1, 0.1)))
