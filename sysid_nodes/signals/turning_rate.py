# SPDX-License-Identifier: Apache-2.0
"""Turning rate of a body, from its orientations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def turning_rate(times: Array, quaternions: Array, *, apart: int = 1) -> tuple[Array, Array]:
    """Mean angular velocity between orientations, in the body's axes.

    Args:
        times: (N,) increasing [s].
        quaternions: (N, 4) x, y, z, w, body to world, of either sign.
        apart: readings from one orientation to the other; more of them make the rate less noisy and slower. A tenth of
            a second serves for motion capture.

    Returns:
        (N-apart,) times in the middle [s] and (N-apart, 3) angular velocities [rad/s].
    """
    before, after = quaternions[:-apart], quaternions[apart:]
    u, s, v, t = before[:, :3], before[:, 3:], after[:, :3], after[:, 3:]
    vector = s * v - t * u - np.cross(u, v)  # of the quaternion that turns the first into the second
    scalar = s * t + np.sum(u * v, axis=1, keepdims=True)
    vector = np.where(scalar < 0.0, -vector, vector)
    sine = np.linalg.norm(vector, axis=1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, np.abs(scalar))
    scale = np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 2.0)
    return 0.5 * (times[apart:] + times[:-apart]), scale * vector / (times[apart:] - times[:-apart])[:, None]
