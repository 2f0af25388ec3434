# SPDX-License-Identifier: Apache-2.0
"""The torque-driven arm: what its commands do and when, what its sensors say, and how its firmware guards it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import InputError, RobotError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import window_regressors
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.simulation.arm.simulated_arm import COMMAND_INVALID, COMMAND_TIMEOUT, HardwareConfig, SimulatedArm
from sysid_nodes.simulation.arm.true_robot import TrueRobot
from sysid_nodes.simulation.payload import Payload, dumbbell

PERFECT = HardwareConfig(torque_relative=0.0, velocity_error=0.0, quantise=False)
START = np.array([-1.16, 0.2, -3.3, -1.3, 0.2, -0.8, -0.2])
TICK = 1e-3


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("kinova_gen3")


def _arm(robot: Robot, config: HardwareConfig = PERFECT, *, seed: int = 0, **more: object) -> SimulatedArm:
    arguments: dict[str, object] = {"payload": dumbbell(2.7), "q0": START, **more}
    return SimulatedArm(robot, config=config, rng=np.random.default_rng(seed), **arguments)  # type: ignore[arg-type]


def _sway(arm: SimulatedArm, base: np.ndarray, k: int) -> np.ndarray:
    """A torque that moves every joint to and fro by about half a radian."""
    return base + 25.0 * np.sin(np.arange(3.0, 10.0) * k * TICK)


def test_rest_until_the_first_command(robot: Robot) -> None:
    arm = _arm(robot, q0=START)
    arm.advance(0.2)
    np.testing.assert_array_equal(arm.q, START)
    np.testing.assert_array_equal(arm.qd, 0.0)
    assert not arm.commanded
    assert arm.stop is None


@pytest.mark.parametrize(("delay", "ticks"), [(0.0, 0), (0.001, 1), (0.0025, 3)])
def test_command_acts_after_its_delay_at_a_tick(robot: Robot, delay: float, ticks: int) -> None:
    arm = _arm(robot, replace(PERFECT, delay=delay))
    before, command = arm.torque, arm.torque + np.arange(1.0, 8.0)
    assert arm.command(command, arm.now)
    for k in range(5):
        # What holds the arm before is a sum that rounds.
        np.testing.assert_allclose(arm.torque, command if k >= ticks else before, rtol=0.0, atol=1e-12)
        assert arm.commanded == (k >= ticks)
        arm.advance(TICK)
    # The held command goes on acting, and a later one takes over.
    arm.command(before, arm.now)
    arm.advance(0.005)
    np.testing.assert_array_equal(arm.torque, before)


def test_motion_is_that_of_the_true_robot_under_the_commands(robot: Robot) -> None:
    """M a + h + friction = torque: MuJoCo's accelerations in pinocchio's equation with the true parameters."""
    arm = _arm(robot, replace(PERFECT, robot_error=0.05), seed=3)
    model, motor, base = robot.model.copy(), arm.truth.motor, arm.torque
    for k, row in enumerate(arm.truth.parameters, start=1):
        model.inertias[k] = pinocchio.Inertia.FromDynamicParameters(row)
    data = model.createData()
    for k in range(300):
        arm.command(_sway(arm, base, k), arm.now)
        arm.advance(TICK)
        if k % 20 == 0:
            rigid = pinocchio.rnea(model, data, arm.q, arm.qd, arm.qdd) + motor.armature * arm.qdd
            np.testing.assert_allclose(rigid + motor.viscous * arm.qd + arm.friction, arm.torque, atol=1e-8)
    assert np.abs(arm.q - START).max() > 0.01
    assert arm.unresolved == 0


def test_published_data_satisfy_the_momentum_balance(robot: Robot) -> None:
    """With the default delay of a tick, a reading's effort acts from its stamp to the next: what identifiers assume.

    Change of momentum over 50 ms against the impulse, true parameters and Coulomb friction F_c sign(qd). Off by the
    trapezoid's error, 2e-6 N m s measured, and by up to 2 F_c x tick for each tick in which the joint turns or rests.
    """
    arm = _arm(robot, PERFECT)
    base, rows = arm.torque, []
    for k in range(3000):
        reading = arm.reading()
        rows.append((reading.stamp, arm.q, reading.velocity, reading.effort))
        arm.command(_sway(arm, base, k), reading.stamp)
        arm.advance(TICK)
    t, q, qd, effort = (np.array(column) for column in zip(*rows, strict=True))
    motor = arm.truth.motor
    edges = np.array([[a, a + 50] for a in range(0, 2900, 50)])
    change, impulse = window_regressors(Chain.from_robot(robot), t, q, qd, edges)
    momentum = (change - impulse) @ arm.truth.parameters.ravel()
    for row, (a, b) in enumerate(edges):
        tick = np.diff(t[a : b + 1])[:, None]
        friction = 0.5 * tick * (np.sign(qd[a:b]) + np.sign(qd[a + 1 : b + 1])) * motor.coulomb
        spent = motor.armature * (qd[b] - qd[a]) + motor.viscous * (q[b] - q[a]) + friction.sum(axis=0)
        residual = momentum[row] + spent - (tick * effort[a:b]).sum(axis=0)
        turns = ((qd[a:b] == 0.0) | (np.sign(qd[a:b]) != np.sign(qd[a + 1 : b + 1]))).sum(axis=0)
        assert (np.abs(residual) < 1e-5 + 2.0 * motor.coulomb * TICK * turns).all()


def test_torque_is_cut_at_the_limit_and_says_so(robot: Robot) -> None:
    arm = _arm(robot, replace(PERFECT, delay=0.0))
    arm.command(np.array([0.0, 200.0, 0.0, -89.0, 45.0, -60.0, 0.0]), 0.0)
    np.testing.assert_array_equal(arm.torque, [0.0, 90.0, 0.0, -89.0, 45.0, -45.0, 0.0])
    np.testing.assert_array_equal(arm.saturated, [False, True, False, False, True, True, False])


def test_sensor_errors_stay_within_their_bounds(robot: Robot) -> None:
    config = HardwareConfig(velocity_error=1e-4, torque_relative=0.025, stamp_error=1e-4, tick_jitter=0.5)
    arm = _arm(robot, config)
    worst, ticks = np.zeros(4), []
    base, last = arm.torque, arm.now
    for k in range(1000):
        arm.command(_sway(arm, base, k), k)
        reading = arm.step()
        ticks.append(arm.now - last)
        last = arm.now
        turns = (reading.position - arm.q) / (2.0 * np.pi)
        step = np.abs(reading.position - arm.q - 2.0 * np.pi * np.round(turns)) / robot.encoder_step
        assert (np.abs(reading.position) <= np.pi + robot.encoder_step).all()
        errors = (
            step.max(),
            np.abs(reading.velocity - arm.qd).max() / 1e-4,
            np.abs((arm.torque - reading.effort) / reading.effort).max() / 0.025,
            abs(reading.stamp - arm.now) / 1e-4,
        )
        worst = np.maximum(worst, errors)
    assert (worst <= np.array([0.5, 1.0, 1.0, 1.0]) + 1e-6).all()
    assert (worst > np.array([0.45, 0.95, 0.95, 0.95])).all()
    assert reading.names == robot.joint_names
    assert 0.5e-3 < min(ticks) < 0.6e-3 and 1.4e-3 < max(ticks) < 1.5e-3


def test_quantised_positions_are_whole_encoder_steps(robot: Robot) -> None:
    arm = _arm(robot, HardwareConfig())
    arm.command(arm.torque + 20.0, 0.0)
    for _ in range(15):
        position = arm.step().position
        counts = (position + 2.0 * np.pi * np.round((arm.q - position) / (2.0 * np.pi))) / robot.encoder_step
        np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)


def test_same_seed_same_run(robot: Robot) -> None:
    def run(seed: int) -> np.ndarray:
        arm = _arm(robot, HardwareConfig(robot_error=0.05, tick_jitter=0.2), seed=seed)
        base = arm.torque
        for k in range(50):
            arm.command(base + 10.0, k)
            reading = arm.step()
        return np.concatenate([reading.position, reading.velocity, reading.effort])

    np.testing.assert_array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))


def test_silence_stops_the_arm(robot: Robot) -> None:
    arm = _arm(robot, replace(PERFECT, command_timeout=0.01))
    base = arm.torque
    for k in range(100):
        arm.command(_sway(arm, base, k), arm.now)
        arm.advance(TICK)
    arm.advance(0.009)
    assert arm.stop is None
    arm.advance(0.002)
    assert arm.stop is not None
    assert arm.stop.reason == COMMAND_TIMEOUT
    assert arm.stop.stamp == pytest.approx(0.110, abs=1e-9)
    assert not arm.command(base, arm.now)
    arm.advance(2.0)
    assert arm.stop is not None and arm.stop.at_rest
    assert (arm.stop.travel > 0.0).any()


def test_stop_is_made_once_and_ignores_commands_until_its_release(robot: Robot) -> None:
    arm = _arm(robot, replace(PERFECT, delay=0.002))
    base = arm.torque
    arm.command(base + 20.0, 1.0)
    arm.advance(0.01)
    arm.command(base, 2.0)  # still under way when the stop comes
    arm.protective_stop("FIRST")
    arm.protective_stop("SECOND")
    assert arm.stop is not None and arm.stop.reason == "FIRST"
    assert not arm.command(base, 3.0)
    arm.advance(0.3)
    assert not arm.commanded
    assert arm.stop.reason == "FIRST"
    arm.release()
    assert arm.stop is None
    held = arm.q
    arm.advance(0.3)  # no command: no timeout either, it is held
    assert arm.stop is None
    np.testing.assert_allclose(arm.q, held, atol=5e-3)
    assert not arm.command(base, 2.0), "older than the last one taken"
    assert arm.command(base, 4.0)
    arm.advance(0.003)
    assert arm.commanded


@pytest.mark.parametrize("stamp", [5.0, 4.0, float("nan")])
def test_command_that_is_not_newer_is_dropped(robot: Robot, stamp: float) -> None:
    arm = _arm(robot, replace(PERFECT, delay=0.0))
    first = arm.torque + 1.0
    assert arm.command(first, 5.0)
    assert not arm.command(first + 1.0, stamp)
    np.testing.assert_array_equal(arm.torque, first)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_garbage_torque_stops_the_arm(robot: Robot, bad: float) -> None:
    arm = _arm(robot)
    torque = arm.torque
    torque[3] = bad
    assert not arm.command(torque, 0.0)
    assert arm.stop is not None and arm.stop.reason == COMMAND_INVALID
    arm.advance(0.01)
    assert np.isfinite(arm.q).all() and np.isfinite(arm.torque).all()


def test_moving_start_keeps_its_speed_but_for_friction(robot: Robot) -> None:
    qd = 0.2 * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    arm = _arm(robot, qd0=qd)
    assert arm.commanded
    np.testing.assert_array_equal(arm.qd, qd)
    np.testing.assert_allclose(arm.friction, robot.motor.coulomb * np.sign(qd))
    assert np.abs(arm.qdd).max() < 0.1  # Coulomb friction over armature


def test_truth_is_the_hand_and_the_load(robot: Robot) -> None:
    truth = _arm(robot, payload=dumbbell(3.63)).truth
    expected = robot.inertial_parameters()
    expected[6] += dumbbell(3.63).spatial_inertia(robot)[1].toDynamicParameters()
    np.testing.assert_allclose(truth.parameters, expected, atol=1e-12)
    np.testing.assert_allclose(truth.theta, expected[6], atol=1e-12)
    assert truth.body == 6


def test_another_robot_lies_in_the_stated_box_and_stays_physical(robot: Robot) -> None:
    nominal, seen = robot.inertial_parameters(), []
    for seed in range(20):
        truth = _arm(robot, replace(PERFECT, robot_error=0.05), seed=seed, payload=None).truth
        deviation = truth.parameters[:6] - nominal[:6]
        assert (np.abs(deviation) <= 0.05 * np.abs(nominal[:6]) + 1e-12).all()
        np.testing.assert_allclose(truth.theta, nominal[6], atol=1e-12)  # what is identified is not perturbed
        for name in ("coulomb", "viscous", "armature"):
            ratio = getattr(truth.motor, name) / getattr(robot.motor, name)
            assert (np.abs(ratio - 1.0) <= 0.05 + 1e-12).all()
        seen.append(deviation[:, 0] / nominal[:6, 0])
    assert np.abs(seen).max() > 0.045


def test_payload_on_an_inner_link_is_the_truth_there(robot: Robot) -> None:
    truth = _arm(robot, payload=Payload(1.0, np.zeros(3), 0.01 * np.eye(3), link="forearm_link")).truth
    assert truth.body == 3
    assert truth.theta[0] == pytest.approx(0.9302 + 1.0)


def test_truth_can_be_placed_at_a_corner_of_its_box(robot: Robot) -> None:
    """Heaviest links, largest friction, an offset, and the payload as part of the last body."""
    parameters = robot.inertial_parameters()
    parameters[:6] *= 1.05
    parameters[6] = [4.0, 0.05, 0.02, -0.5, 0.10, 0.0, 0.10, 0.005, 0.003, 0.03]
    motor = MotorConstants(
        1.05 * robot.motor.coulomb, 0.95 * robot.motor.viscous, 1.05 * robot.motor.armature, np.full(7, 0.2)
    )
    arm = _arm(robot, payload=None, truth=TrueRobot.from_parameters(parameters, motor))
    np.testing.assert_allclose(arm.truth.parameters, parameters, atol=1e-12)
    assert arm.truth.motor is motor
    model = robot.model.copy()
    for k, row in enumerate(parameters, start=1):
        model.inertias[k] = pinocchio.Inertia.FromDynamicParameters(row)
    gravity = pinocchio.computeGeneralizedGravity(model, model.createData(), START)
    np.testing.assert_allclose(arm.torque, gravity + 0.2, atol=1e-9)


def test_unphysical_truth_is_refused(robot: Robot) -> None:
    parameters = robot.inertial_parameters()
    parameters[6, 4:] = [0.1, 0.0, 0.0, 0.0, 0.0, 0.1]
    with pytest.raises(RobotError, match="'kinova_gen3' cannot be simulated"):
        _arm(robot, payload=None, truth=TrueRobot.from_parameters(parameters, robot.motor))
    with pytest.raises(RobotError, match=r"must be \(7, 10\) finite numbers, got shape \(6, 10\)"):
        TrueRobot.from_parameters(parameters[:6], robot.motor)
    parameters[2, 0] = 0.0
    with pytest.raises(RobotError, match="body 3 has no positive mass"):
        TrueRobot.from_parameters(parameters, robot.motor)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"q0": np.zeros(6)}, "q0 must be 7 finite numbers"),
        ({"q0": np.full(7, np.nan)}, "q0 must be 7 finite numbers"),
        ({"qd0": np.zeros(8)}, "qd0 must be 7 finite numbers"),
        ({"payload": Payload(1.0, np.zeros(3), 0.01 * np.eye(3), link="base_link")}, "'base_link' .* does not move"),
    ],
)
def test_bad_start_is_refused(robot: Robot, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _arm(robot, **arguments)


def test_command_of_another_robot_is_refused(robot: Robot) -> None:
    with pytest.raises(InputError, match=r"a command needs 7 torques, got shape \(6,\)"):
        _arm(robot).command(np.zeros(6), 0.0)
