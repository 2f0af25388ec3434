# SPDX-License-Identifier: Apache-2.0
"""Readings: rates, stamps, arrival, order, noise of the stated size, biases, dropouts; faults do what they say."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import InputError
from sysid_nodes.simulation.legged import FAULTS, Fault

BIG = 0.04  # relative tolerance of a standard deviation from 15000 samples or more: 7 sigma of its own error


def arrays(readings, key):
    return np.array([getattr(reading, key) for reading in readings])


def rotations(quaternions):
    return np.array([pinocchio.Quaternion(q).toRotationMatrix() for q in quaternions])


def angles(measured, true):
    """(N, 3) rotation vectors of true^T measured."""
    return np.array([pinocchio.log3(a.T @ b) for a, b in zip(true, measured, strict=True)])


def true_states(show, readings, start=0.0):
    """True q and v at the readings' sampling times; the tick that ends there is the one before."""
    ticks = np.round((arrays(readings, "stamp") - start) / show.truth.duration).astype(int)
    inside = ticks < len(show.truth.time)
    return ticks[inside], inside


def test_rates_and_stamps(go2_show):
    for name, rate in (("joints", 500.0), ("imu", 500.0), ("mocap", 100.0)):
        readings = go2_show.stream(name)
        stamps, arrivals = arrays(readings, "stamp"), arrays(readings, "arrival")
        assert len(readings) == pytest.approx(10.0 * rate, rel=0.05)
        assert (np.diff(arrivals) > 0.0).all()
        delay = {"joints": 0.001, "imu": 0.001, "mocap": 0.005}[name]
        np.testing.assert_allclose(arrivals - stamps, delay, atol=2e-3 if name == "mocap" else 1e-9)
    everything = arrays(go2_show.readings, "arrival")
    assert (np.diff(everything) >= 0.0).all()


def test_joint_noise_has_the_stated_size(go2_show, run):
    readings = go2_show.stream("joints")
    ticks, inside = true_states(go2_show, readings)
    truth = go2_show.truth
    position = arrays(readings, "position")[inside] - truth.q[ticks, 7:]
    # The truth's velocity is half an integrator step older than a reading's: where nothing jerks, that is nothing.
    calm = run(2.0, motion="sway")
    late, kept = true_states(calm, calm.stream("joints"))
    velocity = (arrays(calm.stream("joints"), "velocity")[kept] - calm.truth.v[late, 6:])[250:]
    torque = truth.torque[ticks - 1]
    effort = (arrays(readings, "effort")[inside] - torque) / np.hypot(0.2, 0.02 * torque)
    for error, sigma in ((position, 1e-3), (velocity, 0.05), (effort, 1.0)):
        assert error.std() == pytest.approx(sigma, rel=BIG)
        assert abs(error.mean()) < 5.0 * sigma / np.sqrt(error.size)
        later = (error[1:] * error[:-1]).mean() / sigma**2
        assert abs(later) < 5.0 / np.sqrt(error.size)  # white


def test_velocities_belong_to_the_instant(run):
    """Semi-implicit Euler's velocity is the mean over the step before; readings are no half step late.

    Mean velocities of adjacent steps make that of the instant; at an even acceleration the reading equals it, and a
    reading half a step late would regress on the acceleration with -0.5 ms.
    """
    none = {f"sensors__{key}": 0.0 for key in ("joints__velocity", "imu__gyro", "imu__gyro_bias")}
    moving = run(1.5, 0, motion="trot", tick=0.001, sensors__joints__rate=1000.0, sensors__imu__rate=1000.0, **none)
    v = moving.truth.v
    for stream, key, columns in (("joints", "velocity", slice(6, None)), ("imu", "gyro", slice(3, 6))):
        read = arrays(moving.stream(stream), key)[: len(v) - 3]  # the k-th at tick k + 1
        here, before, after = (v[k : k + len(read), columns] for k in (1, 0, 2))
        np.testing.assert_allclose(read, here + 0.5 * (here - before), atol=1e-9)
        acceleration = (after - before) / 0.002
        lag = np.sum((read - 0.5 * (here + after)) * acceleration) / np.sum(acceleration**2)
        assert abs(lag) < 5e-5


def test_imu_noise_and_bias(go2_show):
    readings, truth, hidden = go2_show.stream("imu"), go2_show.truth, go2_show.sim.truth
    ticks, inside = true_states(go2_show, readings)
    gyro = arrays(readings, "gyro")[inside] - truth.v[ticks, 3:6]  # the Go2's IMU has the base's axes
    assert (gyro - hidden.gyro_bias).std() == pytest.approx(0.01, rel=BIG)
    np.testing.assert_allclose(gyro.mean(axis=0), hidden.gyro_bias, atol=5.0 * 0.01 / np.sqrt(len(gyro)))
    turned = angles(rotations(arrays(readings, "orientation")[inside]), rotations(truth.q[ticks, 3:7]))
    assert turned.std() == pytest.approx(0.005, rel=BIG)


def test_the_accelerometer_integrates_to_the_velocity(go2_show):
    """R f + g over the flight and landings of ten seconds gives the change of the sensor's velocity.

    The mean over a tick is turned with the tick's end attitude; noise and that lag leave a few mm/s.
    """
    readings, truth, hidden = go2_show.stream("imu"), go2_show.truth, go2_show.sim.truth
    robot = go2_show.sim.robot
    lever = robot.model.frames[robot.model.getFrameId(robot.imu)].placement.translation
    ticks, inside = true_states(go2_show, readings)
    attitude = rotations(truth.q[ticks, 3:7])
    force = arrays(readings, "accelerometer")[inside] - hidden.accelerometer_bias
    world = np.einsum("nij,nj->ni", attitude, force) + np.array([0.0, 0.0, -9.81])
    velocity = np.einsum("nij,nj->ni", attitude, truth.v[ticks, :3] + np.cross(truth.v[ticks, 3:6], lever))
    change = np.cumsum(world[1:] * truth.duration, axis=0)
    np.testing.assert_allclose(velocity[1:] - velocity[0], change, atol=0.05)
    residual = np.diff(velocity, axis=0) / truth.duration - world[1:]
    assert np.median(np.abs(residual)) == pytest.approx(0.1 * 0.6745, rel=0.15)  # median of |N(0, 0.1)|


def test_mocap_noise_and_bias(go2_show):
    readings, truth, hidden = go2_show.stream("mocap"), go2_show.truth, go2_show.sim.truth
    ticks, inside = true_states(go2_show, readings)
    assert arrays(readings, "position").shape == (len(readings), 3)
    position = arrays(readings, "position")[inside] - truth.q[ticks, :3]
    assert position.std() == pytest.approx(2e-3, rel=0.06)  # 3000 samples: 5 sigma
    base = rotations(truth.q[ticks, 3:7])
    turned = angles(rotations(arrays(readings, "orientation")[inside]), base @ hidden.mocap_bias)
    assert turned.std() == pytest.approx(0.0087, rel=0.06)
    assert np.linalg.norm(pinocchio.log3(hidden.mocap_bias)) == pytest.approx(0.025)


def test_velocity_noise_and_rate(run):
    moving = run(2.5, motion="sway", sensors__velocity__enabled=True)
    readings = moving.stream("velocity")
    assert len(readings) == pytest.approx(2.5 * 50.0, abs=1)
    ticks, inside = true_states(moving, readings)
    error = arrays(readings, "linear")[inside] - moving.truth.v[ticks, :3]
    assert error.std() == pytest.approx(0.05, rel=0.19)  # 375 numbers: 5 sigma
    assert not run(0.3).stream("velocity")


def test_equal_seeds_give_equal_readings(run):
    one, same, other = run(0.3, 7), run(0.3, 7), run(0.3, 8)
    assert len(one.readings) == len(same.readings)
    for a, b in zip(one.readings, same.readings, strict=True):
        assert a.stamp == b.stamp
        for key in ("position", "gyro", "effort", "orientation"):
            if hasattr(a, key):
                np.testing.assert_array_equal(getattr(a, key), getattr(b, key))
    assert (arrays(one.stream("imu"), "gyro") != arrays(other.stream("imu"), "gyro")).all()


def test_one_sensor_does_not_change_another(run):
    one, other = run(0.3, 7), run(0.3, 7, sensors__mocap__rate=50.0, sensors__imu__loss=0.5, sensors__imu__gyro=1.0)
    np.testing.assert_array_equal(arrays(one.stream("joints"), "position"), arrays(other.stream("joints"), "position"))
    assert len(other.stream("mocap")) == pytest.approx(len(one.stream("mocap")) / 2, abs=1)
    assert 0 < len(other.stream("imu")) < 0.7 * len(one.stream("imu"))


def test_stamps_follow_the_start_and_the_clock_error(run):
    late = run(0.2, sensors__imu__stamp_offset=0.01, sensors__joints__delay=0.02)
    assert late.stream("imu")[0].stamp == pytest.approx(0.002 + 0.01)
    first = late.stream("joints")[0]
    assert first.arrival - first.stamp == pytest.approx(0.02)
    assert len(late.stream("joints")) == pytest.approx((0.2 - 0.02) * 500.0, abs=1)  # the rest is on its way


def test_mocap_can_be_off_and_drop_out(run):
    assert not run(0.1, sensors__mocap__enabled=False).stream("mocap")
    gone = run(2.0, 3, motion="stand", sensors__mocap__dropout=60.0, sensors__mocap__dropout_duration=0.2)
    gaps = np.diff(arrays(gone.stream("mocap"), "stamp"))
    assert gaps.max() > 0.03


def test_vendor_order(run):
    plain, vendor = run(0.1, 1), run(0.1, 1, vendor_order=True)
    robot = plain.sim.robot
    assert vendor.stream("joints")[0].names == robot.motor_order
    assert robot.motor_order[0] == "FR_hip_joint"
    for a, b in zip(plain.stream("joints"), vendor.stream("joints"), strict=True):
        for key in ("position", "velocity", "effort"):
            assert dict(zip(a.names, getattr(a, key), strict=True)) == dict(zip(b.names, getattr(b, key), strict=True))


@pytest.fixture(scope="module")
def healthy(run):
    return run(0.6, 5)


@pytest.mark.parametrize("kind", FAULTS)
def test_faults(run, healthy, kind):
    """A fault on the mocap from 0.2 s on changes it as it says, and nothing else."""
    faulty = run(0.6, 5, faults=[Fault("mocap", kind, start=0.2, end=0.5)])
    np.testing.assert_array_equal(
        arrays(healthy.stream("joints"), "position"), arrays(faulty.stream("joints"), "position")
    )
    before = {r.stamp: r for r in healthy.stream("mocap")}
    after = {r.stamp: r for r in faulty.stream("mocap")}
    outside = [stamp for stamp in before if not 0.2 <= stamp < 0.5]
    assert all(stamp in after for stamp in outside)
    struck = [after[stamp] for stamp in before if 0.2 <= stamp < 0.5 and stamp in after]
    sent = [before[stamp] for stamp in before if 0.2 <= stamp < 0.5]
    position = arrays(struck, "position") if struck else np.zeros((0, 3))
    if kind == "off":
        assert not struck
    elif kind == "stuck":
        assert len(struck) == len(sent)
        assert (position == position[0]).all()
    elif kind == "garbage":
        assert np.abs(position).max() > 100.0
    elif kind == "nan":
        assert np.isnan(position[:, 0]).all()
        assert np.isfinite(position[:, 1:]).all()
    elif kind == "plausible":
        np.testing.assert_allclose(position - arrays(sent, "position"), [[0.05, 0.0, 0.0]] * len(sent), atol=1e-12)
        turned = angles(rotations(arrays(struck, "orientation")), rotations(arrays(sent, "orientation")))
        np.testing.assert_allclose(np.abs(turned[:, 0]), 0.15, atol=1e-9)
    elif kind == "slow":
        assert 2 <= len(struck) <= 4
    elif kind == "delayed":
        np.testing.assert_allclose(arrays(struck, "arrival") - arrays(sent, "arrival"), 0.02)
    elif kind == "late":
        assert len(struck) < len(sent)
        assert len(faulty.stream("mocap")) == len(healthy.stream("mocap"))
    elif kind == "intermittent":
        assert 0.2 * len(sent) <= len(struck) <= 0.5 * len(sent)  # off, on, off
    else:
        assert 0.5 * len(sent) < len(struck) < len(sent)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("camera", "off"), "unknown stream 'camera'; there are joints, imu, mocap, velocity"),
        (("imu", "tired"), f"unknown fault 'tired'; there are {', '.join(FAULTS)}"),
    ],
)
def test_bad_faults(arguments, message):
    with pytest.raises(InputError) as caught:
        Fault(*arguments)
    assert str(caught.value) == message
