# SPDX-License-Identifier: Apache-2.0
"""Open-loop jumps of a Go2: six numbers that say how its legs extend."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.sampling_worlds import POSTURE

Array = npt.NDArray[np.float64]

_CROUCHED, _PUSH = 0.3, 0.5  # crouching ends, pushing begins [s]
_CROUCH = np.array([0.0, 1.15, -2.3])  # of a leg [rad]
_EXTENSION = np.array([0.0, -0.7, 1.5])  # of a leg whose extension is one [rad]
_FORE = np.array([1.0, -1.0, 1.0, -1.0])  # left legs push back where right ones push ahead
_SIDE = np.array([1.0, 1.0, -1.0, -1.0])  # front legs push to one side where rear ones push to the other

LOWER = np.array([0.4, 0.1, 0.4, -0.6, 0.1, -0.6])
GUESS = np.array([0.85, 0.4, 1.0, 0.0, 0.2, 0.0])
UPPER = np.array([1.3, 1.3, 1.5, 0.6, 0.28, 0.6])


def jump(time: float, numbers: Array) -> Array:
    """(B, 12) set-points at a time [s].

    Args:
        time: since the robot stood.
        numbers: (B, 6) extension of the front legs and of the rear ones, sweep of all thighs and twist of the left
            ones against the right ones [rad], how long they push [s], and sweep of the front hips against the rear
            ones [rad]. Twisted thighs alone turn a robot by 0.2 rad.
    """
    front, rear, sweep, twist, lasts, side = numbers.T
    count = len(numbers)
    crouched = np.broadcast_to(_CROUCH, (count, 4, 3))
    standing = np.broadcast_to(POSTURE.reshape(4, 3), (count, 4, 3))
    if time < _PUSH:
        part = min(time / _CROUCHED, 1.0)
        return np.asarray(standing + part * (crouched - standing)).reshape(count, 12)
    extension = np.stack([front, front, rear, rear], axis=1)
    pushed = crouched + extension[..., None] * _EXTENSION
    pushed[..., 0] += side[:, None] * _SIDE
    pushed[..., 1] += sweep[:, None] + twist[:, None] * _FORE
    pushing = (time < _PUSH + lasts)[:, None, None]
    return np.asarray(np.where(pushing, pushed, standing)).reshape(count, 12)


def attitude(quaternion: Array) -> Array:
    """(..., 3) roll, pitch and yaw [rad] of quaternions w, x, y, z (..., 4)."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    return np.stack([roll, pitch, np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))], axis=-1)
