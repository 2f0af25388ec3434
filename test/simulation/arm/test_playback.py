# SPDX-License-Identifier: Apache-2.0
"""The arm that moves by itself: smoothly from rest, within its limits, and so that an identifier's bounds hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from shared.quick_and_slow import mark_slow

from sysid_nodes.data.config import load_yaml
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.results import Status
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.sessions.interval.session import IntervalSession
from sysid_nodes.simulation.arm import (
    FourierTrajectory,
    HardwareConfig,
    Playback,
    SimulatedArm,
    dumbbell,
    gen3_excitation,
)
from sysid_nodes.simulation.arm.config import SimulatedArmConfig, build_arm, build_driver
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

SIMULATED = Path(__file__).resolve().parents[3] / "config/kinova_gen3_simulated.yaml"


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("kinova_gen3")


def _playback(robot: Robot, mass: float, trajectory: FourierTrajectory | None = None) -> tuple[SimulatedArm, Playback]:
    trajectory = trajectory or gen3_excitation()
    config = HardwareConfig(delay=0.0, robot_error=0.05)
    payload = dumbbell(mass) if mass else None
    arm = SimulatedArm(robot, payload, config, np.random.default_rng(4), trajectory(0.0).q, start=100.0)
    return arm, Playback(robot, trajectory, arm)


class Record(NamedTuple):
    """A motion, (N, n) but for the stamps (N,); ``position`` is the sensors', the rest is true."""

    t: np.ndarray
    position: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    torque: np.ndarray


def _record(arm: SimulatedArm, playback: Playback, duration: float) -> Record:
    rows = [(reading.stamp, reading.position, arm.q, arm.qd, arm.torque) for reading in playback.run(duration)]
    return Record(*(np.array(column) for column in zip(*rows, strict=True)))


@pytest.mark.parametrize("mass", mark_slow([0.0, 3.63], but=[3.63]))
def test_the_motion_is_played_within_limits_and_readings_wrap_as_the_vendor_s(robot: Robot, mass: float) -> None:
    arm, playback = _playback(robot, mass)
    record, limits = _record(arm, playback, 10.0), robot.limits
    assert (np.abs(record.q) < limits.position_upper).all()
    assert (np.abs(record.qd) < 0.75 * limits.velocity).all()
    assert (np.abs(np.diff(record.qd, axis=0)) / 1e-3 < 0.75 * limits.acceleration).all()
    # Never near saturation, or the arm would not do what its controller asks.
    assert (np.abs(record.torque) < 0.8 * limits.torque).all()
    # What the controller does not know of the load and the links moves the joints by a few milliradians.
    assert np.abs(record.q - gen3_excitation()(record.t - 100.0).q).max() < 0.01
    # One period on, the motion comes to rest again.
    assert np.abs(record.qd[-1]).max() < 0.01
    assert np.abs(record.position).max() <= np.pi + robot.encoder_step.max()
    # Joint 3 crosses -pi: its reading jumps by a turn, the joint does not.
    assert np.abs(np.diff(record.position[:, 2])).max() > 6.0
    assert np.abs(np.diff(record.q[:, 2])).max() < 0.01


def test_the_motion_begins_without_a_jerk(robot: Robot) -> None:
    """A controller that forgot what holds the unknown load would let it fall: 1.8 rad/s2 at joint 2, measured."""
    arm, playback = _playback(robot, 3.63)
    held, fastest = arm.q, np.zeros(7)
    for _ in playback.run(0.01):
        fastest = np.maximum(fastest, np.abs(arm.qdd))
    assert fastest.max() < 0.1
    np.testing.assert_allclose(arm.q, held, atol=1e-4)


def test_it_goes_on_where_it_stopped_and_stamps_every_tick(robot: Robot) -> None:
    _, playback = _playback(robot, 2.0)
    stamps = [reading.stamp for part in (0.05, 0.05) for reading in playback.run(part)]
    np.testing.assert_allclose(stamps, 100.001 + np.arange(100) / 1000.0, atol=1e-9)


def test_a_protective_stop_ends_the_motion_for_good(robot: Robot) -> None:
    arm, playback = _playback(robot, 2.0)
    for _ in playback.run(1.0):
        pass
    assert np.abs(arm.qd).max() > 0.1
    arm.protective_stop("REQUESTED")
    for _ in playback.run(1.5):
        pass
    assert arm.stop is not None and arm.stop.at_rest
    arm.release()
    rest = arm.q
    for _ in playback.run(0.2):
        pass
    assert not arm.commanded
    np.testing.assert_allclose(arm.q, rest, atol=1e-3)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_bounds_of_the_packaged_configuration_hold_the_truth_and_no_reading_is_lost(robot: Robot, seed: int) -> None:
    """What the README's two terminals do."""
    told = load_yaml(IntervalIdentifierConfig, SIMULATED)
    config = replace(load_yaml(SimulatedArmConfig, SIMULATED).simulated_arm, interface="playback")
    arm = build_arm(robot, config, np.random.default_rng(seed), now=1.0)
    driver, session = build_driver(robot, config, arm), IntervalSession(robot, told, memory=20.0)
    assert isinstance(driver, Playback)
    for reading in driver.run(4.0):
        result = session.process(reading)
        if result is not None:
            assert result.status is not Status.INCONSISTENT
            assert ((result.lower <= arm.truth.theta) & (arm.truth.theta <= result.upper)).all()
    assert session.result.status is Status.PROVEN
    assert not session.rejected
    # Of the prior's 4 kg; measured: 0.75 kg.
    assert session.result.upper[0] - session.result.lower[0] < 1.0


@pytest.mark.parametrize(
    ("name", "line"),
    [("ur10", "the trajectory is for 7 joints, the robot has 6"), ("panda", "times its position limit")],
)
def test_a_robot_that_cannot_play_the_motion_is_refused(name: str, line: str) -> None:
    config = replace(SimulatedArmConfig().simulated_arm, interface="playback", pounds=0.0)
    with pytest.raises(ConfigError, match=line):
        build_arm(load_robot(name), config, np.random.default_rng(0))


def test_a_motion_beyond_limits_is_refused(robot: Robot) -> None:
    slow = gen3_excitation()
    with pytest.raises(ConfigError, match="velocity limit"):
        _playback(robot, 0.0, FourierTrajectory(5.0, slow.centre, slow.sine, slow.cosine))
