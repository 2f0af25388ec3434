# SPDX-License-Identifier: Apache-2.0
"""Accelerometer: specific force at the link that carries it, in the sensor's axes, with a constant bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.models import rotations
from sysid_nodes.robots import Robot
from sysid_nodes.sensors.frame_motion import Pose, SensorFrame
from sysid_nodes.sensors.late import LateConfig
from sysid_nodes.sensors.sensor import Array, Linearisation, States, StaticParameter
from sysid_nodes.signals.channel_config import WINDOWS, ValueKind, Window
from sysid_nodes.signals.samples import Samples


@dataclass(frozen=True)
class AccelerometerConfig(LateConfig):
    """Accelerometer."""

    largest: float = option(500.0, "a reading with a larger component is garbage", unit="m/s2", minimum=0.0)
    averaged: bool = option(
        True, "whether a reading is the mean since the reading before it, not the value at its stamp"
    )
    window: str = option(Window.AROUND.value, "part of the signal that a step takes", choices=WINDOWS)
    link: str = option("", "URDF link that carries it; empty for the robot's IMU link")
    sigma: float = option(0.3, "standard deviation of a component", unit="m/s2", minimum=1e-9)
    estimate_bias: bool = option(True, "whether its constant bias is estimated")
    bias_sigma: float = option(0.2, "prior standard deviation of the bias about zero", unit="m/s2", minimum=1e-9)


@dataclass(frozen=True)
class Accelerometer:
    """Reading: 3 components [m/s2] of the link's acceleration less gravity, in the link's axes, plus the bias.

    With (v, w) the link's velocity and a its spatial acceleration, all in the link's axes, and R its orientation, it is
    a + w x v - R' g + bias: at rest it reads +9.81 upwards. An estimator with a_k = (v_{k+1} - v_k) / dt should pass
    the mean of the two velocities as v, whose time is that of a_k.

    Attributes:
        gravity: (3,) in the world [m/s2].
        sigma: standard deviation [m/s2].
    """

    frame: SensorFrame
    gravity: Array
    sigma: float
    parameters: tuple[StaticParameter, ...]
    name: str = "accelerometer"
    kind: ValueKind = ValueKind.VECTOR
    width: int = 3
    rows: int = 3

    def residual(self, samples: Samples, states: States, parameters: Array) -> Array:
        """(K, 3) whitened."""
        velocity = self.frame.velocity(states).value
        acceleration = self.frame.acceleration(states, states.require("a", self.name)).value
        raw = self._error(samples, velocity, acceleration, self._gravity(self.frame.pose(states)), parameters)
        return np.asarray(raw * (samples.weights[:, None] / self.sigma))

    def linearise(self, samples: Samples, states: States, parameters: Array) -> Linearisation:
        """The residual and its Jacobians with respect to q, v, a and the bias."""
        pose, velocity = self.frame.pose(states), self.frame.velocity(states)
        acceleration = self.frame.acceleration(states, states.require("a", self.name))
        linear, angular = velocity.value[:, :3], velocity.value[:, 3:]
        gravity = self._gravity(pose)
        # d(w x v) = [w] dv - [v] dw; d(R' g) = [R' g] phi for R Exp(phi)
        product = np.concatenate([rotations.skew(angular), -rotations.skew(linear)], axis=2)
        by_q = -rotations.skew(gravity) @ pose.jacobian[:, 3:]
        by_v = product @ velocity.v
        if velocity.q is not None and acceleration.q is not None and acceleration.v is not None:
            by_q = by_q + product @ velocity.q + acceleration.q[:, :3]
            by_v = by_v + acceleration.v[:, :3]
        raw = Linearisation(
            self._error(samples, velocity.value, acceleration.value, gravity, parameters),
            q=by_q,
            v=by_v,
            a=None if acceleration.a is None else acceleration.a[:, :3],
            parameters=np.broadcast_to(np.eye(3), (len(samples), 3, 3)) if len(self.parameters) else None,
            reading=-np.eye(3),
        )
        return raw.whiten(np.broadcast_to(samples.weights[:, None] / self.sigma, (len(samples), 3)))

    def _gravity(self, pose: Pose) -> Array:
        """(K, 3) in the link's axes."""
        return np.asarray(self.gravity @ rotations.quaternion_matrix(pose.quaternion))

    def _error(
        self, samples: Samples, velocity: Array, acceleration: Array, gravity: Array, parameters: Array
    ) -> Array:
        """(K, 3) predicted less measured."""
        turning = rotations.cross(velocity[:, 3:], velocity[:, :3])
        bias = parameters if len(self.parameters) else 0.0
        return np.asarray(acceleration[:, :3] + turning - gravity + bias - samples.values)


def accelerometer(robot: Robot, config: AccelerometerConfig) -> Accelerometer:
    """The accelerometer of a robot.

    Raises:
        RobotError: the link is unknown or does not move.
    """
    bias = StaticParameter("accelerometer.bias", "m/s2", np.zeros(3), np.full(3, config.bias_sigma))
    return Accelerometer(
        SensorFrame(robot, config.link or robot.imu),
        np.array(robot.model.gravity.linear),
        config.sigma,
        (bias,) if config.estimate_bias else (),
    )
