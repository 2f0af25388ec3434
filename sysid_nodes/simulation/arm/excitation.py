# SPDX-License-Identifier: Apache-2.0
"""Exciting motions: finite Fourier series that start and end at rest.

The class is that of Swevers et al. (1997): a truncated Fourier series a joint, smooth to every order and periodic. Two
linear conditions on its coefficients put the joint at rest (velocity and acceleration zero) at the ends of each period.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import JointLimits
from sysid_nodes.robots.robot import Array


class JointReference(NamedTuple):
    """Position, velocity and acceleration, each (N, n) for N times or (n,) for one [rad, rad/s, rad/s2]."""

    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True)
class FourierTrajectory:
    """q_j(t) = centre_j + sum_l sine_jl sin(l w t) + cosine_jl cos(l w t), l = 1..L, w = 2 pi / period.

    Attributes:
        period: [s]; the motion repeats, and rests where periods meet.
        centre: (n,) [rad].
        sine, cosine: (n, L) [rad].

    Raises:
        ConfigError: the period is not positive or shapes differ.
    """

    period: float
    centre: Array
    sine: Array
    cosine: Array

    def __post_init__(self) -> None:
        if not (np.isfinite(self.period) and self.period > 0.0):
            raise ConfigError(f"the period must be positive, got {self.period:g} s")
        if self.sine.shape != self.cosine.shape or self.sine.shape[:1] != self.centre.shape:
            raise ConfigError(
                f"coefficients of shapes {self.sine.shape}, {self.cosine.shape} do not fit {self.centre.size} joints"
            )

    def __call__(self, t: float | npt.ArrayLike) -> JointReference:
        """The motion at one or many times [s]."""
        frequency = 2.0 * np.pi / self.period * np.arange(1, self.sine.shape[1] + 1)
        phase = np.multiply.outer(np.asarray(t, dtype=np.float64), frequency)
        sin, cos = np.sin(phase), np.cos(phase)
        q = self.centre + sin @ self.sine.T + cos @ self.cosine.T
        qd = (cos * frequency) @ self.sine.T - (sin * frequency) @ self.cosine.T
        qdd = -(sin * frequency**2) @ self.sine.T - (cos * frequency**2) @ self.cosine.T
        return JointReference(q, qd, qdd)


def at_rest(sine: Array, cosine: Array) -> tuple[Array, Array]:
    """The nearest coefficients (n, L) whose series has no velocity and no acceleration at t = 0.

    Velocity at 0 is proportional to sum_l l sine_l, acceleration to sum_l l^2 cosine_l.
    """
    order = np.arange(1, sine.shape[1] + 1, dtype=np.float64)
    square = order**2
    return (
        sine - np.outer(sine @ order, order) / (order @ order),
        cosine - np.outer(cosine @ square, square) / (square @ square),
    )


def limit_use(trajectory: FourierTrajectory, limits: JointLimits, *, samples: int = 2001) -> dict[str, Array]:
    """How much of each limit the motion uses, (n,) each: 1 is all of it.

    ``position`` counts from the middle of the joint's range; it is 0 for a joint without limits.
    """
    motion = trajectory(np.linspace(0.0, trajectory.period, samples))
    bounded = np.isfinite(limits.position_upper) & np.isfinite(limits.position_lower)
    upper, lower = np.where(bounded, limits.position_upper, np.inf), np.where(bounded, limits.position_lower, -np.inf)
    middle = np.where(bounded, 0.5 * (np.nan_to_num(upper) + np.nan_to_num(lower)), 0.0)
    half = 0.5 * (upper - lower)
    return {
        "position": np.abs(motion.q - middle).max(axis=0) / half,
        "velocity": np.abs(motion.qd).max(axis=0) / limits.velocity,
        "acceleration": np.abs(motion.qdd).max(axis=0) / limits.acceleration,
    }


def check_limits(trajectory: FourierTrajectory, limits: JointLimits) -> None:
    """Raises ConfigError if the motion is for another number of joints or leaves a limit of theirs."""
    if trajectory.centre.size != limits.velocity.size:
        raise ConfigError(
            f"the trajectory is for {trajectory.centre.size} joints, the robot has {limits.velocity.size}"
        )
    for quantity, use in limit_use(trajectory, limits).items():
        if (worst := int(np.argmax(use))) >= 0 and use[worst] > 1.0:
            raise ConfigError(f"the trajectory takes joint {worst + 1} to {use[worst]:.2f} times its {quantity} limit")
