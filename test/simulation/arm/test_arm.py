"""The simulated arm: honest sensors, limits kept, and published data that satisfy the momentum balance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import ConfigError, RobotError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import window_regressors
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.simulation.arm import Payload, SimulatedArm, SimulationConfig, dumbbell, gen3_excitation

PERFECT = SimulationConfig(torque_relative=0.0, velocity_error=0.0, quantise=False)


class Record(NamedTuple):
    """What was published, unwrapped by the truth, and the truth itself at the same stamps."""

    t: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray


def _arm(config: SimulationConfig, *, mass: float = 2.7, seed: int = 0) -> SimulatedArm:
    payload = dumbbell(mass) if mass else None
    return SimulatedArm(load_robot("kinova_gen3"), payload, gen3_excitation(), config, np.random.default_rng(seed))


def _record(arm: SimulatedArm, duration: float) -> Record:
    rows, truths = [], [arm.state]
    for reading in arm.run(duration):
        rows.append((reading.stamp, reading.position, reading.velocity, reading.effort))
        truths.append(arm.state)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Record(*columns, *(np.array(column) for column in zip(*truths[:-1], strict=True)))


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("kinova_gen3")


@pytest.mark.parametrize("mass", [0.0, 3.63])
def test_limits_are_kept_for_the_whole_motion(robot: Robot, mass: float) -> None:
    record = _record(_arm(SimulationConfig(robot_error=0.05), mass=mass, seed=4), 10.0)
    limits = robot.limits
    assert (np.abs(record.q) < limits.position_upper).all()
    assert (np.abs(record.qd) < 0.75 * limits.velocity).all()
    assert (np.abs(np.diff(record.qd, axis=0)) / 1e-3 < 0.75 * limits.acceleration).all()
    # Never near saturation, or the arm would not do what its controller asks.
    assert (np.abs(record.tau) < 0.8 * limits.torque).all()
    reference = gen3_excitation()(record.t)
    # 3.6 kg that the controller does not know of move the joints by a few milliradians.
    assert np.abs(record.q - reference.q).max() < 0.01
    # One period on, the motion comes to rest again.
    assert np.abs(record.qd[-1]).max() < 0.01


@pytest.mark.parametrize(
    "config",
    [
        PERFECT,
        SimulationConfig(torque_relative=0.0, velocity_error=0.0, quantise=False, torque_interpolation="linear"),
        SimulationConfig(torque_relative=0.0, velocity_error=0.0, quantise=False, tick_jitter=0.5, robot_error=0.05),
    ],
    ids=["hold", "linear", "jitter and another robot"],
)
def test_published_data_satisfy_the_momentum_balance(robot: Robot, config: SimulationConfig) -> None:
    """p(t1) - p(t0) is the integral of tau + C'qd - g - friction over every window of 0.1 s.

    Measured residual: 1.5e-6 N m s where the joint does not reverse, the trapezoid's error at 1 kHz. In a tick that
    may hold a reversal (speed at an end below what the largest acceleration, 3 rad/s2, changes in a tick) friction may
    be anything in [-F_c, F_c]: up to 2 F_c x tick more.
    """
    arm = _arm(config, mass=3.63)
    record = _record(arm, 8.0)
    model, motor = robot.model.copy(), arm.truth.motor
    for k, theta in enumerate(arm.truth.parameters, start=1):
        model.inertias[k] = pinocchio.Inertia.FromDynamicParameters(theta)
    data = model.createData()
    momentum, force = [], []
    for q, qd in zip(record.q, record.qd, strict=True):
        mass = pinocchio.crba(model, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T + np.diag(motor.armature)
        coriolis = pinocchio.computeCoriolisMatrix(model, data, q, qd).T @ qd
        gravity = pinocchio.computeGeneralizedGravity(model, data, q)
        momentum.append(mass @ qd)
        force.append(coriolis - gravity - motor.viscous * qd - motor.coulomb * np.sign(qd))
    tick = np.diff(record.t)[:, None]
    smooth = 0.5 * tick * (np.array(force)[1:] + np.array(force)[:-1])
    linear = config.torque_interpolation == "linear"
    torque = tick * (0.5 * (record.effort[1:] + record.effort[:-1]) if linear else record.effort[:-1])
    residual = np.diff(momentum, axis=0) - smooth - torque
    windows = np.arange(0, len(residual) - 100, 100)
    balance = np.array([residual[a : a + 100].sum(axis=0) for a in windows])
    speed = np.abs(record.qd)
    unsure = tick * (np.minimum(speed[1:], speed[:-1]) < 3.0 * tick)
    slack = 2.0 * motor.coulomb * np.array([unsure[a : a + 100].sum(axis=0) for a in windows])
    assert (slack == 0.0).mean() > 0.8
    assert (np.abs(balance) < 3e-6 + slack).all()


def test_payload_is_recovered_from_perfect_readings(robot: Robot) -> None:
    """Least squares on the published momentum balance alone: what error is left is that of the reversals."""
    arm = _arm(PERFECT)
    record = _record(arm, 5.0)
    motor = arm.truth.motor
    edges = np.array([[a, a + 50] for a in range(100, 4950, 50)])
    change, impulse = window_regressors(Chain.from_robot(robot), record.t, record.q, record.qd, edges)
    regressor = change - impulse
    tick = 1e-3
    driven = tick * (record.effort - motor.coulomb * np.sign(record.qd))
    spent = np.array([motor.armature * (record.qd[b] - record.qd[a]) for a, b in edges])
    spent += np.array([motor.viscous * (record.q[b] - record.q[a]) for a, b in edges])
    supplied = np.array([driven[a:b].sum(axis=0) for a, b in edges]) - spent
    known = regressor[:, :, :60] @ robot.inertial_parameters()[:6].ravel()
    found, *_ = np.linalg.lstsq(regressor[:, :, 60:].reshape(-1, 10), (supplied - known).ravel(), rcond=None)
    # Measured: 5e-5. Reversals leave up to 2 F_c x 1 ms = 1e-3 N m s in some of the 679 rows.
    np.testing.assert_allclose(found, arm.truth.theta, atol=2e-4)


def test_sensor_errors_stay_within_their_stated_bounds(robot: Robot) -> None:
    config = SimulationConfig(torque_relative=0.025, velocity_error=1e-4)
    record = _record(_arm(config), 2.0)
    turns = (record.position - record.q) / (2.0 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-4)
    position_error = record.position - record.q - 2.0 * np.pi * np.round(turns)
    assert (np.abs(position_error) <= 0.5 * robot.encoder_step + 1e-12).all()
    assert (np.abs(position_error).max(axis=0) > 0.4 * robot.encoder_step).all()
    assert np.abs(record.velocity - record.qd).max() <= 1e-4
    assert np.abs(record.velocity - record.qd).max() > 0.99e-4
    ratio = (record.tau - record.effort) / record.effort
    assert np.abs(ratio).max() <= 0.025 + 1e-12
    assert np.abs(ratio).max() > 0.0249


def test_positions_are_wrapped_as_the_vendor_does() -> None:
    record = _record(_arm(SimulationConfig()), 5.0)
    assert np.abs(record.position).max() <= np.pi
    assert record.q[0, 2] < -np.pi < record.position[0, 2]
    # Joint 3 crosses -pi: its reading jumps by a turn, the joint does not.
    assert np.abs(np.diff(record.position[:, 2])).max() > 6.0
    assert np.abs(np.diff(record.q[:, 2])).max() < 0.01


def test_quantised_positions_are_whole_encoder_steps(robot: Robot) -> None:
    record = _record(_arm(SimulationConfig()), 0.2)
    unwrapped = record.position + 2.0 * np.pi * np.round((record.q - record.position) / (2.0 * np.pi))
    counts = unwrapped / robot.encoder_step
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)


def test_same_seed_same_log_and_another_seed_another() -> None:
    first, again, other = (_record(_arm(SimulationConfig(), seed=seed), 0.1) for seed in (3, 3, 4))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first.effort, other.effort)


def test_run_goes_on_where_it_stopped() -> None:
    arm = _arm(SimulationConfig())
    stamps = [reading.stamp for part in (0.05, 0.05) for reading in arm.run(part)]
    np.testing.assert_allclose(stamps, np.arange(100) / 1000.0, atol=1e-12)
    assert arm.elapsed == pytest.approx(0.1)


def test_readings_carry_the_robot_s_joint_names_and_start_stamp(robot: Robot) -> None:
    rng = np.random.default_rng(0)
    arm = SimulatedArm(robot, None, gen3_excitation(), SimulationConfig(), rng, start=100.0)
    reading = arm.step()
    assert reading.names == robot.joint_names
    assert reading.stamp == 100.0
    assert arm.step().stamp == pytest.approx(100.001)


def test_jitter_makes_ticks_irregular_but_true() -> None:
    record = _record(_arm(SimulationConfig(tick_jitter=0.5)), 0.5)
    ticks = np.diff(record.t)
    assert ticks.min() < 0.6e-3
    assert ticks.max() > 1.4e-3
    assert (ticks > 0.4999e-3).all()
    assert (ticks < 1.5001e-3).all()


def test_stamp_error_is_bounded() -> None:
    t = _record(_arm(SimulationConfig(stamp_error=1e-4)), 0.3).t
    error = t - np.arange(t.size) / 1000.0
    assert 0.9e-4 < np.abs(error).max() <= 1e-4 + 1e-12


def test_truth_is_the_hand_and_the_load(robot: Robot) -> None:
    arm = _arm(PERFECT, mass=3.63)
    _, load = dumbbell(3.63).spatial_inertia(robot)
    expected = robot.inertial_parameters()
    expected[6] += load.toDynamicParameters()
    np.testing.assert_allclose(arm.truth.parameters, expected, atol=1e-12)
    np.testing.assert_allclose(arm.truth.theta, expected[6], atol=1e-12)
    assert arm.truth.body == 6


def test_another_robot_lies_in_the_stated_box_and_stays_physical(robot: Robot) -> None:
    nominal, seen = robot.inertial_parameters(), []
    for seed in range(20):
        truth = _arm(SimulationConfig(robot_error=0.05), mass=0.0, seed=seed).truth
        deviation = truth.parameters[:6] - nominal[:6]
        assert (np.abs(deviation) <= 0.05 * np.abs(nominal[:6]) + 1e-12).all()
        np.testing.assert_allclose(truth.theta, nominal[6], atol=1e-12)  # what is identified is not perturbed
        for name in ("coulomb", "viscous", "armature"):
            ratio = getattr(truth.motor, name) / getattr(robot.motor, name)
            assert (np.abs(ratio - 1.0) <= 0.05 + 1e-12).all()
        seen.append(deviation[:, 0] / nominal[:6, 0])
    assert np.abs(seen).max() > 0.045


def test_payload_on_an_inner_link_is_the_truth_there(robot: Robot) -> None:
    payload = Payload(1.0, np.zeros(3), 0.01 * np.eye(3), link="forearm_link")
    arm = SimulatedArm(robot, payload, gen3_excitation(), SimulationConfig(), np.random.default_rng(0))
    assert arm.truth.body == 3
    assert arm.truth.theta[0] == pytest.approx(0.9302 + 1.0)


def test_trajectory_of_another_robot_is_refused() -> None:
    with pytest.raises(ConfigError, match="the trajectory is for 7 joints, 'ur10' has 6"):
        SimulatedArm(load_robot("ur10"), None, gen3_excitation(), SimulationConfig(), np.random.default_rng(0))


def test_trajectory_beyond_limits_is_refused(robot: Robot) -> None:
    trajectory = gen3_excitation()
    fast = type(trajectory)(5.0, trajectory.centre, trajectory.sine, trajectory.cosine)
    with pytest.raises(ConfigError, match="velocity limit"):
        SimulatedArm(robot, None, fast, SimulationConfig(), np.random.default_rng(0))


def test_payload_on_a_fixed_link_is_refused(robot: Robot) -> None:
    payload = Payload(1.0, np.zeros(3), 0.01 * np.eye(3), link="base_link")
    with pytest.raises(RobotError, match="'base_link' of robot 'kinova_gen3' does not move"):
        SimulatedArm(robot, payload, gen3_excitation(), SimulationConfig(), np.random.default_rng(0))
