# SPDX-License-Identifier: Apache-2.0
"""The stages of the Go2's hop: crouch, push, flight, landing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.legged.body_wrench import BodyReference
from sysid_nodes.simulation.legged.kinematics import Kinematics, heading_rotation, smooth_step

_CROUCH_TIME, _CROUCH_HOLD = 0.26, 0.02
_LANDING_TIME = 0.28
_LANDING_SETTLE = 0.07  # time constant with which the height returns to the standing one
_FLIGHT_AT_LEAST, _FLIGHT_AT_MOST = 0.06, 0.8
_ONE_HOP = 0.7  # no new hop is begun with less time left [s]


@dataclass(frozen=True)
class HopShape:
    """Heights of the base and speed at take-off.

    Attributes:
        stand, crouch, extend: base height when standing, before the push and at take-off [m].
        speed: vertical, at take-off [m/s].
    """

    stand: float
    crouch: float
    extend: float
    speed: float


class Hop:
    """One hop after the other, for as long as ``step`` is called.

    Args:
        shape: heights and speed.
        anchor: (3,) x, y [m] and yaw [rad] to start from.
        height: of the base at the start [m].
    """

    def __init__(self, shape: HopShape, anchor: Array, height: float) -> None:
        self._shape, self._anchor = shape, anchor.copy()
        self._stage, self._clock, self._from = "crouch", 0.0, height

    @property
    def flying(self) -> bool:
        """Whether the feet are to be placed for landing rather than loaded."""
        return self._stage == "flight"

    @property
    def just_landed(self) -> bool:
        """Whether feet that are not on the ground yet should go on reaching for it."""
        return self._stage == "land" and self._clock < 0.05

    def step(
        self, period: float, velocity: Array, remaining: float, now: Kinematics, touching: npt.NDArray[np.bool_]
    ) -> BodyReference:
        """Moves on by one period.

        Args:
            period: [s].
            velocity: (3,) horizontal, of the flight, in the body's heading [m/s].
            remaining: time that is left for hopping [s].
            touching: (4,) feet on the ground.
        """
        self._clock += period
        shape, clock = self._shape, self._clock
        rise = shape.extend - shape.crouch
        push_time, push = 2.0 * rise / shape.speed, shape.speed**2 / (2.0 * rise)
        along = heading_rotation(self._anchor[2]) @ velocity
        position, speed, acceleration = np.array([*self._anchor[:2], shape.stand]), np.zeros(3), np.zeros(3)
        if self._stage == "crouch":
            blend, slope, _ = smooth_step(clock / _CROUCH_TIME)
            position[2] = self._from + (shape.crouch - self._from) * blend
            speed[2] = (shape.crouch - self._from) * slope / _CROUCH_TIME
            if clock >= _CROUCH_TIME + _CROUCH_HOLD:
                self._next("push")
        elif self._stage == "push":
            acceleration = along / push_time + np.array([0.0, 0.0, push])
            speed = acceleration * min(clock, push_time)
            position[2] = shape.crouch
            position += 0.5 * speed * min(clock, push_time)
            if clock >= push_time or now.position[2] > shape.extend:
                self._next("flight")
        elif self._stage == "flight":
            falling = now.velocity[2] < 0.0
            if clock > _FLIGHT_AT_LEAST and ((falling and touching.any()) or clock > _FLIGHT_AT_MOST):
                self._next("land")
                self._from = float(now.position[2])
        else:
            self._anchor[:2] = now.feet[:, :2].mean(axis=0)
            position[:2] = self._anchor[:2]
            position[2] += (self._from - shape.stand) * np.exp(-clock / _LANDING_SETTLE)
            if clock >= _LANDING_TIME and remaining > _ONE_HOP:
                self._from = float(now.position[2])
                self._next("crouch")
        rpy = np.array([0.0, 0.0, self._anchor[2]])
        return BodyReference(position, speed, acceleration, rpy, np.zeros(3))

    def _next(self, stage: str) -> None:
        self._stage, self._clock = stage, 0.0
