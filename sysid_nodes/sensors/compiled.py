# SPDX-License-Identifier: Apache-2.0
"""Sensors whose rows the kernel makes: those on joints and on the floating base."""

from __future__ import annotations

import numpy as np

from sysid_nodes.kernel.sensor_rows import SensorConstants, SensorKernel, sensor_kernel
from sysid_nodes.sensors.accelerometer import Accelerometer
from sysid_nodes.sensors.frame_motion import SensorFrame
from sysid_nodes.sensors.gyroscope import Gyroscope
from sysid_nodes.sensors.imu_orientation import ImuOrientation
from sysid_nodes.sensors.joint_position import JointPosition
from sysid_nodes.sensors.joint_velocity import JointVelocity
from sysid_nodes.sensors.late import LateSensor
from sysid_nodes.sensors.mocap_pose import MocapPose
from sysid_nodes.sensors.sensor import Array, Sensor
from sysid_nodes.signals.channel_config import Window

_WINDOWS = (Window.POINT, Window.BEFORE, Window.AFTER, Window.AROUND)


def compiled_sensor(sensor: Sensor, window: Window, step: float, name: str = "") -> SensorKernel | None:
    """The kernel of a sensor's rows at stages `step` apart; None for one that the kernel does not know."""
    late = isinstance(sensor, LateSensor)
    inner = sensor.inner if isinstance(sensor, LateSensor) else sensor
    at, bias = _WINDOWS.index(window), bool(inner.parameters)

    def on_joints(kind: int, sigma: Array) -> SensorKernel | None:
        none = np.zeros(3)
        constants = SensorConstants(
            kind, at, step, np.zeros((6, 6)), none, np.zeros(4), sigma, none, bias, has_offset=False, late=False
        )
        return None if late else sensor_kernel(constants, name)

    def on_base(
        kind: int, frame: SensorFrame, sigma: Array, extra: Array, *, has_bias: bool = bias, has_offset: bool = False
    ) -> SensorKernel | None:
        adjoint = np.ascontiguousarray(frame.adjoint[:, :6])
        constants = SensorConstants(
            kind, at, step, adjoint, frame.offset, frame.turn, sigma, extra, has_bias, has_offset, late
        )
        return sensor_kernel(constants, name) if frame.on_base else None

    match inner:
        case JointPosition():
            return on_joints(0, inner.sigma)
        case JointVelocity():
            return on_joints(1, np.full(inner.joints, inner.sigma))
        case Gyroscope():
            return on_base(2, inner.frame, np.full(3, inner.sigma), np.zeros(3))
        case Accelerometer():
            return on_base(3, inner.frame, np.full(3, inner.sigma), inner.gravity)
        case ImuOrientation():
            return on_base(4, inner.frame, inner.sigma, np.zeros(3))
        case MocapPose():
            has = {"has_bias": inner.with_bias, "has_offset": inner.with_offset}
            return on_base(5, inner.frame, inner.sigma, inner.offset, **has)
    return None
