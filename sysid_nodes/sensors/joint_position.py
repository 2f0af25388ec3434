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
    offset_sigma: float = option(
        0.01,
        "prior standard deviation of every encoder's constant offset, which is then estimated; 0: none",
        unit="rad",
        minimum=0.0,
    )


@dataclass(frozen=True)
class JointPosition:
    """Reading: n joint positions plus the encoders' offsets [rad or m] in the robot's order.

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

    def residual(self, samples: Samples, states: States, parameters: Array) -> Array:
        """(K, n) whitened: predicted less measured joint positions."""
        offset = parameters if self.parameters else 0.0
        return (states.q[:, -self.rows :] + offset - samples.values) * (samples.weights[:, None] / self.sigma)

    def linearise(self, samples: Samples, states: States, parameters: Array) -> Linearisation:
        """The residual and its Jacobian with respect to q and to the offsets."""
        rows = (samples.weights[:, None] / self.sigma)[:, :, None]
        by_q, by_offset = rows * np.eye(self.nv)[-self.rows :], rows * np.eye(self.rows)
        residual = self.residual(samples, states, parameters)
        return Linearisation(residual, q=by_q, parameters=by_offset if self.parameters else None)


def joint_position(robot: Robot, config: JointPositionConfig) -> JointPosition:
    """The encoders of a robot; rounding to a step is noise of step / sqrt(12)."""
    offset = StaticParameter("joint_position.offset", "rad", np.zeros(robot.n), np.full(robot.n, config.offset_sigma))
    return JointPosition(
        np.sqrt(config.sigma**2 + robot.encoder_step**2 / 12.0),
        robot.model.nv,
        parameters=(offset,) if config.offset_sigma > 0.0 else (),
    )
