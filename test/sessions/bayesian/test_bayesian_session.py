# SPDX-License-Identifier: Apache-2.0
"""Which joints move, and which of their efforts are read, is the user's to say."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import LogError, RobotError
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig, bayesian_robot
from sysid_nodes.sessions.bayesian.session import BayesianSession

JOINTS = ("panda_joint2", "panda_joint4")
NO_VELOCITY: tuple[float, ...] = ()


def session(joints: tuple[str, ...] = JOINTS, factor: tuple[float, ...] = (1.0, 0.0)) -> BayesianSession:
    config = BayesianSessionConfig(robot="panda", joints=joints, torque_factor=factor)
    return BayesianSession(bayesian_robot(config), config)


def test_joints_that_are_not_named_are_locked_and_need_not_be_there() -> None:
    own = session()
    assert own.robot.joint_names == JOINTS
    for k in range(40):
        t = 0.01 * k
        own.take(RawJointState(t, ("other", *JOINTS), (9.0, np.sin(t), np.cos(t)), NO_VELOCITY, (9.0, 1.0 + t, 2.0)))
    log = own.log()
    assert log.position.shape == (log.stages, 2)
    np.testing.assert_allclose(log.torque[:, 0], 1.0 + log.t, atol=1e-9)
    assert log.unread.tolist() == [False, True]


def test_a_joint_that_is_missing_or_unknown_is_named() -> None:
    with pytest.raises(
        LogError, match=r"no joint 'panda_joint1'; if it does not move, name in 'joints' those that do$"
    ):
        session((), (1.0,)).take(RawJointState(0.0, JOINTS, (0.0, 0.0), NO_VELOCITY, (0.0, 0.0)))
    with pytest.raises(RobotError, match="has no joint 'elbow'"):
        session(("elbow",))
