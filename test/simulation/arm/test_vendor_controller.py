# SPDX-License-Identifier: Apache-2.0
"""The stand-in for a vendor's position interface: it follows, late and not exactly, and holds when nothing comes."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.simulation.arm.excitation import FourierTrajectory, JointReference
from sysid_nodes.simulation.arm.simulated_arm import HardwareConfig, SimulatedArm
from sysid_nodes.simulation.arm.vendor_controller import VendorConfig, VendorPositionController
from sysid_nodes.simulation.payload import dumbbell
from sysid_nodes.systems.certified.control.tracking_bound import measure_tracking

START = np.array([-1.16, 0.2, -1.0, -1.3, 0.2, -0.8, -0.2])
CONFIG = HardwareConfig(torque_relative=0.0, velocity_error=0.0, quantise=False, delay=0.0)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("kinova_gen3")


def _sway(t: np.ndarray | float, scale: float = 1.0) -> JointReference:
    """0.27 rad to and fro in 4 s on every joint, at most at 0.27 rad/s; in START at rest at t = 0."""
    return FourierTrajectory(4.0, START + 0.1 * scale, np.zeros((7, 2)), np.tile([-0.4, 0.1], (7, 1)) / 3 * scale)(t)


def _track(robot: Robot, config: VendorConfig, *, mass: float = 0.0, scale: float = 1.0) -> tuple[np.ndarray, ...]:
    """Desired and true position and velocity, (N, 7) each, of 3 s at 500 Hz; set-points at 50 Hz come ahead."""
    payload = dumbbell(mass) if mass else None
    arm = SimulatedArm(robot, payload, CONFIG, np.random.default_rng(0), START)
    vendor = VendorPositionController(robot, config, START)
    rows = []
    for k in range(1500):
        now = k * 2e-3
        if k % 250 == 0:
            t = now + np.arange(0.0, 1.0, 0.02)
            goal = _sway(t, scale)
            vendor.follow(t, goal.q, goal.qd)
        desired = _sway(now, scale)
        rows.append((desired.q, desired.qd, arm.q, arm.qd))
        arm.command(vendor.torque(now, arm.q, arm.qd), now)
        arm.advance(2e-3)
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def test_joints_follow_as_late_as_configured(robot: Robot) -> None:
    """Position error = speed x (delay + lag), and the loop's own share: below 1 mrad, measured without both."""
    ideal, real = VendorConfig(delay=0.0, lag=0.0), VendorConfig(delay=0.03, lag=0.02)
    q, qd, seen, _ = _track(robot, ideal)
    assert np.abs(q - seen).max() < 1.5e-3
    q, qd, seen, _ = _track(robot, real)
    late = q - seen - 0.05 * qd
    # The next term of the delay's series is acceleration x (delay^2 / 2 + delay lag + lag^2) = 0.7 mrad at 0.5 rad/s2.
    assert np.abs(late).max() < 3e-3
    assert np.abs(q - seen).max() > 0.012


def test_measured_bound_covers_another_run_within_its_evidence(robot: Robot) -> None:
    """Measured with 3 kg, it holds for a slower motion with less, and says when it is asked for more."""
    t = np.arange(1500) * 2e-3
    bound = measure_tracking(t, *_track(robot, VendorConfig(), mass=3.0), safety_factor=1.3)
    q, qd, seen, seen_qd = _track(robot, VendorConfig(), mass=1.0, scale=0.8)
    assert (np.abs(q - seen) <= bound.position).all()
    assert (np.abs(qd - seen_qd) <= bound.velocity).all()
    assert (np.abs(qd).max(axis=0) <= bound.fastest).all()
    # A motion beyond the evidence breaks it, which is why the evidence is kept.
    q, qd, seen, _ = _track(robot, VendorConfig(), mass=3.0, scale=2.0)
    assert (np.abs(q - seen) > bound.position).any()
    assert (np.abs(qd).max(axis=0) > bound.fastest).any()


def test_it_holds_before_and_after_its_set_points(robot: Robot) -> None:
    arm = SimulatedArm(robot, None, CONFIG, np.random.default_rng(0), START)
    vendor = VendorPositionController(robot, VendorConfig(), START)
    goal = START + 0.05
    for k in range(1000):
        now = k * 2e-3
        if k == 250:
            np.testing.assert_allclose(arm.q, START, atol=1e-3)
            vendor.follow([now + 0.1, now + 0.4], np.array([START, goal]))
        arm.command(vendor.torque(now, arm.q, arm.qd), now)
        arm.advance(2e-3)
    np.testing.assert_allclose(arm.q, goal, atol=1e-3)
    assert np.abs(arm.qd).max() < 1e-3


def test_new_points_replace_old_ones_from_their_first_time_on(robot: Robot) -> None:
    vendor = VendorPositionController(robot, VendorConfig(delay=0.0, lag=0.0), START)
    up, down = np.tile(np.arange(1.0, 5.0)[:, None], 7), np.tile([-2.0, -3.0], (7, 1)).T
    vendor.follow([1.0, 2.0, 3.0, 4.0], START + up)
    vendor.follow([3.0, 4.0], START + down)
    for t, offset in ((0.5, 0.5), (1.5, 1.5), (2.5, 0.0), (3.5, -2.5), (9.0, -3.0)):
        np.testing.assert_allclose(vendor._setpoint(t), START + offset)


def test_velocities_make_cubics(robot: Robot) -> None:
    """A cubic through both points with both velocities is a cubic's own interpolation: exact."""
    vendor = VendorPositionController(robot, VendorConfig(delay=0.0, lag=0.0), np.zeros(7))
    t = np.array([1.0, 1.5, 2.5])
    vendor.follow(t, np.tile(t[:, None] ** 3 - t[:, None], 7), np.tile(3.0 * t[:, None] ** 2 - 1.0, 7))
    for time in np.linspace(1.0, 2.49, 20):
        np.testing.assert_allclose(vendor._setpoint(time), time**3 - time, rtol=1e-12, atol=1e-12)


def test_step_of_the_set_point_is_taken_at_the_velocity_limit(robot: Robot) -> None:
    arm = SimulatedArm(robot, None, CONFIG, np.random.default_rng(0), START)
    vendor = VendorPositionController(robot, VendorConfig(), START)
    vendor.follow([0.0], START[None] + 1.0)
    for k in range(500):
        before = vendor._x
        arm.command(vendor.torque(k * 2e-3, arm.q, arm.qd), k)
        arm.advance(2e-3)
        assert (np.abs(vendor._x - before) <= robot.limits.velocity * 2e-3 * (1.0 + 1e-9)).all()
    assert (np.abs(arm.q - START) > 0.7).all()


@pytest.mark.parametrize(
    ("t", "q", "qd", "message"),
    [
        ([0.0, 1.0], np.zeros((1, 7)), None, r"need times \(k,\) and positions \(k, 7\), got \(1, 7\)"),
        ([0.0], np.zeros((1, 6)), None, "positions"),
        ([0.0], np.full((1, 7), np.nan), None, "set-points must be finite"),
        ([0.0], np.zeros((1, 7)), np.full((1, 7), np.inf), "velocities must be finite"),
        ([1.0, 1.0], np.zeros((2, 7)), None, "times of set-points must increase"),
        ([], np.zeros((0, 7)), None, "positions"),
    ],
)
def test_bad_set_points_are_refused(
    robot: Robot, t: list[float], q: np.ndarray, qd: np.ndarray | None, message: str
) -> None:
    with pytest.raises(SamplesError, match=message):
        VendorPositionController(robot, VendorConfig(), START).follow(t, q, qd)
