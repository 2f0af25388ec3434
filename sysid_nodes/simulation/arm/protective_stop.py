# SPDX-License-Identifier: Apache-2.0
"""The stop that a simulated robot's own firmware makes: it needs no outer controller and listens to none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.arm.controller import ComputedTorque
from sysid_nodes.simulation.arm.excitation import JointReference

_INTEGRAL = 0.25
"""Of the bandwidth's cube; s^3 + 2 w s^2 + w^2 s + w^3 / 4 has its roots at -1.42 w and (-0.29 +- 0.30 i) w."""


@dataclass(frozen=True)
class StopConfig:
    """How the firmware stops and holds.

    From where the drive takes over, a joint strays no further than qd^2 / (2 deceleration) + 0.02 rad, then or later:
    measured, not proven (test_protective_stop). The 0.02 rad are for what an unknown payload does to the drive, and for
    a torque limit that delivers the deceleration late. On the Gen3 with 90 N m and up to 4 kg, 1 rad/s2 needs 2 mrad of
    it in random postures, and 12 mrad with joint 2 outstretched and falling. There 2 rad/s2 on joint 2 would need
    0.13 rad: what the arm's weight leaves of the torque cannot do more. The drive takes over at its first tick after
    the stop is called for; what the last command does until then comes on top.
    """

    deceleration: tuple[float, ...] = option(
        (1.0,), "of a protective stop, one for all joints or one a joint", unit="rad/s2", minimum=0.01, maximum=1000.0
    )
    bandwidth: float = option(100.0, "of the position loop", unit="rad/s", minimum=1.0, maximum=200.0)

    def decelerations(self, n: int) -> Array:
        """(n,) [rad/s2].

        Raises:
            ConfigError: there is neither one nor one a joint.
        """
        if len(self.deceleration) not in (1, n):
            raise ConfigError(f"'deceleration' must have 1 or {n} numbers, got {len(self.deceleration)}")
        return np.broadcast_to(np.array(self.deceleration), (n,)).copy()


@dataclass(frozen=True)
class StopReport:
    """A protective stop so far.

    Attributes:
        reason: why, one word as the robot publishes it.
        stamp: when the drive took over, or else when it was called for [s].
        q, speed: (n,) position and velocity then [rad, rad/s].
        travel: (n,) farthest from q since [rad].
        at_rest: whether every joint has come to rest.
    """

    reason: str
    stamp: float
    q: Array
    speed: Array
    travel: Array
    at_rest: bool


class JointServo:
    """The drive's position loop with perfect sensors: brings every joint to rest, then holds it there.

    Reference: constant deceleration from the state it is started in. Torque: inverse dynamics of the nominal, unloaded
    robot with PD and integral feedback in acceleration, within the torque limit; the integral waits while torque is at
    its limit.

    Args:
        robot: nominal.
    """

    def __init__(self, robot: Robot, config: StopConfig) -> None:
        self._deceleration = config.decelerations(robot.n)
        self._gain = _INTEGRAL * config.bandwidth**3
        self._limit = robot.limits.torque
        self._inner = ComputedTorque(robot, bandwidth=config.bandwidth)
        self._q, self._qd = np.zeros(robot.n), np.zeros(robot.n)
        self._integral, self._offset = np.zeros(robot.n), np.zeros(robot.n)

    def start(self, q: Array, qd: Array, holding: Array | None = None) -> None:
        """Begins to stop from a state (n,); ``holding`` [N m] is the torque that is known to keep it at rest."""
        self._q, self._qd = q.copy(), qd.copy()
        self._integral, self._offset = np.zeros(q.size), np.zeros(q.size)
        if holding is not None:
            self._offset = self._inner.imbalance(q, holding)

    def reference(self, elapsed: float) -> JointReference:
        """Desired motion of the joints ``elapsed`` seconds after the start."""
        speed, sign = np.abs(self._qd), np.sign(self._qd)
        t = np.minimum(elapsed, speed / self._deceleration)
        braking = elapsed < speed / self._deceleration
        return JointReference(
            self._q + sign * (speed - 0.5 * self._deceleration * t) * t,
            sign * (speed - self._deceleration * t),
            np.where(braking, -sign * self._deceleration, 0.0),
        )

    def torque(self, elapsed: float, tick: float, q: Array, qd: Array) -> Array:
        """(n,) [N m] for the coming ``tick`` seconds, ``elapsed`` after the start."""
        goal = self.reference(elapsed)
        torque = self._inner.torque(goal._replace(qdd=goal.qdd + self._gain * self._integral), q, qd) + self._offset
        held = np.clip(torque, -self._limit, self._limit)
        self._integral += np.where(np.abs(torque) < self._limit, tick * (goal.q - q), 0.0)
        return np.asarray(held)
