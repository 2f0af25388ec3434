# SPDX-License-Identifier: Apache-2.0
"""Planner and controller must not agree by accident."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.models.config_digest import config_digest
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.certified.certificate.config import CertifierConfig

ROBOT = load_robot("kinova_gen3", variant="gripper")
SAME = (ROBOT, ROBOT.geometry, KnownRobotConfig(), RobustControlConfig(), CertifierConfig())


def test_the_same_configuration_read_twice_has_one_digest() -> None:
    again = load_robot("kinova_gen3", variant="gripper")
    fresh = (again, list(again.geometry), KnownRobotConfig(), RobustControlConfig(), CertifierConfig())
    assert config_digest(*SAME) == config_digest(*fresh)


@pytest.mark.parametrize(
    ("place", "other"),
    [
        (0, load_robot("kinova_gen3", variant="bare")),
        (0, replace(ROBOT, limits=replace(ROBOT.limits, torque=0.5 * ROBOT.limits.torque))),
        (0, replace(ROBOT, encoder_step=2.0 * ROBOT.encoder_step)),
        (0, replace(ROBOT, may_overlap=())),
        (0, replace(ROBOT, may_overlap=None)),
        (1, ROBOT.geometry[:-1]),
        (1, (*ROBOT.geometry[:-1], replace(ROBOT.geometry[-1], load=True))),
        (1, (*ROBOT.geometry[:-1], replace(ROBOT.geometry[-1], size=1.01 * np.asarray(ROBOT.geometry[-1].size)))),
        (2, KnownRobotConfig(friction_relative=0.06)),
        (3, RobustControlConfig(position_gain=4.5)),
        (4, CertifierConfig(intervals=32)),
    ],
)
def test_any_difference_changes_it(place: int, other: object) -> None:
    changed = list(SAME)
    changed[place] = other
    assert config_digest(*changed) != config_digest(*SAME)
