# SPDX-License-Identifier: Apache-2.0
"""What the sensors read: against MuJoCo's own sensors, at rest, and recovered from noisy readings."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio
import pytest
from shared.legged_states import parameter_count, random_states

from sysid_nodes.data.config import from_flat, options
from sysid_nodes.exceptions import ConfigError, InputError, RobotError
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.sensors import (
    Samples,
    SensorsConfig,
    States,
    build_sensors,
    channel_specs,
    parameter_layout,
)
from sysid_nodes.sensors.accelerometer import AccelerometerConfig, accelerometer
from sysid_nodes.sensors.gyroscope import GyroscopeConfig, gyroscope
from sysid_nodes.sensors.imu_orientation import ImuOrientationConfig, imu_orientation
from sysid_nodes.sensors.joint_position import joint_position
from sysid_nodes.sensors.joint_torque import JointTorqueConfig, joint_torque
from sysid_nodes.sensors.mocap_pose import MocapPoseConfig, mocap_pose
from sysid_nodes.signals.alignment import Aligner, GridConfig


@pytest.fixture(scope="module")
def go2() -> Robot:
    return load_robot("go2")


def samples_of(values: np.ndarray) -> Samples:
    return Samples(np.arange(len(values)), values, np.ones(len(values)))


def test_gyroscope_and_accelerometer_read_what_mujoco_s_do(go2: Robot) -> None:
    """A free body that is pushed and turned, with an IMU beside its centre of mass."""
    place = go2.model.frames[go2.model.getFrameId("imu")].placement.translation
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body><freejoint/><inertial mass="3" pos="0.1 -0.05 0.02" diaginertia="0.1 0.2 0.25"/>
        <site name="imu" pos="{place[0]} {place[1]} {place[2]}"/></body></worldbody>
        <sensor><gyro site="imu"/><accelerometer site="imu"/></sensor></mujoco>"""
    )
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    q, v, a, read = [], [], [], []
    for _ in range(5):
        data.qpos[3:7] = rng.normal(size=4)
        data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
        data.qvel[:], data.qfrc_applied[:] = rng.normal(size=6), 10.0 * rng.normal(size=6)
        mujoco.mj_forward(model, data)
        turn = pinocchio.Quaternion(*data.qpos[3:7]).matrix()
        # MuJoCo: linear parts in the world, and the acceleration of a point; pinocchio: body axes, spatial.
        linear, angular = turn.T @ data.qvel[:3], data.qvel[3:]
        q.append(np.concatenate([data.qpos[:3], data.qpos[4:7], data.qpos[3:4], np.zeros(12)]))
        v.append(np.concatenate([linear, angular, np.zeros(12)]))
        a.append(np.concatenate([turn.T @ data.qacc[:3] - np.cross(angular, linear), data.qacc[3:], np.zeros(12)]))
        read.append(data.sensordata.copy())
    states, readings = States(np.array(q), np.array(v), np.array(a)), np.array(read)
    for sensor, values in (
        (gyroscope(go2, GyroscopeConfig(sigma=1.0)), readings[:, :3]),
        (accelerometer(go2, AccelerometerConfig(sigma=1.0)), readings[:, 3:]),
    ):
        np.testing.assert_allclose(sensor.residual(samples_of(values), states, np.zeros(3)), 0.0, atol=1e-9)


@pytest.mark.parametrize("link", ["", "imu_in_torso", "left_rubber_hand"])
def test_accelerometer_at_rest_reads_gravity_upwards(link: str) -> None:
    g1 = load_robot("g1")
    q = pinocchio.neutral(g1.model)
    states = States(q[None], np.zeros((1, g1.model.nv)), np.zeros((1, g1.model.nv)))
    sensor = accelerometer(g1, AccelerometerConfig(link=link, sigma=1.0))
    predicted = sensor.residual(samples_of(np.zeros((1, 3))), states, np.array([0.1, 0.2, 0.3]))
    data = g1.model.createData()
    pinocchio.framesForwardKinematics(g1.model, data, q)
    turn = data.oMf[g1.model.getFrameId(link or g1.imu)].rotation
    np.testing.assert_allclose(predicted[0], turn.T @ [0.0, 0.0, 9.81] + [0.1, 0.2, 0.3], atol=1e-12)


def quaternion(rotation: np.ndarray) -> np.ndarray:
    return np.array(pinocchio.Quaternion(rotation).coeffs())


def about(axis: str, angle: float) -> np.ndarray:
    return pinocchio.utils.rotate(axis, angle)


@pytest.mark.parametrize("heading", [0.0, 1.0, -3.0])
def test_tilt_is_blind_to_heading_and_heading_to_tilt(go2: Robot, heading: float) -> None:
    sensor = imu_orientation(go2, ImuOrientationConfig(tilt_sigma=1.0, heading_sigma=1.0))
    rng = np.random.default_rng(1)
    turn = pinocchio.exp3(rng.normal(size=3))
    q = pinocchio.neutral(go2.model)
    q[3:7] = quaternion(turn)
    states = States(q[None], np.zeros((1, 18)))
    for tilt in (0.0, 0.3, 1.5, 3.0):
        axis = about("z", 0.7) @ [1.0, 0.0, 0.0]
        measured = about("z", heading) @ pinocchio.exp3(tilt * axis) @ turn
        residual = sensor.residual(samples_of(quaternion(measured)[None]), states, np.array([heading]))[0]
        assert np.linalg.norm(residual[:2]) == pytest.approx(tilt, abs=1e-9)
        assert residual[2] == pytest.approx(0.0, abs=1e-9)
    # The residual of the heading is its error, the short way round.
    measured = about("z", heading + 0.2) @ turn
    residual = sensor.residual(samples_of(quaternion(measured)[None]), states, np.array([heading + 2.0 * np.pi]))[0]
    np.testing.assert_allclose(residual, [0.0, 0.0, -0.2], atol=1e-9)


def test_upside_down_is_no_solution_and_no_infinity(go2: Robot) -> None:
    sensor = imu_orientation(go2, ImuOrientationConfig(tilt_sigma=1.0, heading_sigma=1.0))
    q = pinocchio.neutral(go2.model)
    states = States(q[None], np.zeros((1, 18)))
    for angle in (np.pi, np.pi - 1e-6, np.pi - 1e-2):
        measured = samples_of(quaternion(about("x", angle))[None])
        result = sensor.linearise(measured, states, np.zeros(1))
        assert np.isfinite(result.residual).all() and np.isfinite(result.q).all()
        assert np.abs(result.q).max() < 1e4
        assert np.linalg.norm(result.residual[0, :2]) == pytest.approx(angle)


def test_biases_are_recovered_from_noisy_readings(go2: Robot) -> None:
    """Gauss-Newton on the static parameters alone, the states known: truth within five of its own sigmas."""
    rng = np.random.default_rng(2)
    count = 400
    states = random_states(go2, count, rng)
    bias, offset = np.array([0.03, -0.02, 0.05]), np.array([0.01, 0.02, -0.005])
    config = MocapPoseConfig(offset=(0.1, 0.0, 0.05), offset_sigma=0.05)
    sensor = mocap_pose(go2, config)
    assert parameter_count(sensor) == 6
    values = np.empty((count, 7))
    for k, q in enumerate(states.q):
        turn = pinocchio.Quaternion(*np.roll(q[3:7], 1)).matrix()
        values[k, :3] = q[:3] + turn @ (np.array(config.offset) + offset) + config.position_sigma * rng.normal(size=3)
        noise = pinocchio.exp3(config.orientation_sigma * rng.normal(size=3))
        values[k, 3:] = quaternion(turn @ pinocchio.exp3(bias) @ noise)
    samples, estimate = samples_of(values), np.zeros(6)
    for _ in range(5):
        result = sensor.linearise(samples, states, estimate)
        jacobian = result.parameters.reshape(-1, 6)
        estimate = estimate - np.linalg.lstsq(jacobian, result.residual.ravel(), rcond=None)[0]
    sigma = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    assert (np.abs(estimate - np.concatenate([bias, offset])) < 5.0 * sigma).all()
    # Whitened: 2400 numbers of unit variance, 1 +- 5 sqrt(2 / 2400).
    assert np.mean(sensor.residual(samples, states, estimate) ** 2) == pytest.approx(1.0, abs=0.15)


def test_weights_scale_residuals_and_none_is_needed_at_all(go2: Robot) -> None:
    rng = np.random.default_rng(3)
    states = random_states(go2, 4, rng)
    empty = np.zeros(0, dtype=np.int64)
    none = States(states.q[:0], states.v[:0], states.a[:0], states.tau[:0])
    for sensor in build_sensors(go2, SensorsConfig()):
        parameters = np.zeros(parameter_count(sensor))
        values = rng.normal(size=(4, sensor.width))
        values[:, -4:] /= np.linalg.norm(values[:, -4:], axis=1, keepdims=True)
        samples = samples_of(values)
        single = sensor.residual(samples, states, parameters)
        nine = replace(samples, weights=np.full(4, 3.0))
        np.testing.assert_allclose(sensor.residual(nine, states, parameters), 3.0 * single)
        nothing = Samples(empty, np.zeros((0, sensor.width)), np.zeros(0))
        assert sensor.linearise(nothing, none, parameters).residual.shape == (0, sensor.rows)
        ignored = replace(samples, weights=np.zeros(4))
        np.testing.assert_allclose(sensor.residual(ignored, states, parameters), 0.0, atol=1e-6)


def test_noise_that_is_relative_to_the_reading_does_not_average_out(go2: Robot) -> None:
    sensor = joint_torque(go2, JointTorqueConfig(sigma=0.3, share_of_limit=0.0, relative=0.1))
    samples = Samples(np.arange(2), np.stack([np.zeros(12), np.full(12, 20.0)]), np.full(2, 1e6))
    scale = sensor.scale(samples)
    np.testing.assert_allclose(scale[1], 1.0 / 2.0, rtol=1e-6)
    assert scale[0, 0] > 1e6
    by_limit = joint_torque(go2, JointTorqueConfig(sigma=0.3, share_of_limit=0.01))
    np.testing.assert_allclose(by_limit.sigma[:3], np.hypot(0.3, [0.237, 0.237, 0.4543]))


def test_encoder_steps_are_noise() -> None:
    gen3 = load_robot("kinova_gen3")
    sensor = joint_position(gen3, SensorsConfig().joint_position)
    np.testing.assert_allclose(sensor.sigma, np.sqrt(1e-6 + np.deg2rad([0.02] * 4 + [0.011] * 3) ** 2 / 12.0))
    states = States(np.zeros((2, 7)), np.zeros((2, 7)))
    by_q = sensor.linearise(samples_of(np.zeros((2, 7))), states, np.zeros(7)).q
    np.testing.assert_allclose(by_q, np.broadcast_to(np.diag(1.0 / sensor.sigma), (2, 7, 7)))


def test_registry_configuration_and_streams_agree(go2: Robot) -> None:
    names = list(SensorsConfig.__dataclass_fields__)
    enabled = {f"{name}.enabled": True for name in names}
    everything = from_flat(SensorsConfig, enabled | {"mocap_pose.offset": [0.1, 0.0, 0.2]})
    sensors = build_sensors(go2, everything)
    assert [sensor.name for sensor in sensors] == names
    layout = parameter_layout(sensors)
    own = (*(f"accelerometer.bias[{k}]" for k in range(3)), "accelerometer.delay_error[0]")
    assert layout.names[layout.columns["accelerometer"]] == own
    count = sum(len(entry.mean) for sensor in sensors for entry in sensor.parameters)
    assert len(layout.names) == len(layout.units) == len(layout.mean) == len(layout.sigma) == count
    assert layout.columns["joint_position"] == slice(0, 12)
    assert layout.columns["joint_torque"] == slice(12, 17)  # hip, thigh, calf, and all of them, delay
    known = from_flat(SensorsConfig, {"joint_position.offset_sigma": 0.0, "joint_torque.gain_sigma": 0.0})
    assert len(parameter_layout(build_sensors(go2, known)).names) == 10 + 5  # delays
    few = build_sensors(go2, from_flat(SensorsConfig, {"mocap_pose.enabled": False, "gyroscope.estimate_bias": False}))
    assert "mocap_pose" not in [sensor.name for sensor in few]
    # Every sensor's stream is one that an aligner accepts.
    Aligner(channel_specs(sensors, everything), GridConfig())
    assert all(item.doc for item in options(SensorsConfig))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gyroscope.link": "nose"}, "robot 'go2' has no link 'nose'"),
        ({"mocap_pose.offset": [1.0, 2.0]}, "'offset' of the motion capture must be three numbers, got 2"),
        ({"joint_velocity.sigma": 0.0}, "'joint_velocity.sigma' must be at least 1e-09"),
        ({"accelerometer.window": "mean"}, "'accelerometer.window' must be one of point, before, after, around"),
    ],
)
def test_bad_configuration(go2: Robot, values: dict[str, object], message: str) -> None:
    with pytest.raises((RobotError, ConfigError), match=message):
        build_sensors(go2, from_flat(SensorsConfig, values))


def test_a_fixed_base_needs_a_link_to_carry_a_sensor() -> None:
    gen3 = load_robot("kinova_gen3")
    with pytest.raises(RobotError, match="has a fixed base: name the link"):
        gyroscope(gen3, GyroscopeConfig())
    sensor = gyroscope(gen3, GyroscopeConfig(link="forearm_link", sigma=1.0))
    states = States(np.zeros((1, 7)), np.ones((1, 7)))
    assert np.abs(sensor.residual(samples_of(np.zeros((1, 3))), states, np.zeros(3))).max() > 0.5


@pytest.mark.parametrize(("field", "sensor"), [("a", "accelerometer"), ("tau", "joint_torque")])
def test_states_that_lack_what_a_sensor_needs(go2: Robot, field: str, sensor: str) -> None:
    states = replace(random_states(go2, 1, np.random.default_rng(0)), **{field: None})
    model = next(entry for entry in build_sensors(go2, SensorsConfig()) if entry.name == sensor)
    with pytest.raises(InputError, match=f"sensor '{sensor}' needs the states' '{field}'"):
        model.residual(samples_of(np.zeros((1, model.width))), states, np.zeros(parameter_count(model)))
