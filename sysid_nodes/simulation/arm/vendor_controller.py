# SPDX-License-Identifier: Apache-2.0
"""A vendor's position interface, as a stock ros2_kortex driver has it: set-points in, joints follow with a lag.

What such a controller does inside is not known to its user, who sees set-points and joint states only. This one delays,
filters, limits the speed, and closes a PD loop with gravity of the unloaded robot: enough for a tracking error that
depends on speed, acceleration and payload, as a real one's does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import SamplesError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array


@dataclass(frozen=True)
class VendorConfig:
    """The interface's dynamics."""

    delay: float = option(0.01, "from a set-point's time to its use", unit="s", minimum=0.0, maximum=1.0)
    lag: float = option(0.02, "time constant of the set-point filter", unit="s", minimum=0.0, maximum=1.0)
    bandwidth: float = option(30.0, "of the position loop", unit="rad/s", minimum=1.0, maximum=200.0)


class VendorPositionController:
    """Follows streamed set-points; before the first and after the last it holds.

    Set-points are joined by straight lines, or by cubics where they have velocities. The filtered set-point x moves at
    most at the robot's velocity limits. tau = D(q) (w^2 (x - q) + 2 w (dx/dt - qd)) + g(q), D the diagonal of the
    nominal mass matrix with armature, within the torque limits.

    Args:
        robot: nominal, without payload.
        q: (n,) held until the first set-point [rad].
        now: time of the clock that the set-points use [s].
    """

    def __init__(self, robot: Robot, config: VendorConfig, q: Array, now: float = 0.0) -> None:
        self._robot, self._config = robot, config
        self._data = robot.model.createData()
        self._t, self._q, self._qd = np.array([now]), np.array([q], dtype=np.float64), np.zeros((1, robot.n))
        self._now, self._x = now, np.array(q, dtype=np.float64)

    def follow(self, t: npt.ArrayLike, q: npt.ArrayLike, qd: npt.ArrayLike | None = None) -> None:
        """Takes set-points, as the points of a JointTrajectory; they replace all earlier ones from their first time on.

        Args:
            t: (k,) increasing [s].
            q: (k, n) in joint order, on the turn the joints are on [rad].
            qd: (k, n) [rad/s]; straight lines between the points where None.

        Raises:
            SamplesError: shapes do not fit, numbers are not finite or times do not increase.
        """
        times, positions = np.atleast_1d(np.asarray(t, dtype=np.float64)), np.asarray(q, dtype=np.float64)
        velocities = np.full(positions.shape, np.nan) if qd is None else np.asarray(qd, dtype=np.float64)
        shape = (times.size, self._robot.n)
        if times.ndim != 1 or not times.size or positions.shape != shape or velocities.shape != shape:
            raise SamplesError(f"set-points need times (k,) and positions (k, {self._robot.n}), got {positions.shape}")
        if not np.isfinite(positions).all() or not np.isfinite(times).all():
            raise SamplesError("set-points must be finite")
        if qd is not None and not np.isfinite(velocities).all():
            raise SamplesError("set-points' velocities must be finite")
        if (np.diff(times) <= 0.0).any():
            raise SamplesError("the times of set-points must increase")
        # Of the points before, one at or before the time now in use has to stay, to interpolate from.
        kept = self._t < times[0]
        kept[: max(int(np.searchsorted(self._t, self._now - self._config.delay, side="right")) - 1, 0)] = False
        self._t = np.concatenate([self._t[kept], times])
        self._q, self._qd = np.vstack([self._q[kept], positions]), np.vstack([self._qd[kept], velocities])

    def torque(self, now: float, q: Array, qd: Array) -> Array:
        """(n,) motor torque from a time on, given the true state then [N m].

        Args:
            now: no earlier than at the last call [s].
            q, qd: (n,) [rad, rad/s].
        """
        robot, w = self._robot, self._config.bandwidth
        dt, self._now = max(now - self._now, 0.0), now
        share = -np.expm1(-dt / self._config.lag) if self._config.lag > 0.0 else 1.0
        step = share * (self._setpoint(now - self._config.delay) - self._x)
        farthest = robot.limits.velocity * dt
        step = np.clip(step, -farthest, farthest)
        self._x = self._x + step
        rate = step / dt if dt > 0.0 else np.zeros(robot.n)
        inertia = np.diag(pinocchio.crba(robot.model, self._data, q)) + robot.motor.armature
        torque = inertia * (w**2 * (self._x - q) + 2.0 * w * (rate - qd))
        torque = torque + pinocchio.computeGeneralizedGravity(robot.model, self._data, q)
        return np.asarray(np.clip(torque, -robot.limits.torque, robot.limits.torque))

    def _setpoint(self, t: float) -> Array:
        """(n,) interpolated; held outside the points' times."""
        k = int(np.searchsorted(self._t, t, side="right"))
        if k == 0 or k == self._t.size:
            return np.array(self._q[min(k, self._t.size - 1)])
        a, b, length = self._q[k - 1], self._q[k], self._t[k] - self._t[k - 1]
        s = (t - self._t[k - 1]) / length
        va, vb = length * self._qd[k - 1], length * self._qd[k]
        if np.isnan(va).any() or np.isnan(vb).any():
            return np.asarray(a + s * (b - a))
        c, r = 3.0 * (b - a) - 2.0 * va - vb, va + vb - 2.0 * (b - a)
        return np.asarray(a + s * (va + s * (c + s * r)))
