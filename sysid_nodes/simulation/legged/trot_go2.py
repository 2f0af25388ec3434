# SPDX-License-Identifier: Apache-2.0
"""The Go2's trot: which feet are on the ground, and where the others go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.legged.kinematics import Kinematics, bump, heading_rotation, smooth_step

_PAIRS = np.array([0.0, 0.5, 0.5, 0.0])  # stride offsets of FL, FR, RL, RR
_SPEED_CORRECTION = 0.12  # Raibert's foothold gain [s]
_LOADING = 0.1  # part of the stance over which a foot is loaded, and unloaded
_REGULARISATION = 1e-3
_EARLY = 0.6  # part of a swing after which touching the ground ends it
_PRESS = 0.002  # the swing aims this far into the ground, so that the foot does meet it [m]

STANCE = np.array([[0.1934, 0.142], [0.1934, -0.142], [-0.1934, 0.142], [-0.1934, -0.142]])
"""(4, 2) feet below the hips, in the base's heading frame: hip positions and thigh offsets of the URDF [m]."""


@dataclass(frozen=True)
class Stride:
    """Period [s], part of it that a foot is on the ground, and height of the swing [m]."""

    period: float
    duty: float
    lift: float


@dataclass(frozen=True)
class TrotStep:
    """State of the feet at one time.

    Attributes:
        stance: (4,) feet that carry.
        regularisation: (4,) for the force distribution; large near touch-down and lift-off.
        targets: (3, 3) for each foot in the air: wanted position, velocity and acceleration.
    """

    stance: npt.NDArray[np.bool_]
    regularisation: Array
    targets: dict[int, Array]


class Trot:
    """Diagonal pairs by the clock.

    Args:
        stride: timing and height.
        radius: of a foot [m].
    """

    def __init__(self, stride: Stride, radius: float) -> None:
        self._stride, self._radius = stride, radius
        self._lift_off: dict[int, Array] = {}

    @property
    def swinging(self) -> bool:
        """Whether a foot was in the air at the last step."""
        return bool(self._lift_off)

    def step(self, clock: float, command: Array, now: Kinematics, touching: npt.NDArray[np.bool_]) -> TrotStep:
        """The feet at a time since the trot's start, with the body commanded to go at ``command`` (3,) [m/s]."""
        stride = self._stride
        progress = np.mod(clock / stride.period + _PAIRS, 1.0)
        swing = (progress - stride.duty) / (1.0 - stride.duty)
        stance = (swing <= 0.0) | ((swing > _EARLY) & touching)
        edge = np.clip(np.minimum(progress, stride.duty - progress) / (stride.duty * _LOADING), 0.05, 1.0)
        for foot in np.flatnonzero(stance):
            self._lift_off.pop(int(foot), None)
        targets = {
            int(foot): self._swing_motion(int(foot), float(swing[foot]), command, now)
            for foot in np.flatnonzero(~stance)
        }
        return TrotStep(stance, _REGULARISATION / edge**2, targets)

    def _swing_motion(self, foot: int, s: float, command: Array, now: Kinematics) -> Array:
        stride = self._stride
        duration, stance_time = stride.period * (1.0 - stride.duty), stride.period * stride.duty
        start = self._lift_off.setdefault(foot, now.feet[foot].copy())
        hip = now.position + heading_rotation(now.yaw) @ np.array([*STANCE[foot], 0.0])
        # Where the hip will be at touch-down, half a stance ahead of it, and a correction of the speed.
        ahead = (1.0 - s) * duration + 0.5 * stance_time
        target = hip + ahead * now.velocity + _SPEED_CORRECTION * (now.velocity - command)
        target[2] = self._radius - _PRESS
        scale = np.array([1.0, 1.0 / duration, 1.0 / duration**2])[:, None]
        motion: Array = scale * np.outer(smooth_step(s), target - start)
        motion[:, 2] += stride.lift * scale[:, 0] * bump(s)
        motion[0] += start
        return motion
