# SPDX-License-Identifier: Apache-2.0
"""The drive of every joint: a PD law on a set-point, and a motor that gives less of it the more is asked.

    tau_PD = k_p (q_target - q) - k_d qd,      tau = g kappa tanh(tau_PD / kappa) - f tanh(qd / v),

kappa the motor's strength (eq. (3) of SPI-Active), g a linear gain (its k_s), f dry friction of its gear, which turns
over at a small speed v: it only resists motion. What holds a joint at rest is a constraint of the simulation
(`Variants.holding`) or `Bristles` that bend. Unlike `kernel.joint_law` it is evaluated for many robots at once, between
two steps of their simulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


_TURNOVER = 0.1  # v: larger than noise of the speed, and slow enough for a step of 2 ms [rad/s]
_LOOSE = 0.05  # speed from which on a gear is taken to have come loose [rad/s]


@dataclass(frozen=True)
class Drive:
    """Known constants of the drives.

    Attributes:
        stiffness: (n,) k_p [N m/rad].
        damping: (n,) k_d [N m s/rad].
    """

    stiffness: Array
    damping: Array

    def torque(self, target: Array, q: Array, qd: Array, gain: Array, weakness: Array, dry: Array) -> Array:
        """(..., n) torques on the joints [N m].

        Args:
            target: (..., n) set-points [rad].
            q, qd: (..., n) positions and velocities [rad, rad/s].
            gain: (..., n) g.
            weakness: (..., n) 1 / kappa [1/(N m)]; zero for a motor without limit.
            dry: (..., n) f [N m].
        """
        asked = self.stiffness * (target - q) - self.damping * qd
        return np.asarray(gain * saturate(asked, weakness) - dry * np.tanh(qd / _TURNOVER))

    def target(self, torque: Array, q: Array, qd: Array) -> Array:
        """(..., n) set-points with which the PD law alone asks for a torque [rad]."""
        return np.asarray(q + (torque + self.damping * qd) / self.stiffness)


def saturate(torque: Array, weakness: Array) -> Array:
    """(..., n) tanh(torque weakness) / weakness, the torque itself where the weakness is zero."""
    safe = np.maximum(weakness, 1e-9)  # there tanh's argument is so small that it is its own tanh
    return np.asarray(np.tanh(torque * safe) / safe)


class Bristles:
    """Dry friction that holds joints like springs, and gives way (Dahl, A solid friction model, 1968).

        z' = w - |w| z / g,      torque = -f z / g,

    with z the deflection and g that at which the bristles slide; integrated implicitly over the way between two calls.

    Args:
        w: (..., n) speeds to begin with: joints that move have bent their bristles [rad/s].
        q: (..., n) positions there [rad].
        gives: g [rad].
    """

    def __init__(self, w: Array, q: Array, gives: float) -> None:
        self._bend, self._before, self._gives = np.tanh(w / _LOOSE), q.copy(), gives

    def move(self, q: Array) -> Array:
        """(..., n) -z / g once the joints have come to positions (..., n)."""
        way = (q - self._before) / self._gives
        self._before[:] = q
        self._bend = (self._bend + way) / (1.0 + np.abs(way))
        return -self._bend
