# SPDX-License-Identifier: Apache-2.0
"""Compiled rows of the sensors against the sensors' own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.legged_states import parameter_count, random_samples, random_states
from shared.moving_robot import random_trajectory

from sysid_nodes.models.discrete_motion import discrete_motion
from sysid_nodes.robots import load_robot
from sysid_nodes.sensors import Samples, Sensor
from sysid_nodes.sensors.accelerometer import AccelerometerConfig, accelerometer
from sysid_nodes.sensors.compiled import compiled_sensor
from sysid_nodes.sensors.gyroscope import GyroscopeConfig, gyroscope
from sysid_nodes.sensors.imu_orientation import ImuOrientationConfig, imu_orientation
from sysid_nodes.sensors.joint_position import JointPositionConfig, joint_position
from sysid_nodes.sensors.joint_velocity import JointVelocityConfig, joint_velocity
from sysid_nodes.sensors.late import LateSensor
from sysid_nodes.sensors.mocap_pose import MocapPoseConfig, mocap_pose
from sysid_nodes.signals.channel_config import Window
from sysid_nodes.systems.prime.sensing import Readings
from sysid_nodes.systems.prime.trajectory import Trajectory

STAGES, STEP, FIRST = 8, 0.02, 5
GO2 = load_robot("go2")
WINDOWS = tuple(Window)
CASES: tuple[tuple[Sensor, tuple[Window, ...]], ...] = (
    (joint_position(GO2, JointPositionConfig(offset_sigma=0.0)), (Window.POINT,)),
    (joint_position(GO2, JointPositionConfig(offset_sigma=0.01)), (Window.POINT, Window.BEFORE)),
    (joint_velocity(GO2, JointVelocityConfig()), WINDOWS),
    (gyroscope(GO2, GyroscopeConfig()), WINDOWS),
    (gyroscope(GO2, GyroscopeConfig(estimate_bias=False)), WINDOWS),
    (accelerometer(GO2, AccelerometerConfig()), (Window.AROUND, Window.POINT)),
    (accelerometer(GO2, AccelerometerConfig(estimate_bias=False)), (Window.AROUND,)),
    (imu_orientation(GO2, ImuOrientationConfig()), (Window.POINT,)),
    (imu_orientation(GO2, ImuOrientationConfig(estimate_heading=False)), (Window.POINT,)),
    (mocap_pose(GO2, MocapPoseConfig(offset=(0.1, -0.2, 0.3), offset_sigma=0.01)), (Window.POINT,)),
    (mocap_pose(GO2, MocapPoseConfig(estimate_bias=False, offset_sigma=0.01)), (Window.POINT,)),
    (mocap_pose(GO2, MocapPoseConfig(estimate_bias=False)), (Window.POINT,)),
)


def readings(sensor: Sensor, window: Window) -> tuple[Readings, Trajectory]:
    """Random ones at stages 1, 2, 4 and 6, and a random point with the sensor's constants among others."""
    rng = np.random.default_rng(3)
    kernel = compiled_sensor(sensor, window, STEP)
    if kernel is None:
        pytest.skip("the kernel is not compiled here")
    states = replace(random_states(GO2, 4, rng), q=random_trajectory("go2", 1, 4))
    made = random_samples(sensor, GO2, states, rng)
    rates = rng.normal(size=(4, 4 if sensor.rows == 3 and sensor.width == 3 else 1, sensor.rows))
    samples = Samples(
        np.array([1, 2, 4, 6]), made.values, made.weights, rates if isinstance(sensor, LateSensor) else None
    )
    count = parameter_count(sensor)
    theta = 0.2 * rng.normal(size=FIRST + count + 2)
    q = random_trajectory("go2", 2, STAGES)
    own = Readings(sensor, window, samples, slice(FIRST, FIRST + count), kernel=kernel)
    return own, Trajectory(q, np.zeros((STAGES, 4, 3)), theta)


@pytest.mark.parametrize(
    ("sensor", "window", "late"),
    [
        (sensor, window, late)
        for sensor, own in CASES
        for window in own
        for late in (False, True)
        if not (late and sensor.name.startswith("joint"))  # which the others are late against
    ],
)
def test_rows_are_the_sensors_own(sensor: Sensor, window: Window, late: bool) -> None:
    """To rounding, at every window, with and without biases and delays."""
    ours, point = readings(LateSensor(sensor, 1e-3) if late else sensor, window)
    theirs, motion = replace(ours, kernel=None), discrete_motion(point.q, STEP)
    found, wanted = ours.blocks(point, motion), theirs.blocks(point, motion)
    np.testing.assert_array_equal(found.first, wanted.first)
    assert (found.parameter_jacobian is None) == (wanted.parameter_jacobian is None)
    pairs = [
        (found.residual, wanted.residual),
        (ours.residual(point, motion), wanted.residual),
        (found.jacobian, wanted.jacobian),
        (found.parameter_jacobian, wanted.parameter_jacobian),
    ]
    if not sensor.name.startswith("joint"):
        pairs.append((ours.by_reading(point, STEP)[1], theirs.by_reading(point, STEP)[1]))
    for got, own in pairs:
        if own is not None:
            np.testing.assert_allclose(got, own, rtol=1e-10, atol=1e-11 * (1.0 + np.abs(own).max()))


@pytest.mark.parametrize("compiled", [True, False])
def test_the_first_readings_tell_what_all_told(compiled: bool) -> None:
    """Of a point that is at hand nothing is made again; of another it is, and right."""
    whole, point = readings(LateSensor(CASES[5][0], 1e-3), Window.AROUND)
    whole = whole if compiled else replace(whole, kernel=None)
    head = Trajectory(point.q[:6], point.w[:6], point.theta)
    whole.blocks(point, discrete_motion(point.q, STEP))
    known, fresh = whole.between(5, point, head), replace(whole).between(5, point, head)
    assert known.by_reading(head, STEP)[0].base is whole.by_reading(point, STEP)[0]
    for got, wanted in zip(known.by_reading(head, STEP), fresh.by_reading(head, STEP), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    other = Trajectory(random_trajectory("go2", 5, 6), head.w, head.theta)
    assert not np.allclose(known.by_reading(other, STEP)[0], fresh.by_reading(head, STEP)[0])


def test_arrays_that_do_not_fit_are_refused() -> None:
    own, point = readings(CASES[3][0], Window.AROUND)
    motion = discrete_motion(point.q, STEP)
    late = replace(own, samples=own.samples.shift(1))
    with pytest.raises(ValueError, match="at no stage of the window"):
        late.residual(point, motion)
    with pytest.raises(ValueError, match="as many constants"):
        replace(own, columns=slice(0, 1)).residual(point, motion)
