# SPDX-License-Identifier: Apache-2.0
"""The scripted controller: feet against pinocchio, loads that carry the weight, and robots that obey."""

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts import (
    FREQUENCY,
    GAITS,
    Command,
    Drive,
    GroundConfig,
    Simulations,
    Variants,
    WalkingConfig,
    WalkingPolicy,
    build_legged_mujoco,
    walk,
)
from sysid_nodes.rollouts.gaits import stride
from sysid_nodes.rollouts.legs import Legs

ROBOT = load_robot("go2")
LEGS = Legs(ROBOT)
Q = np.tile([0.1, 0.8, -1.6], (2, 4)) + 0.3 * np.random.default_rng(0).standard_normal((2, 12))


def test_feet_are_pinocchios_and_jacobians_their_derivatives():
    feet, jacobian = LEGS.feet(Q)
    data = ROBOT.model.createData()
    for b in range(len(Q)):
        full = pinocchio.neutral(ROBOT.model)
        full[7:] = Q[b]
        pinocchio.forwardKinematics(ROBOT.model, data, full)
        for k, point in enumerate(ROBOT.contacts):
            place = data.oMi[ROBOT.model.getJointId(point.joint)].act(point.position)
            np.testing.assert_allclose(feet[b, k], place, atol=1e-12)
    for j in range(12):
        moved = (LEGS.feet(Q + 1e-6 * np.eye(12)[j])[0] - feet) / 1e-6
        np.testing.assert_allclose(moved[:, j // 3], jacobian[:, j // 3, :, j % 3], atol=1e-5)


def test_a_robot_without_four_legs_is_refused():
    with pytest.raises(RobotError, match="does not walk on four legs"):
        Legs(load_robot("g1"))


@pytest.mark.parametrize("gait", range(len(GAITS)))
def test_a_gait_carries_the_weight_over_a_stride_and_its_reference_moves_as_the_loads_say(gait):
    phase = np.arange(0.0, 1.0, 1e-3)
    found = stride(np.full(len(phase), gait), phase)
    assert found.load.sum(axis=1).mean() == pytest.approx(1.0, abs=0.01)
    assert not found.load[~found.stance].any()
    place, rate, acceleration = found.rise.T
    for own, integral in ((rate, place), (acceleration, rate)):
        summed = np.cumsum(own) * 1e-3
        off = (summed - summed.mean()) - (integral - integral.mean())
        assert np.abs(off).max() <= 0.03 * np.ptp(integral) + 1e-9


@pytest.fixture(scope="module")
def walks():
    """Each gait without and with 4.7 kg at the rear that the controller does not know, commanded forward."""
    bodies = ROBOT.model.inertias.tolist()[1:]
    drive = Drive(np.full(12, 40.0), np.full(12, 1.0))
    load = pinocchio.Inertia(4.7, np.array([-0.12, 0.0, 0.06]), 4.7 * np.diag([0.003, 0.005, 0.006]))
    theta = np.array([bodies[0].toDynamicParameters(), (bodies[0] + load).toDynamicParameters()])
    ones = np.ones((2, 12))
    drives = (ones, ones / 24.0, 0.1 * ones, 0.0 * ones, 0.0 * ones)
    variants = Variants((0,), theta[:, None], *drives, np.full(2, 0.8), np.full(2, 0.01))
    count = 2 * len(GAITS)
    model = build_legged_mujoco(ROBOT, bodies, (), GroundConfig(), timestep=0.002)
    policy = WalkingPolicy(ROBOT, drive, WalkingConfig())
    start = np.zeros((count, 37))
    start[:, 2], start[:, 3], start[:, 7:19] = policy.standing_height, 1.0, policy.posture
    gait = np.repeat(np.arange(len(GAITS)), 2)
    speed = np.tile([0.3, 0.0, 0.2], (count, 1))

    def commands(time):
        still = Command.standing(count)
        if time < 0.5:
            return still
        return Command(speed, np.zeros((count, 2)), still.height, gait, FREQUENCY[gait])

    simulations = Simulations(model, drive, threads=1, capacity=count)
    return walk(simulations, policy, variants, np.tile([0, 1], len(GAITS)), start, commands, 2.5, every=10)


def test_no_gait_lets_the_robot_fall_with_or_without_a_load(walks):
    assert not walks.fallen.any()
    assert walks.torque.max() < 26.0


def test_robots_go_and_turn_as_commanded(walks):
    moved = walks.states[:, -1, 0] - walks.states[:, 50, 0]
    assert (moved[2:] > 0.1).all()
    assert (np.abs(moved[:2]) < 0.01).all(), "standing robots stand"
    yaw = 2.0 * walks.states[2:, -1, 6]
    assert ((yaw > 0.15) & (yaw < 0.6)).all()
