# SPDX-License-Identifier: Apache-2.0
"""A sensor that is mounted askew on the floating base: the short way to its motion against pinocchio's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
from shared.legged_states import random_states

from sysid_nodes.robots import load_robot
from sysid_nodes.sensors.frame_motion import SensorFrame


def test_a_frame_turned_on_the_base_moves_as_pinocchio_says() -> None:
    """Three different angles, so that no order of the two rotations and no order of a quaternion's entries fits."""
    robot = load_robot("go2")
    model = robot.model.copy()
    placement = pinocchio.SE3(pinocchio.rpy.rpyToMatrix(0.3, -0.9, 1.7), np.array([0.1, -0.05, 0.2]))
    model.addFrame(pinocchio.Frame("askew", 1, 1, placement, pinocchio.FrameType.BODY))
    robot = replace(robot, model=model)
    frame, states = SensorFrame(robot, "askew"), random_states(robot, 5, np.random.default_rng(2))
    assert frame.on_base
    for short, long in (
        (frame.pose(states), frame._pose_by_pinocchio(states)),
        (frame.velocity(states), frame._velocity_by_pinocchio(states)),
        (frame.acceleration(states, states.a), frame._acceleration_by_pinocchio(states, states.a)),
    ):
        np.testing.assert_allclose(short[0], long[0], atol=1e-12)
    ours, theirs = frame.pose(states), frame._pose_by_pinocchio(states)
    turn = np.abs((ours.quaternion * theirs.quaternion).sum(axis=1))
    np.testing.assert_allclose(turn, 1.0, atol=1e-12)
    np.testing.assert_allclose(ours.jacobian, theirs.jacobian, atol=1e-12)
