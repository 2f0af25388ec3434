# SPDX-License-Identifier: Apache-2.0
"""All sensors of a robot: their configuration, the list an estimator loops over, and the topics they come on.

A new sensor is one file, and here a section, a line in ``_BUILDERS`` and, unless a topic has it already, one in
``SOURCES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_nodes.data.config import section
from sysid_nodes.data.readings import Source
from sysid_nodes.robots import Robot
from sysid_nodes.sensors.accelerometer import AccelerometerConfig, accelerometer
from sysid_nodes.sensors.base_velocity import BaseVelocityConfig, base_velocity
from sysid_nodes.sensors.gyroscope import GyroscopeConfig, gyroscope
from sysid_nodes.sensors.imu_orientation import ImuOrientationConfig, imu_orientation
from sysid_nodes.sensors.joint_position import JointPositionConfig, joint_position
from sysid_nodes.sensors.joint_torque import JointTorqueConfig, joint_torque
from sysid_nodes.sensors.joint_velocity import JointVelocityConfig, joint_velocity
from sysid_nodes.sensors.late import LateConfig, LateSensor
from sysid_nodes.sensors.messages import read_imu, read_joint_state, read_odometry, read_pose, read_twist
from sysid_nodes.sensors.mocap_pose import MocapPoseConfig, mocap_pose
from sysid_nodes.sensors.sensor import Array, Sensor
from sysid_nodes.signals.channel import ChannelSpec
from sysid_nodes.signals.channel_config import ChannelConfig, ValueKind


@dataclass(frozen=True)
class SensorsConfig:
    """The sensors of a legged robot; a section's name is the name of its sensor and stream."""

    joint_position: JointPositionConfig = section(JointPositionConfig, "joint encoders")
    joint_velocity: JointVelocityConfig = section(JointVelocityConfig, "joint velocities")
    joint_torque: JointTorqueConfig = section(JointTorqueConfig, "joint torques")
    gyroscope: GyroscopeConfig = section(GyroscopeConfig, "gyroscope")
    accelerometer: AccelerometerConfig = section(AccelerometerConfig, "accelerometer")
    imu_orientation: ImuOrientationConfig = section(ImuOrientationConfig, "orientation from the IMU's own filter")
    mocap_pose: MocapPoseConfig = section(MocapPoseConfig, "motion capture")
    base_velocity: BaseVelocityConfig = section(BaseVelocityConfig, "linear velocity from odometry")


_BUILDERS: dict[str, Callable[[Robot, Any], Sensor]] = {
    "joint_position": joint_position,
    "joint_velocity": joint_velocity,
    "joint_torque": joint_torque,
    "gyroscope": gyroscope,
    "accelerometer": accelerometer,
    "imu_orientation": imu_orientation,
    "mocap_pose": mocap_pose,
    "base_velocity": base_velocity,
}

SOURCES = (
    Source(
        "joints",
        "joint_states",
        {"sensor_msgs/msg/JointState": read_joint_state},
        ("joint_position", "joint_velocity", "joint_torque"),
    ),
    Source(
        "imu",
        "imu/data",
        {"sensor_msgs/msg/Imu": read_imu},
        ("gyroscope", "accelerometer", "imu_orientation"),
    ),
    Source("pose", "mocap/pose", {"geometry_msgs/msg/PoseStamped": read_pose}, ("mocap_pose",)),
    Source(
        "velocity",
        "velocity",
        {"nav_msgs/msg/Odometry": read_odometry, "geometry_msgs/msg/TwistStamped": read_twist},
        ("base_velocity",),
    ),
)
"""Topics of the sensors, for the live node and for recordings alike; the first names the joints."""


def sources(config: SensorsConfig) -> tuple[Source, ...]:
    """Topics that the enabled sensors are on, and the joint states, without which there is no motion."""
    enabled = {name for name, entry in sensor_configs(config).items() if entry.enabled}
    return tuple(source for source in SOURCES if source is SOURCES[0] or enabled.intersection(source.streams))


def sensor_configs(config: SensorsConfig) -> dict[str, ChannelConfig]:
    """Configuration of every sensor by name, enabled or not."""
    return {name: getattr(config, name) for name in _BUILDERS}


def build_sensors(robot: Robot, config: SensorsConfig) -> tuple[Sensor, ...]:
    """The enabled sensors of a robot.

    Raises:
        RobotError: a sensor's link is unknown or does not move.
    """
    enabled = {name: entry for name, entry in sensor_configs(config).items() if entry.enabled}
    return tuple(_in_its_time(_BUILDERS[name](robot, entry), entry) for name, entry in enabled.items())


def _in_its_time(sensor: Sensor, config: ChannelConfig) -> Sensor:
    """The sensor, late by an unknown time where its configuration says so."""
    if not isinstance(config, LateConfig) or config.delay_sigma == 0.0:
        return sensor
    return LateSensor(sensor, config.delay_sigma)


def channel_specs(sensors: Sequence[Sensor], config: SensorsConfig) -> dict[str, ChannelSpec]:
    """The streams that an aligner has to put on the grid for these sensors, by name."""
    configs = sensor_configs(config)
    late = {sensor.name: isinstance(sensor, LateSensor) and sensor.kind is ValueKind.VECTOR for sensor in sensors}
    return {
        sensor.name: ChannelSpec(configs[sensor.name], sensor.width, sensor.kind, late[sensor.name])
        for sensor in sensors
    }


@dataclass(frozen=True)
class ParameterLayout:
    """Places of each sensor's static parameters in one vector of all of them.

    Attributes:
        names: (P,) one a component, e.g. ``gyroscope.bias[0]``.
        units: (P,).
        mean, sigma: (P,) prior.
        columns: slice of every sensor, by its name.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    mean: Array
    sigma: Array
    columns: Mapping[str, slice]


def parameter_layout(sensors: Sequence[Sensor]) -> ParameterLayout:
    """The static parameters of all sensors, one after the other."""
    names: list[str] = []
    units: list[str] = []
    columns: dict[str, slice] = {}
    mean, sigma = [np.zeros(0)], [np.zeros(0)]
    for sensor in sensors:
        first = len(names)
        for entry in sensor.parameters:
            names += [f"{entry.name}[{k}]" for k in range(len(entry.mean))]
            units += [entry.unit] * len(entry.mean)
            mean.append(entry.mean)
            sigma.append(entry.sigma)
        columns[sensor.name] = slice(first, len(names))
    return ParameterLayout(tuple(names), tuple(units), np.concatenate(mean), np.concatenate(sigma), columns)
