# SPDX-License-Identifier: Apache-2.0
"""The force and moment that bring a body to its reference: PD with feed-forward and a slow integral."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio

from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.legged.kinematics import Kinematics

_GRAVITY = 9.81
_LIFT_LIMIT = 6.0  # of the integral: 60 % of the nominal weight [m/s2]
_TURN_LIMIT = 80.0  # [rad/s2]


@dataclass(frozen=True)
class BodyReference:
    """Desired motion of the base; everything in the world frame.

    Attributes:
        position, velocity, acceleration: (3,) [m, m/s, m/s2].
        rpy, rates: (3,) roll, pitch, yaw [rad] and their rates [rad/s].
    """

    position: Array
    velocity: Array
    acceleration: Array
    rpy: Array
    rates: Array


@dataclass(frozen=True)
class BodyGains:
    """Gains on position, velocity, orientation, angular velocity and on the integral of height and tilt."""

    position: float
    velocity: float
    rotation: float
    rate: float
    integral: float


class BodyWrench:
    """Keeps the integral, which finds the weight and the moment of a payload that the nominal model lacks.

    Args:
        gains: see BodyGains.
        mass: nominal, of the whole robot [kg].
        inertia: (3,) nominal principal moments about its centre of mass [kg m2].
        period: between calls [s].
    """

    def __init__(self, gains: BodyGains, mass: float, inertia: Array, *, period: float) -> None:
        self._gains, self._mass, self._inertia, self._period = gains, mass, inertia, period
        self._lift = 0.0
        self._turn = np.zeros(3)

    def __call__(self, reference: BodyReference, now: Kinematics) -> Array:
        """(6,) wanted force and moment about the centre of mass, in the world [N, N m]."""
        gains = self._gains
        error = reference.position - now.position
        wanted = pinocchio.rpy.rpyToMatrix(reference.rpy)
        tilt = pinocchio.log3(wanted @ now.rotation.T)
        world = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
        angular = pinocchio.rpy.computeRpyJacobian(reference.rpy, world) @ reference.rates
        step = gains.integral * self._period
        self._lift = min(max(self._lift + step * float(error[2]), -_LIFT_LIMIT), _LIFT_LIMIT)
        self._turn[:2] = np.clip(self._turn[:2] + step * tilt[:2], -_TURN_LIMIT, _TURN_LIMIT)
        linear = reference.acceleration + gains.position * error + gains.velocity * (reference.velocity - now.velocity)
        linear[2] += _GRAVITY + self._lift
        turn = gains.rotation * tilt + gains.rate * (angular - now.angular) + self._turn
        return np.concatenate([self._mass * linear, now.rotation @ (self._inertia * (now.rotation.T @ turn))])
