# SPDX-License-Identifier: Apache-2.0
"""Unitree's LowState: motors in the vendor's order, a millisecond counter instead of a stamp.

Its packages (unitree_go for Go2, B2 and H1; unitree_hg for G1 and H1-2) come with the vendor's SDK only, so that they
are imported where they are present, and everything here works on anything with the same fields.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.data.readings import Readings
from sysid_nodes.exceptions import ConfigError, SamplesError
from sysid_nodes.robots import Robot
from sysid_nodes.signals.tick_clock import TickClock

Array = npt.NDArray[np.float64]

TOPIC = "lowstate"

_PACKAGES = {"go2": "unitree_go", "g1": "unitree_hg"}
_SERIAL = 0
"""mode_pr of joint coordinates; 1 means that ankles and waist are in motor coordinates."""


def low_type(robot: str, name: str) -> Any:
    """The message type LowState or LowCmd of a registered robot.

    Raises:
        ConfigError: the robot has none, or its package is not installed.
    """
    package = _PACKAGES.get(robot, "")
    if not package:
        raise ConfigError(f"robot '{robot}' has no {name}; those with one are {', '.join(_PACKAGES)}")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except ImportError:
        raise ConfigError(f"{name} of '{robot}' needs the message package {package}, not installed") from None


def low_state_type(robot: Robot) -> Any:
    """The LowState message type of a robot.

    Raises:
        ConfigError: see `low_type`.
    """
    return low_type(robot.name, "LowState")


@dataclass(frozen=True)
class LowStateReading:
    """The readings of a LowState.

    Attributes:
        stamp: when it was sent, in the receiver's clock [s].
        names: joints, in the vendor's order.
        position, velocity, effort: (n,) of these [rad, rad/s, N m].
        orientation: (4,) x, y, z, w.
        gyro: (3,) in the sensor's frame [rad/s].
        accelerometer: (3,) specific force in the sensor's frame [m/s2].
    """

    stamp: float
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    orientation: Array
    gyro: Array
    accelerometer: Array

    def joint_state(self) -> RawJointState:
        """Those of the joints."""
        return RawJointState(self.stamp, self.names, self.position, self.velocity, self.effort)

    def readings(self) -> tuple[Readings, Readings]:
        """Those of the joints, then those of the IMU."""
        joints = {"joint_position": self.position, "joint_velocity": self.velocity, "joint_torque": self.effort}
        imu = {"gyroscope": self.gyro, "accelerometer": self.accelerometer, "imu_orientation": self.orientation}
        return Readings(self.stamp, joints, self.names), Readings(self.stamp, imu)


def from_low_state(message: Any, robot: Robot, clock: TickClock, arrival: float) -> LowStateReading:
    """The readings of a LowState.

    Args:
        message: unitree_go or unitree_hg LowState, or anything with its fields.
        robot: gives the motors' order.
        clock: turns the counter into time.
        arrival: when the message came, in the receiver's clock [s].

    Raises:
        SamplesError: fewer motors than the robot has, or ankles and waist in motor coordinates.
    """
    names, motors = robot.motor_order, message.motor_state
    if len(motors) < len(names):
        raise SamplesError(f"LowState has {len(motors)} motors, robot '{robot.name}' {len(names)}")
    if getattr(message, "mode_pr", _SERIAL) != _SERIAL:
        raise SamplesError("LowState has ankles and waist in motor coordinates (mode_pr = 1)")
    used = [motors[k] for k in range(len(names))]
    imu = message.imu_state
    w, x, y, z = (float(part) for part in imu.quaternion)
    return LowStateReading(
        stamp=clock.time(int(message.tick), arrival),
        names=names,
        position=np.array([motor.q for motor in used], dtype=np.float64),
        velocity=np.array([motor.dq for motor in used], dtype=np.float64),
        effort=np.array([motor.tau_est for motor in used], dtype=np.float64),
        orientation=np.array([x, y, z, w]),
        gyro=np.array(imu.gyroscope, dtype=np.float64),
        accelerometer=np.array(imu.accelerometer, dtype=np.float64),
    )


def fill_low_state(
    message: Any,
    *,
    tick: int,
    position: Array,
    velocity: Array,
    effort: Array,
    orientation: Array,
    gyro: Array,
    accelerometer: Array,
) -> None:
    """Writes readings, the joints in the vendor's order, into a LowState.

    Args:
        message: anything with its fields.
        tick: counter [ms].
        position, velocity, effort: (n,).
        orientation: (4,) x, y, z, w.
        gyro, accelerometer: (3,).
    """
    message.tick = tick % (1 << 32)
    for motor, q, dq, tau in zip(message.motor_state, position, velocity, effort, strict=False):
        motor.q, motor.dq, motor.tau_est = float(q), float(dq), float(tau)
    x, y, z, w = orientation
    message.imu_state.quaternion = np.array([w, x, y, z], dtype=np.float32)
    message.imu_state.gyroscope = np.asarray(gyro, dtype=np.float32)
    message.imu_state.accelerometer = np.asarray(accelerometer, dtype=np.float32)
