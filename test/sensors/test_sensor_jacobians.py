# SPDX-License-Identifier: Apache-2.0
"""Every sensor's Jacobians against central differences, perturbed as pinocchio.integrate does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from shared.legged_states import parameter_count, random_samples, random_states

from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.sensors import SOURCES, Sensor, SensorsConfig, States, build_sensors, sensor_configs
from sysid_nodes.sensors.accelerometer import AccelerometerConfig, accelerometer
from sysid_nodes.sensors.base_velocity import BaseVelocityConfig, base_velocity
from sysid_nodes.sensors.gyroscope import GyroscopeConfig, gyroscope
from sysid_nodes.sensors.imu_orientation import ImuOrientationConfig, imu_orientation
from sysid_nodes.sensors.joint_torque import JointTorqueConfig, joint_torque
from sysid_nodes.sensors.mocap_pose import MocapPoseConfig, mocap_pose

STEP = 1e-6
# Relative to the largest residual (up to 1e4: readings far off, divided by small sigmas). Central differences round off
# 1e-16 / 1e-6 of it and truncate 1e-12 of the third derivatives, which are at most some tens of times larger.
TOLERANCE = 1e-8

G1, GO2 = load_robot("g1"), load_robot("go2")
TORSO = "imu_in_torso"  # moved by three waist joints against the base

ALL = SensorsConfig(**{name: replace(entry, enabled=True) for name, entry in sensor_configs(SensorsConfig()).items()})

CASES: dict[str, tuple[Robot, Sensor]] = {
    **{f"{robot.name} {sensor.name}": (robot, sensor) for robot in (GO2, G1) for sensor in build_sensors(robot, ALL)},
    "torque relative": (GO2, joint_torque(GO2, JointTorqueConfig(relative=0.1))),
    "gyroscope on the torso": (G1, gyroscope(G1, GyroscopeConfig(link=TORSO, estimate_bias=False))),
    "accelerometer on the torso": (G1, accelerometer(G1, AccelerometerConfig(link=TORSO))),
    "orientation of the torso": (G1, imu_orientation(G1, ImuOrientationConfig(link=TORSO, estimate_heading=False))),
    "markers on the torso": (
        G1,
        mocap_pose(G1, MocapPoseConfig(link="torso_link", offset=(0.1, -0.2, 0.3), offset_sigma=0.01)),
    ),
    "markers without bias": (GO2, mocap_pose(GO2, MocapPoseConfig(estimate_bias=False, offset=(0.1, -0.2, 0.3)))),
    "velocity in the world": (GO2, base_velocity(GO2, BaseVelocityConfig(axes="world"))),
    "velocity of a foot in the world": (GO2, base_velocity(GO2, BaseVelocityConfig(link="FL_foot", axes="world"))),
    "velocity of the torso": (G1, base_velocity(G1, BaseVelocityConfig(link="torso_link"))),
}


def moved(robot: Robot, states: States, field: str, column: int, step: float) -> States:
    if field == "q":
        direction = np.zeros(robot.model.nv)
        direction[column] = step
        return replace(states, q=np.array([pinocchio.integrate(robot.model, q, direction) for q in states.q]))
    value = getattr(states, field).copy()
    value[:, column] += step
    return replace(states, **{field: value})


@pytest.mark.parametrize("case", CASES)
def test_jacobians_against_differences(case: str) -> None:
    robot, sensor = CASES[case]
    rng = np.random.default_rng(len(case))
    states = random_states(robot, 4, rng)
    samples = random_samples(sensor, robot, states, rng)
    parameters = rng.normal(scale=0.3, size=parameter_count(sensor))
    result = sensor.linearise(samples, states, parameters)
    np.testing.assert_array_equal(result.residual, sensor.residual(samples, states, parameters))
    assert result.residual.shape == (4, sensor.rows)

    def residual(at: States, vector: np.ndarray) -> np.ndarray:
        return sensor.residual(samples, at, vector)

    scale = float(np.abs(result.residual).max())
    for field, columns in (("q", robot.model.nv), ("v", robot.model.nv), ("a", robot.model.nv), ("tau", robot.n)):
        block = getattr(result, field)
        given = np.zeros((4, sensor.rows, columns)) if block is None else block
        assert given.shape == (4, sensor.rows, columns)
        differences = np.stack(
            [
                residual(moved(robot, states, field, k, STEP), parameters)
                - residual(moved(robot, states, field, k, -STEP), parameters)
                for k in range(columns)
            ],
            axis=2,
        ) / (2.0 * STEP)
        np.testing.assert_allclose(given, differences, atol=TOLERANCE * scale, err_msg=field)
    block = result.parameters
    assert (block is None) == (len(parameters) == 0)
    for k in range(len(parameters)):
        step = STEP * np.eye(len(parameters))[k]
        difference = (residual(states, parameters + step) - residual(states, parameters - step)) / (2.0 * STEP)
        np.testing.assert_allclose(block[:, :, k], difference, atol=TOLERANCE * scale)


def test_every_sensor_comes_on_a_topic() -> None:
    fed = [stream for source in SOURCES for stream in source.streams]
    assert sorted(fed) == sorted(sensor_configs(SensorsConfig()))
