# SPDX-License-Identifier: Apache-2.0
"""Bounds on the measurement errors, one number a joint: what every error radius starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_vector import Numbers
from sysid_nodes.models.known_robot import per_joint
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.interval.config import NoiseConfig

Array = npt.NDArray[np.float64]

_WHOLE = 1.6
"""Longest step that lacks no sample, in periods: a missing one makes 2, a driver's jitter most often less than this."""

_CALIBRATED = 2.5
"""Longest step that a radius found by calibration stands for, in periods: of the 0.2 s windows of real logs up to 43 %
lack single samples, those of the calibration too, and up to 5 % more."""


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
    torque_curvature: Array
    stamp: float
    hold: bool
    itemised: bool
    until: bool = False

    @property
    def longest_step(self) -> float:
        """Longest step between two samples for which the errors stand, in periods of the driver.

        Infinite where what happens between two samples is bounded whatever their distance. A torque that is held, and
        accelerations or torques' rates that may jump only at the samples, are assumptions about each sample that the
        driver has sent.
        """
        if not self.itemised:
            return _CALIBRATED
        bent = self.hold or self.torque_curvature.any() or (self.jerk > 0.0).all()
        return _WHOLE if bent else np.inf

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
            torque_curvature=per_joint(config.torque_curvature, n, "noise.torque_curvature"),
            stamp=config.stamp_error,
            hold=config.torque_interpolation in ("hold", "until"),
            itemised=config.model == "itemised",
            until=config.torque_interpolation == "until",
        )


def unread_joints(robot: Robot, torque_absolute: Numbers | Array) -> npt.NDArray[np.bool_]:
    """(n,) joints whose stated torque error [N m or N] covers whatever they can exert: nothing rests on them.

    Raises:
        ConfigError: the number of errors is neither 1 nor n.
    """
    limit = robot.limits.torque
    stated = per_joint(tuple(float(error) for error in torque_absolute), robot.n, "noise.torque_absolute")
    return np.asarray(np.isfinite(limit) & (limit > 0.0) & (stated >= limit))
