# SPDX-License-Identifier: Apache-2.0
"""Gyroscope: angular velocity of the link that carries it, in the sensor's axes, with a constant bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.robots import Robot
from sysid_nodes.sensors.frame_motion import SensorFrame
from sysid_nodes.sensors.late import LateConfig
from sysid_nodes.sensors.sensor import Array, Linearisation, States, StaticParameter
from sysid_nodes.signals.channel_config import WINDOWS, ValueKind, Window
from sysid_nodes.signals.samples import Samples


@dataclass(frozen=True)
class GyroscopeConfig(LateConfig):
    """Gyroscope."""

    largest: float = option(50.0, "a reading with a larger component is garbage", unit="rad/s", minimum=0.0)
    window: str = option(Window.BEFORE.value, "part of the signal that a step takes", choices=WINDOWS)
    link: str = option("", "URDF link that carries it; empty for the robot's IMU link")
    sigma: float = option(0.02, "standard deviation of a component", unit="rad/s", minimum=1e-9)
    estimate_bias: bool = option(True, "whether its constant bias is estimated")
    bias_sigma: float = option(0.02, "prior standard deviation of the bias about zero", unit="rad/s", minimum=1e-9)


@dataclass(frozen=True)
class Gyroscope:
    """Reading: 3 angular velocities [rad/s] of the sensor's link, in the link's axes, plus the bias.

    Attributes:
        sigma: standard deviation [rad/s].
    """

    frame: SensorFrame
    sigma: float
    parameters: tuple[StaticParameter, ...]
    name: str = "gyroscope"
    kind: ValueKind = ValueKind.VECTOR
    width: int = 3
    rows: int = 3

    def residual(self, samples: Samples, states: States, parameters: Array) -> Array:
        """(K, 3) whitened."""
        bias = parameters if len(self.parameters) else np.zeros(3)
        raw = self.frame.velocity(states).value[:, 3:] + bias - samples.values
        return np.asarray(raw * (samples.weights[:, None] / self.sigma))

    def linearise(self, samples: Samples, states: States, parameters: Array) -> Linearisation:
        """The residual and its Jacobians with respect to q, v and the bias."""
        motion = self.frame.velocity(states)
        bias = parameters if len(self.parameters) else np.zeros(3)
        raw = Linearisation(
            motion.value[:, 3:] + bias - samples.values,
            q=None if motion.q is None else motion.q[:, 3:],
            v=None if motion.v is None else motion.v[:, 3:],
            parameters=np.broadcast_to(np.eye(3), (len(samples), 3, 3)) if len(self.parameters) else None,
            reading=-np.eye(3),
        )
        return raw.whiten(np.broadcast_to(samples.weights[:, None] / self.sigma, (len(samples), 3)))


def gyroscope(robot: Robot, config: GyroscopeConfig) -> Gyroscope:
    """The gyroscope of a robot.

    Raises:
        RobotError: the link is unknown or does not move.
    """
    bias = StaticParameter("gyroscope.bias", "rad/s", np.zeros(3), np.full(3, config.bias_sigma))
    return Gyroscope(
        SensorFrame(robot, config.link or robot.imu), config.sigma, (bias,) if config.estimate_bias else ()
    )
