# SPDX-License-Identifier: Apache-2.0
"""Joint encoders: the joint positions, unwrapped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.robots import Robot
from sysid_nodes.sensors.sensor import Array, Linearisation, States, StaticParameter
from sysid_nodes.signals.channel_config import ChannelConfig, ValueKind
from sysid_nodes.signals.samples import Samples


@dataclass(frozen=True)
class JointPositionConfig(ChannelConfig):
    """Joint encoders."""

    largest: float = option(100.0, "a reading with a larger component is garbage", unit="rad", minimum=0.0)
    sigma: float = option(1e-3, "standard deviation of a joint's position", unit="rad", minimum=1e-9)


@dataclass(frozen=True)
class JointPosition:
    """Reading: n joint positions [rad or m] in the robot's order.

    Attributes:
        sigma: (n,) standard deviation, encoder steps included.
        nv: length of the state's tangent.
    """

    sigma: Array
    nv: int
    name: str = "joint_position"
    kind: ValueKind = ValueKind.VECTOR
    parameters: tuple[StaticParameter, ...] = ()

    @property
    def width(self) -> int:
        """Numbers in a reading."""
        return len(self.sigma)

    @property
    def rows(self) -> int:
        """Numbers in a residual."""
        return len(self.sigma)

    def residual(self, samples: Samples, states: States, _parameters: Array) -> Array:
        """(K, n) whitened: predicted less measured joint positions."""
        return (states.q[:, -self.rows :] - samples.values) * (samples.weights[:, None] / self.sigma)

    def linearise(self, samples: Samples, states: States, parameters: Array) -> Linearisation:
        """The residual and its Jacobian with respect to q."""
        scale = samples.weights[:, None] / self.sigma
        by_q = np.eye(self.nv)[-self.rows :]
        return Linearisation(self.residual(samples, states, parameters), q=scale[:, :, None] * by_q)


def joint_position(robot: Robot, config: JointPositionConfig) -> JointPosition:
    """The encoders of a robot; rounding to a step is noise of step / sqrt(12)."""
    return JointPosition(np.sqrt(config.sigma**2 + robot.encoder_step**2 / 12.0), robot.model.nv)
