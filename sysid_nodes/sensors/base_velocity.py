# SPDX-License-Identifier: Apache-2.0
"""Linear velocity of a link, as odometry or a vendor's own estimator publishes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.models import rotations
from sysid_nodes.robots import Robot
from sysid_nodes.sensors.frame_motion import SensorFrame
from sysid_nodes.sensors.late import LateConfig
from sysid_nodes.sensors.sensor import Array, Linearisation, States, StaticParameter
from sysid_nodes.signals.channel_config import ValueKind
from sysid_nodes.signals.samples import Samples


@dataclass(frozen=True)
class BaseVelocityConfig(LateConfig):
    """Linear velocity from odometry. Do not use one that was differentiated from a position used as well.

    The axes are those of the readings, whatever frame their messages name.
    """

    enabled: bool = option(False, "whether the stream is used")
    rate: float = option(50.0, "rate that the stream should have", unit="Hz", minimum=0.1, maximum=1e5)
    max_gap: float = option(
        0.1, "readings farther apart are not connected: steps in between go without", unit="s", minimum=1e-4
    )
    largest: float = option(50.0, "a reading with a larger component is garbage", unit="m/s", minimum=0.0)
    link: str = option("", "URDF link whose origin's velocity it is; empty for the floating base")
    axes: str = option("body", "axes that the velocity is given in", choices=("body", "world"))
    sigma: float = option(0.1, "standard deviation of a component", unit="m/s", minimum=1e-9)


@dataclass(frozen=True)
class BaseVelocity:
    """Reading: 3 components [m/s] of the velocity of a link's origin, in the link's axes or the world's.

    Attributes:
        in_world: whether the axes are the world's.
        sigma: standard deviation [m/s].
    """

    frame: SensorFrame
    in_world: bool
    sigma: float
    parameters: tuple[StaticParameter, ...] = ()
    name: str = "base_velocity"
    kind: ValueKind = ValueKind.VECTOR
    width: int = 3
    rows: int = 3

    def residual(self, samples: Samples, states: States, parameters: Array) -> Array:
        """(K, 3) whitened."""
        return self.linearise(samples, states, parameters).residual

    def linearise(self, samples: Samples, states: States, _parameters: Array) -> Linearisation:
        """The residual and its Jacobians with respect to q and v."""
        motion = self.frame.velocity(states)
        value = motion.value[:, :3]
        by_q = None if motion.q is None else motion.q[:, :3]
        by_v = None if motion.v is None else motion.v[:, :3]
        if self.in_world:
            pose = self.frame.pose(states)
            turn = rotations.quaternion_matrix(pose.quaternion)
            turned = -rotations.skew(value) @ pose.jacobian[:, 3:]  # d(R u) = R (du - [u] phi) for R Exp(phi)
            by_q = turn @ (turned if by_q is None else turned + by_q)
            by_v = None if by_v is None else turn @ by_v
            value = np.einsum("kij,kj->ki", turn, value)
        raw = Linearisation(value - samples.values, q=by_q, v=by_v, reading=-np.eye(3))
        return raw.whiten(np.broadcast_to(samples.weights[:, None] / self.sigma, (len(samples), 3)))


def base_velocity(robot: Robot, config: BaseVelocityConfig) -> BaseVelocity:
    """The velocity readings of a robot.

    Raises:
        RobotError: the link is unknown or does not move.
    """
    return BaseVelocity(SensorFrame(robot, config.link), config.axes == "world", config.sigma)
