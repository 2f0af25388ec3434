# SPDX-License-Identifier: Apache-2.0
"""The baseline controller: its formula, and what it does to an arm with and without the payload's model."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from benchmarks.gravity_pid import GravityPid, GravityPidConfig
from sysid_nodes.exceptions import ConfigError, RobotError
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.simulation.arm.excitation import JointReference
from sysid_nodes.simulation.arm.simulated_arm import HardwareConfig, SimulatedArm
from sysid_nodes.simulation.payload import dumbbell


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("kinova_gen3")


@pytest.mark.parametrize("friction", [False, True])
def test_torque_is_the_formula(robot: Robot, friction: bool) -> None:
    rng = np.random.default_rng(0)
    config = GravityPidConfig(ki=(2.0,), friction=friction)
    pid = GravityPid(robot, config)
    goal, q, qd, before = JointReference(*rng.uniform(-0.3, 0.3, (3, 7))), *rng.uniform(-0.3, 0.3, (3, 7))
    step = pid.step(before, goal, q, qd, 0.01)
    kp, kd = np.array([75.0] * 4 + [20.0] * 3), np.array([5.0] * 4 + [1.0] * 3)
    expected = kp * (goal.q - q) + 2.0 * (before + 0.01 * (goal.q - q)) + kd * (goal.qd - qd)
    expected += pinocchio.rnea(robot.model, robot.model.createData(), q, np.zeros(7), np.zeros(7))
    if friction:
        motor = robot.motor
        expected += motor.coulomb * np.tanh(goal.qd / 0.02) + motor.viscous * goal.qd + motor.offset
    np.testing.assert_allclose(step.torque, expected, atol=1e-10)
    np.testing.assert_allclose(step.integral, before + 0.01 * (goal.q - q))
    assert not step.saturated.any()


def test_integral_waits_while_the_limit_cuts(robot: Robot) -> None:
    pid = GravityPid(robot, GravityPidConfig(kp=(1000.0,)))
    zero = np.zeros(7)
    goal = JointReference(np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.01]), zero, zero)
    step = pid.step(zero, goal, zero, zero, 0.1)
    np.testing.assert_array_equal(step.saturated, [True] + [False] * 6)
    assert step.torque[0] == robot.limits.torque[0]
    np.testing.assert_allclose(step.integral, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.001])


@pytest.mark.slow
def test_model_of_the_payload_takes_away_the_sag(robot: Robot) -> None:
    """Four seconds of holding 3 kg: the paper's Table II in its simplest form.

    Without the payload joint 2 sags by its gravity over K_p, some 0.3 rad; with it, friction holds the arm at once.
    """
    q0, payload = np.array([0.0, 0.8, 0.0, 1.0, 0.0, 0.5, 0.0]), dumbbell(3.0)
    body, load = payload.spatial_inertia(robot)
    known = robot.inertial_parameters()
    known[body] += load.toDynamicParameters()
    errors = []
    for parameters in (None, known):
        arm = SimulatedArm(robot, payload, HardwareConfig(), np.random.default_rng(1), q0)
        pid = GravityPid(robot, GravityPidConfig(), parameters)
        integral, goal = np.zeros(7), JointReference(q0, np.zeros(7), np.zeros(7))
        for _ in range(2000):
            reading = arm.reading()
            step = pid.step(integral, goal, reading.position, reading.velocity, 2e-3)
            integral = step.integral
            arm.command(step.torque, reading.stamp)
            arm.advance(2e-3)
        errors.append(np.abs(arm.q - q0).max())
    assert errors[0] > 0.1
    assert errors[1] < 1e-3


@pytest.mark.parametrize("name", ["kp", "ki", "kd"])
def test_wrong_number_of_gains_is_refused(robot: Robot, name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' must have 1 or 7 numbers, got 2"):
        GravityPid(robot, GravityPidConfig(**{name: (1.0, 2.0)}))


def test_parameters_of_another_robot_are_refused(robot: Robot) -> None:
    with pytest.raises(RobotError, match=r"the parameters must be \(7, 10\) finite numbers, got shape \(6, 10\)"):
        GravityPid(robot, GravityPidConfig(), np.ones((6, 10)))
