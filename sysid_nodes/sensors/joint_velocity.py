# SPDX-License-Identifier: Apache-2.0
"""Joint velocities as the motor drivers give them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.robots import Robot
from sysid_nodes.sensors.sensor import Array, Linearisation, States, StaticParameter
from sysid_nodes.signals.channel_config import WINDOWS, ChannelConfig, ValueKind, Window
from sysid_nodes.signals.samples import Samples


@dataclass(frozen=True)
class JointVelocityConfig(ChannelConfig):
    """Joint velocities."""

    largest: float = option(200.0, "a reading with a larger component is garbage", unit="rad/s", minimum=0.0)
    window: str = option(Window.BEFORE.value, "part of the signal that a step takes", choices=WINDOWS)
    sigma: float = option(0.05, "standard deviation of a joint's velocity", unit="rad/s", minimum=1e-9)


@dataclass(frozen=True)
class JointVelocity:
    """Reading: n joint velocities [rad/s or m/s] in the robot's order.

    Attributes:
        joints: n.
        sigma: standard deviation.
        nv: length of the state's tangent.
    """

    joints: int
    sigma: float
    nv: int
    name: str = "joint_velocity"
    kind: ValueKind = ValueKind.VECTOR
    parameters: tuple[StaticParameter, ...] = ()

    @property
    def width(self) -> int:
        """Numbers in a reading."""
        return self.joints

    @property
    def rows(self) -> int:
        """Numbers in a residual."""
        return self.joints

    def residual(self, samples: Samples, states: States, _parameters: Array) -> Array:
        """(K, n) whitened: predicted less measured joint velocities."""
        return (states.v[:, -self.rows :] - samples.values) * (samples.weights[:, None] / self.sigma)

    def linearise(self, samples: Samples, states: States, parameters: Array) -> Linearisation:
        """The residual and its Jacobian with respect to v."""
        scale = samples.weights[:, None, None] / self.sigma
        return Linearisation(self.residual(samples, states, parameters), v=scale * np.eye(self.nv)[-self.rows :])


def joint_velocity(robot: Robot, config: JointVelocityConfig) -> JointVelocity:
    """The velocity readings of a robot."""
    return JointVelocity(robot.n, config.sigma, robot.model.nv)
