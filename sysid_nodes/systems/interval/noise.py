# SPDX-License-Identifier: Apache-2.0
"""Bounds on the measurement errors, one number a joint: what every error radius starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.known_robot import per_joint
from sysid_nodes.systems.interval.config import NoiseConfig

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """`NoiseConfig` spread over the joints; every array is (n,).

    ``hold``: torque is constant between two stamps; ``until``: as the later one's reading says, not the earlier one's.
    """

    torque_relative: Array
    torque_absolute: Array
    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    torque_rate: Array
    stamp: float
    hold: bool
    itemised: bool
    until: bool = False

    @classmethod
    def from_config(cls, config: NoiseConfig, n: int, encoder_step: Array) -> Noise:
        """Spreads single numbers over n joints and fills in half an encoder step where no error is given."""
        position = per_joint(config.position_error, n, "noise.position_error")
        return cls(
            torque_relative=per_joint(config.torque_relative, n, "noise.torque_relative"),
            torque_absolute=per_joint(config.torque_absolute, n, "noise.torque_absolute"),
            position=np.where(position > 0.0, position, 0.5 * encoder_step),
            velocity=per_joint(config.velocity_error, n, "noise.velocity_error"),
            acceleration=per_joint(config.acceleration, n, "noise.acceleration"),
            jerk=per_joint(config.jerk, n, "noise.jerk"),
            torque_rate=per_joint(config.torque_rate, n, "noise.torque_rate"),
            stamp=config.stamp_error,
            hold=config.torque_interpolation in ("hold", "until"),
            itemised=config.model == "itemised",
            until=config.torque_interpolation == "until",
        )
