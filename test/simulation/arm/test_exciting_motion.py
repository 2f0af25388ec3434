# SPDX-License-Identifier: Apache-2.0
"""Exciting motions: smooth, at rest where periods meet, within limits, clear of the robot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.covering import covering_shapes
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig
from sysid_nodes.simulation.arm.excitation import FourierTrajectory, at_rest, check_limits, limit_use
from sysid_nodes.simulation.arm.gen3 import PERIOD, gen3_excitation
from sysid_nodes.simulation.arm.true_clearance import TrueClearance

COEFFICIENTS = arrays(np.float64, (2, 3, 4), elements=st.floats(-2.0, 2.0))


@given(COEFFICIENTS, st.floats(0.5, 20.0))
@settings(max_examples=50, deadline=None)
def test_any_series_made_to_rest_rests_at_every_period_s_end(coefficients: np.ndarray, period: float) -> None:
    sine, cosine = at_rest(*coefficients)
    motion = FourierTrajectory(period, np.zeros(3), sine, cosine)(np.array([0.0, period, 3.0 * period]))
    frequency = 2.0 * np.pi / period
    # Coefficients of size 2 over four orders: sums of about 100, rounded at 1e-16, phases at 1e-15 x 8 pi.
    np.testing.assert_allclose(motion.qd, 0.0, atol=1e-11 * frequency)
    np.testing.assert_allclose(motion.qdd, 0.0, atol=1e-10 * frequency**2)
    np.testing.assert_allclose(motion.q, np.broadcast_to(motion.q[0], (3, 3)), atol=1e-11)


@given(COEFFICIENTS)
@settings(max_examples=25, deadline=None)
def test_making_it_rest_twice_changes_nothing(coefficients: np.ndarray) -> None:
    once = at_rest(*coefficients)
    np.testing.assert_allclose(at_rest(*once), once, atol=1e-12)


def test_derivatives_match_finite_differences() -> None:
    trajectory, h = gen3_excitation(), 1e-4
    t = np.linspace(0.05, 9.95, 40)
    before, now, after = trajectory(t - h), trajectory(t), trajectory(t + h)
    # Central differences err by h^2 / 6 times the next but one derivative, at most some 100 here.
    np.testing.assert_allclose((after.q - before.q) / (2 * h), now.qd, atol=1e-6)
    np.testing.assert_allclose((after.qd - before.qd) / (2 * h), now.qdd, atol=1e-6)


def test_one_time_gives_one_row() -> None:
    trajectory = gen3_excitation()
    many = trajectory(np.array([0.3, 4.2]))
    for field, row in zip(trajectory(4.2), many, strict=True):
        np.testing.assert_allclose(field, row[1], atol=1e-14)
    assert many.q.shape == (2, 7)


def test_gen3_motion_is_clear_of_the_arm_and_the_floor() -> None:
    """As the node measures it, with room for a dumbbell of 8 lb in the hand. Measured: 44 mm and 39 mm."""
    robot = load_robot("kinova_gen3")
    floor = Scene((Obstacle("floor", "box", (0.0, 0.0, -0.05), (4.0, 4.0, 0.1)),))
    watch = TrueClearance(robot, covering_shapes(robot, PayloadVolumeConfig()), floor, 1e-9)
    for k, q in enumerate(gen3_excitation()(np.linspace(0.0, PERIOD, 300)).q):
        watch.measure(float(k), q)
    assert watch.itself.distance > 0.02
    assert watch.obstacle.distance > 0.02


def test_gen3_motion_keeps_limits_with_room_for_tracking() -> None:
    robot = load_robot("kinova_gen3")
    trajectory = gen3_excitation()
    check_limits(trajectory, robot.limits)
    use = limit_use(trajectory, robot.limits)
    assert use["position"].max() < 0.8
    # Designed for 0.7 on a grid of 200 times; between these it may pass by a percent.
    assert use["velocity"].max() < 0.71
    assert use["acceleration"].max() < 0.71


@pytest.mark.parametrize(
    ("scale", "message"),
    [(2.0, "times its velocity limit"), (10.0, "times its position limit")],
)
def test_motion_beyond_a_limit_is_refused(scale: float, message: str) -> None:
    fine = gen3_excitation()
    wild = FourierTrajectory(PERIOD, fine.centre, scale * fine.sine, scale * fine.cosine)
    with pytest.raises(ConfigError, match=message):
        check_limits(wild, load_robot("kinova_gen3").limits)


def test_motion_too_sudden_is_refused() -> None:
    fine = gen3_excitation()
    sudden = FourierTrajectory(1.0, fine.centre, 0.05 * fine.sine, 0.05 * fine.cosine)
    limits = load_robot("kinova_gen3").limits
    check_limits(FourierTrajectory(2.0, fine.centre, 0.05 * fine.sine, 0.05 * fine.cosine), limits)
    with pytest.raises(ConfigError, match="acceleration limit"):
        check_limits(FourierTrajectory(0.2, fine.centre, 0.01 * fine.sine, 0.01 * fine.cosine), limits)
    assert limit_use(sudden, limits)["acceleration"].max() > 1.0


@pytest.mark.parametrize(
    ("period", "sine", "message"),
    [
        (0.0, np.zeros((7, 5)), "period must be positive, got 0 s"),
        (float("inf"), np.zeros((7, 5)), "period must be positive"),
        (1.0, np.zeros((6, 5)), "do not fit 7 joints"),
    ],
)
def test_bad_series(period: float, sine: np.ndarray, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        FourierTrajectory(period, np.zeros(7), sine, sine)
