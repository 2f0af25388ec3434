# SPDX-License-Identifier: Apache-2.0
"""The firmware's stop: its travel against the bound a certificate takes from it, and that it then holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.simulation.arm.protective_stop import JointServo, StopConfig, StopReport
from sysid_nodes.simulation.arm.simulated_arm import HardwareConfig, SimulatedArm
from sysid_nodes.simulation.arm.true_robot import TrueRobot
from sysid_nodes.simulation.payload import dumbbell

FAST = HardwareConfig(rate=500.0, substeps=1, robot_error=0.05)
"""Slower than a real drive, which makes the stops no better."""

MARGIN = 0.02
"""[rad] As `StopConfig` says; certifier.stop_travel would be this."""


def _bound(speed: np.ndarray, stop: StopConfig) -> np.ndarray:
    """(n,) travel of a stop from a speed [rad]."""
    return speed**2 / (2.0 * stop.decelerations(7)) + MARGIN


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("kinova_gen3")


def _stopped(arm: SimulatedArm, command: np.ndarray) -> StopReport:
    """The stop of an arm after a wild command, until it is at rest."""
    arm.command(command, 0.0)
    arm.protective_stop("TEST")
    for _ in range(100):
        arm.advance(0.05)
        if arm.stop is not None and arm.stop.at_rest:
            break
    assert arm.stop is not None
    assert arm.stop.at_rest
    return arm.stop


@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_travel_of_random_stops_is_within_the_bound(robot: Robot, count: int) -> None:
    """From postures, speeds and payloads over their whole ranges, after a command of any size."""
    rng, limits = np.random.default_rng(11), robot.limits
    stops = (StopConfig(), StopConfig(deceleration=(4.0, 2.0, 4.0, 3.0, 4.0, 3.0, 4.0)))
    reach, least = np.minimum(limits.position_upper, np.pi), np.inf
    for k in range(count):
        config = replace(FAST, delay=0.0, stop=stops[min(k % 4, 1)])
        qd = limits.velocity * (rng.choice([-1.0, 1.0], 7) if k % 3 == 0 else rng.uniform(-1.0, 1.0, 7))
        arm = SimulatedArm(robot, dumbbell(rng.uniform(0.1, 4.0)), config, rng, rng.uniform(-reach, reach), qd)
        report = _stopped(arm, rng.uniform(-1.0, 1.0, 7) * limits.torque)
        room = _bound(report.speed, config.stop) - report.travel
        assert (room > 0.0).all()
        # No shorter than the deceleration asked for.
        assert (report.travel > 0.5 * report.speed**2 / config.stop.decelerations(7) - 0.003).all()
        assert arm.unresolved == 0
        least = min(least, float((room - MARGIN).min()))
    assert least < 0.0  # the margin is needed


def test_bound_holds_where_the_torque_limit_is_short(robot: Robot) -> None:
    """4 kg outstretched and falling, links 5 % heavier, friction 5 % less, full torque the wrong way just before."""
    rng, limits = np.random.default_rng(5), robot.limits
    motor = replace(
        robot.motor,
        coulomb=0.95 * robot.motor.coulomb,
        viscous=0.95 * robot.motor.viscous,
        armature=1.05 * robot.motor.armature,
    )
    bodies = [
        pinocchio.Inertia(1.05 * body.mass, body.lever, 1.05 * body.inertia)
        for body in robot.model.inertias.tolist()[1:]
    ]
    config, saturated = replace(FAST, delay=0.0), 0
    for _ in range(5):
        side = rng.choice([-1.0, 1.0])
        q = np.array(
            [0.0, side * rng.uniform(1.2, 1.57), 0.0, rng.uniform(-0.4, 0.4), 0.0, rng.uniform(-0.5, 0.5), 0.0]
        )
        q[[2, 4]] = rng.uniform(-3.0, 3.0, 2)
        qd = limits.velocity * rng.choice([-1.0, 0.0, 1.0], 7)
        qd[1] = side * limits.velocity[1] * rng.uniform(0.2, 1.0)
        arm = SimulatedArm(robot, dumbbell(4.0), config, rng, q, qd, TrueRobot(bodies, motor))
        arm.command(np.sign(qd) * limits.torque, 0.0)
        arm.protective_stop("TEST")
        for _ in range(60):
            arm.advance(0.05)
            saturated += int(arm.saturated[1])
            if arm.stop is not None and arm.stop.at_rest:
                break
        assert arm.stop is not None
        assert (arm.stop.travel <= _bound(arm.stop.speed, config.stop)).all()
    assert saturated > 5  # the case is the one it claims to be


def test_stopped_arm_holds_still_without_hunting(robot: Robot) -> None:
    rng = np.random.default_rng(2)
    arm = SimulatedArm(robot, dumbbell(4.0), FAST, rng, np.full(7, 0.5), 0.4 * robot.limits.velocity)
    _stopped(arm, arm.torque)
    arm.advance(0.5)
    held, rest = arm.q, 0
    for _ in range(500):
        arm.advance(0.002)
        assert np.abs(arm.q - held).max() < 2e-4  # measured 8e-5, an encoder step being 3.5e-4
        rest += int((arm.qd == 0.0).sum())
    assert rest > 0.9 * 7 * 500  # stuck by friction, not balanced by the integral


def test_reference_brakes_at_the_deceleration_and_stays(robot: Robot) -> None:
    stop = StopConfig(deceleration=(2.0,))
    servo = JointServo(robot, stop)
    q, qd = np.arange(7.0), np.linspace(-1.2, 1.2, 7)
    servo.start(q, qd)
    dt = 1e-3
    times = np.arange(0.0, 1.0, dt)
    motion = [servo.reference(t) for t in times]
    positions, speeds = np.array([m.q for m in motion]), np.array([m.qd for m in motion])
    np.testing.assert_array_equal(positions[0], q)
    np.testing.assert_array_equal(speeds[0], qd)
    # Trapezoids are exact while it brakes, and off by at most a dt^2 / 8 in the step it ends in.
    steps = 0.5 * dt * (speeds[1:] + speeds[:-1])
    np.testing.assert_allclose(np.diff(positions, axis=0), steps, atol=2.0 * dt**2 / 4.0)
    np.testing.assert_allclose(np.abs(positions[-1] - q), qd**2 / 4.0, atol=1e-12)
    np.testing.assert_array_equal(speeds[-1], 0.0)


def test_wrong_number_of_decelerations_is_refused(robot: Robot) -> None:
    with pytest.raises(ConfigError, match="'deceleration' must have 1 or 7 numbers, got 2"):
        JointServo(robot, StopConfig(deceleration=(1.0, 2.0)))
