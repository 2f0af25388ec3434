# SPDX-License-Identifier: Apache-2.0
"""Sensors of the simulated legged robots: joints, IMU, motion capture and velocity of the base.

Each stream has its own rate and its own errors. Noise is Gaussian and white; constant errors (biases) are drawn once a
run. Default rates are those of the public drivers (Unitree's LowState 500 Hz, motion capture 100 Hz); default errors
are assumed, of the order that estimators in the literature state for such robots. Stamps are the sensor's; a reading
arrives later than it is stamped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pinocchio

from sysid_nodes.data.config import option, section
from sysid_nodes.robots.robot import Array


@dataclass(frozen=True)
class JointSensorConfig:
    """Encoders and torque estimates of the motors."""

    rate: float = option(500.0, "readings a second", unit="Hz", minimum=1.0)
    position: float = option(1e-3, "position noise, 1 sigma", unit="rad", minimum=0.0)
    velocity: float = option(0.05, "velocity noise, 1 sigma", unit="rad/s", minimum=0.0)
    torque: float = option(0.2, "torque noise, 1 sigma", unit="N m", minimum=0.0)
    torque_relative: float = option(0.02, "torque noise relative to the torque, 1 sigma", unit="1", minimum=0.0)
    torque_gain: float = option(0.0, "constant gain error of each joint's torque, 1 sigma", unit="1", minimum=0.0)
    delay: float = option(0.001, "from stamp to arrival", unit="s", minimum=0.0)
    stamp_offset: float = option(0.0, "constant error of the stamps", unit="s")
    stamp_jitter: float = option(0.0, "noise of the stamps, 1 sigma", unit="s", minimum=0.0)
    loss: float = option(0.0, "part of the readings that is lost", unit="1", minimum=0.0, maximum=1.0)


@dataclass(frozen=True)
class ImuSensorConfig:
    """Inertial sensor on the base."""

    rate: float = option(500.0, "readings a second", unit="Hz", minimum=1.0)
    gyro: float = option(0.01, "angular velocity noise, 1 sigma", unit="rad/s", minimum=0.0)
    gyro_bias: float = option(0.003, "constant error of an axis, 1 sigma", unit="rad/s", minimum=0.0)
    accelerometer: float = option(0.1, "specific force noise, 1 sigma", unit="m/s2", minimum=0.0)
    accelerometer_bias: float = option(0.05, "constant error of an axis, 1 sigma", unit="m/s2", minimum=0.0)
    orientation: float = option(0.005, "orientation noise about each axis, 1 sigma", unit="rad", minimum=0.0)
    heading: float = option(0.0, "constant heading error of the orientation", unit="rad")
    delay: float = option(0.001, "from stamp to arrival", unit="s", minimum=0.0)
    stamp_offset: float = option(0.0, "constant error of the stamps", unit="s")
    stamp_jitter: float = option(0.0, "noise of the stamps, 1 sigma", unit="s", minimum=0.0)
    loss: float = option(0.0, "part of the readings that is lost", unit="1", minimum=0.0, maximum=1.0)


@dataclass(frozen=True)
class MocapSensorConfig:
    """Motion capture of the base's pose."""

    enabled: bool = option(True, "whether there is one")
    rate: float = option(100.0, "readings a second", unit="Hz", minimum=1.0)
    position: float = option(2e-3, "position noise of each axis, 1 sigma", unit="m", minimum=0.0)
    orientation: float = option(0.0087, "orientation noise about each axis, 1 sigma", unit="rad", minimum=0.0)
    orientation_bias: float = option(
        0.025, "angle by which the tracked body's axes are turned against the base's, about a random axis", unit="rad"
    )
    dropout: float = option(0.2, "dropouts a minute, as when markers are hidden", unit="1/min", minimum=0.0)
    dropout_duration: float = option(0.1, "mean duration of a dropout", unit="s", minimum=0.0)
    delay: float = option(0.005, "from stamp to arrival", unit="s", minimum=0.0)
    stamp_offset: float = option(0.0, "constant error of the stamps", unit="s")
    stamp_jitter: float = option(2e-4, "noise of the stamps, 1 sigma", unit="s", minimum=0.0)
    loss: float = option(0.0, "part of the readings that is lost", unit="1", minimum=0.0, maximum=1.0)


@dataclass(frozen=True)
class VelocitySensorConfig:
    """Linear velocity of the base, as visual odometry or a vendor's own estimator gives it."""

    enabled: bool = option(False, "whether there is one")
    rate: float = option(50.0, "readings a second", unit="Hz", minimum=1.0)
    velocity: float = option(0.05, "noise of each axis, 1 sigma", unit="m/s", minimum=0.0)
    delay: float = option(0.005, "from stamp to arrival", unit="s", minimum=0.0)
    stamp_offset: float = option(0.0, "constant error of the stamps", unit="s")
    stamp_jitter: float = option(0.0, "noise of the stamps, 1 sigma", unit="s", minimum=0.0)
    loss: float = option(0.0, "part of the readings that is lost", unit="1", minimum=0.0, maximum=1.0)


SensorConfig = JointSensorConfig | ImuSensorConfig | MocapSensorConfig | VelocitySensorConfig


@dataclass(frozen=True)
class LeggedSensorsConfig:
    """All streams of a simulated legged robot."""

    joints: JointSensorConfig = section(JointSensorConfig, "encoders and torques")
    imu: ImuSensorConfig = section(ImuSensorConfig, "inertial sensor")
    mocap: MocapSensorConfig = section(MocapSensorConfig, "motion capture")
    velocity: VelocitySensorConfig = section(VelocitySensorConfig, "velocity of the base")


@dataclass(frozen=True)
class JointReading:
    """Positions [rad], velocities [rad/s] and torques [N m], (n,) each, in the order of ``names``.

    The torque is the mean over the tick of the simulation that ends at the stamp.
    """

    stream: ClassVar[str] = "joints"
    stamp: float
    arrival: float
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array


@dataclass(frozen=True)
class ImuReading:
    """Orientation (x, y, z, w), angular velocity [rad/s] and specific force [m/s2] of the sensor, in its own frame.

    The specific force is the mean over the tick of the simulation that ends at the stamp.
    """

    stream: ClassVar[str] = "imu"
    stamp: float
    arrival: float
    orientation: Array
    gyro: Array
    accelerometer: Array


@dataclass(frozen=True)
class PoseReading:
    """Position [m] and orientation (x, y, z, w) of the base in the world."""

    stream: ClassVar[str] = "mocap"
    stamp: float
    arrival: float
    position: Array
    orientation: Array


@dataclass(frozen=True)
class VelocityReading:
    """Velocity [m/s] of the base's origin, in the base's axes."""

    stream: ClassVar[str] = "velocity"
    stamp: float
    arrival: float
    linear: Array


Reading = JointReading | ImuReading | PoseReading | VelocityReading


@dataclass(frozen=True)
class Observed:
    """The true values that the sensors see at a time [s]; torque and specific force are means over the last tick."""

    time: float
    joint_position: Array
    joint_velocity: Array
    torque: Array
    imu_rotation: Array
    gyro: Array
    specific_force: Array
    base_position: Array
    base_rotation: Array
    base_velocity: Array


class JointSensor:
    """Reads the joints; gain errors are drawn at the start."""

    def __init__(self, config: JointSensorConfig, names: tuple[str, ...], rng: np.random.Generator) -> None:
        self._config, self._names, self._rng = config, names, rng
        self._gain = 1.0 + config.torque_gain * rng.standard_normal(len(names))

    def read(self, seen: Observed, stamp: float, arrival: float) -> JointReading:
        """A reading of the present."""
        config, noise = self._config, self._rng.standard_normal((4, len(self._names)))
        return JointReading(
            stamp,
            arrival,
            self._names,
            position=seen.joint_position + config.position * noise[0],
            velocity=seen.joint_velocity + config.velocity * noise[1],
            effort=self._gain * seen.torque * (1.0 + config.torque_relative * noise[2]) + config.torque * noise[3],
        )


class ImuSensor:
    """Reads the IMU; biases are drawn at the start."""

    def __init__(self, config: ImuSensorConfig, rng: np.random.Generator) -> None:
        self._config, self._rng = config, rng
        self.gyro_bias: Array = config.gyro_bias * rng.standard_normal(3)
        self.accelerometer_bias: Array = config.accelerometer_bias * rng.standard_normal(3)
        self._heading = pinocchio.exp3(np.array([0.0, 0.0, config.heading]))

    def read(self, seen: Observed, stamp: float, arrival: float) -> ImuReading:
        """A reading of the present."""
        config, noise = self._config, self._rng.standard_normal((3, 3))
        return ImuReading(
            stamp,
            arrival,
            orientation=quaternion(self._heading @ seen.imu_rotation @ pinocchio.exp3(config.orientation * noise[0])),
            gyro=seen.gyro + self.gyro_bias + config.gyro * noise[1],
            accelerometer=seen.specific_force + self.accelerometer_bias + config.accelerometer * noise[2],
        )


class MocapSensor:
    """Tracks the base; the orientation bias is drawn at the start, dropouts as they come."""

    def __init__(self, config: MocapSensorConfig, rng: np.random.Generator) -> None:
        self._config, self._rng = config, rng
        axis = rng.standard_normal(3)
        self.bias: Array = pinocchio.exp3(config.orientation_bias * axis / np.linalg.norm(axis))
        self._hidden_until = -np.inf

    def read(self, seen: Observed, stamp: float, arrival: float) -> PoseReading | None:
        """A reading of the present; None while the markers are hidden."""
        config, noise = self._config, self._rng.standard_normal((2, 3))
        begins, length = self._rng.uniform() < config.dropout / (60.0 * config.rate), self._rng.standard_exponential()
        if begins:
            self._hidden_until = seen.time + config.dropout_duration * length
        if seen.time < self._hidden_until or not config.enabled:
            return None
        return PoseReading(
            stamp,
            arrival,
            position=seen.base_position + config.position * noise[0],
            orientation=quaternion(seen.base_rotation @ self.bias @ pinocchio.exp3(config.orientation * noise[1])),
        )


class VelocitySensor:
    """Tells how fast the base moves."""

    def __init__(self, config: VelocitySensorConfig, rng: np.random.Generator) -> None:
        self._config, self._rng = config, rng

    def read(self, seen: Observed, stamp: float, arrival: float) -> VelocityReading | None:
        """A reading of the present; None where there is no such sensor."""
        if not self._config.enabled:
            return None
        return VelocityReading(
            stamp, arrival, seen.base_velocity + self._config.velocity * self._rng.standard_normal(3)
        )


def quaternion(rotation: Array) -> Array:
    """(4,) x, y, z, w."""
    return np.array(pinocchio.Quaternion(rotation).coeffs())
