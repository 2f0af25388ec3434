# SPDX-License-Identifier: Apache-2.0
"""Orientation from an IMU's filter: roll and pitch hang on gravity, the heading drifts and has its own zero."""

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

_SMALL = 1e-4
"""Sine of the tilt error below which series are used."""

_UPSIDE_DOWN = 1e-3
"""Closer than this to a tilt error of pi [rad] its direction is hardly defined; the Jacobian is bounded there."""


@dataclass(frozen=True)
class ImuOrientationConfig(LateConfig):
    """Orientation from an IMU."""

    link: str = option("", "URDF link that carries it; empty for the robot's IMU link")
    tilt_sigma: float = option(0.02, "standard deviation of roll and pitch", unit="rad", minimum=1e-9)
    heading_sigma: float = option(
        0.2, "standard deviation of the heading, its drift included", unit="rad", minimum=1e-9
    )
    estimate_heading: bool = option(True, "whether the heading of the IMU's zero is estimated")
    heading_zero_sigma: float = option(
        3.0, "prior standard deviation of that heading about zero", unit="rad", minimum=1e-9
    )


@dataclass(frozen=True)
class ImuOrientation:
    """Reading: quaternion x, y, z, w from the sensor's link to the IMU's own world, which the heading turns from ours.

    Residual: the angle between the two vertical axes as a horizontal vector (2 rows, blind to any heading), then the
    turn about the vertical (1 row). Both are angles, exact for large errors.

    Attributes:
        sigma: (3,) standard deviations [rad].
    """

    frame: SensorFrame
    sigma: Array
    parameters: tuple[StaticParameter, ...]
    name: str = "imu_orientation"
    kind: ValueKind = ValueKind.ROTATION
    width: int = 4
    rows: int = 3

    def residual(self, samples: Samples, states: States, parameters: Array) -> Array:
        """(K, 3) whitened."""
        return self.linearise(samples, states, parameters).residual

    def linearise(self, samples: Samples, states: States, parameters: Array) -> Linearisation:
        """The residual and its Jacobians with respect to q and the heading."""
        pose = self.frame.pose(states)
        turn = rotations.quaternion_matrix(pose.quaternion)
        tilt, tilt_by_body = _tilt(rotations.quaternion_matrix(samples.values), turn[:, 2])
        heading, heading_by_world = _heading_error(
            rotations.quaternion_product(pose.quaternion, rotations.quaternion_inverse(samples.values))
        )
        zero = parameters[0] if len(self.parameters) else 0.0
        by_body = np.concatenate([tilt_by_body, heading_by_world[:, None] @ turn], axis=1)
        by_zero = np.broadcast_to(np.array([[0.0], [0.0], [1.0]]), (len(samples), 3, 1))
        raw = Linearisation(
            np.column_stack([tilt, np.remainder(heading + zero + np.pi, 2.0 * np.pi) - np.pi]),
            q=by_body @ pose.jacobian[:, 3:],
            parameters=by_zero if len(self.parameters) else None,
            reading=-by_body,
        )
        return raw.whiten(samples.weights[:, None] / self.sigma)


def _tilt(measured: Array, up: Array) -> tuple[Array, Array]:
    """Tilt error (K, 2) and its Jacobian (K, 2, 3) by a small rotation of the predicted frame in its own axes.

    d = R_measured R_predicted' e_z is where the IMU's world sees the predicted vertical. The error points along d's
    horizontal part, of length s, and is as long as the angle t between d and e_z: (t / s) (d_x, d_y). As |d| = 1,
    d(t / s) = (t d_z - s) / s^3 d(d_z).
    """
    d = np.einsum("kij,kj->ki", measured, up)
    flat, height = d[:, :2], d[:, 2]
    sine = np.linalg.norm(flat, axis=1)
    small = (sine < _SMALL) & (height > 0.0)
    safe = np.maximum(sine, np.where(height > 0.0, _SMALL, _UPSIDE_DOWN))
    angle = np.arctan2(sine, height)
    factor = np.where(small, 1.0 + sine**2 / 6.0, angle / safe)
    slope = np.where(small, -1.0 / 3.0, (angle * height - safe) / safe**3)
    d_by_body = measured @ rotations.skew(up)  # d(R' e_z) = [R' e_z] phi for R Exp(phi)
    by_body = factor[:, None, None] * d_by_body[:, :2] + (slope[:, None] * flat)[:, :, None] * d_by_body[:, 2:]
    # Exactly upside down any direction is right; none would be a false minimum.
    direction = np.where(sine[:, None] > 1e-12, flat / np.maximum(sine, 1e-12)[:, None], np.array([1.0, 0.0]))
    return np.where(small[:, None], factor[:, None] * flat, angle[:, None] * direction), by_body


def _heading_error(error: Array) -> tuple[Array, Array]:
    """The turn about the vertical (K,) in a rotation error (K, 4), and its gradient (K, 3) by a small world rotation.

    The twist of the swing-twist decomposition, 2 atan2(z, w): unlike a yaw angle it has no trouble at 90 degrees of
    pitch, and is undefined only where the tilt error is 180 degrees.
    """
    x, y, z, w = error.T
    norm = np.maximum(z * z + w * w, _UPSIDE_DOWN**2)
    gradient = np.column_stack([(w * y + z * x) / norm, (z * y - w * x) / norm, np.ones(len(error))])
    return 2.0 * np.arctan2(z, w), gradient


def imu_orientation(robot: Robot, config: ImuOrientationConfig) -> ImuOrientation:
    """The orientation filter of a robot's IMU.

    Raises:
        RobotError: the link is unknown or does not move.
    """
    zero = StaticParameter("imu_orientation.heading", "rad", np.zeros(1), np.full(1, config.heading_zero_sigma))
    return ImuOrientation(
        SensorFrame(robot, config.link or robot.imu),
        np.array([config.tilt_sigma, config.tilt_sigma, config.heading_sigma]),
        (zero,) if config.estimate_heading else (),
    )
