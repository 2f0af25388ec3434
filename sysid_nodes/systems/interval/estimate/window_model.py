# SPDX-License-Identifier: Apache-2.0
"""Mean torque readings of windows as functions of all that determines them, friction that grows with load included.

The parameters are x = [p (15 n, in the order of `Unknowns`), c (n), theta (10)...]: of the known robot, of its load
friction, and of the body that each run adds to one link. Drives lose a share c of the torque that they transmit,

    gain e = tau_rigid + F_c sign(qd) + F_v qd + I_a qdd + beta + c |tau_rigid| sign(qd)

(P. Hamon, M. Gautier, P. Garrec, Dynamic identification of robots with a dry friction model depending on load and
velocity, IROS 2010), with the rigid torque as modelled: measured torque has Coulomb friction in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.interval.momentum_rows import CAUSES, FRICTION_SIGN, MomentumRows

Array = npt.NDArray[np.float64]

_SMALLEST_GAIN = 1e-3
_UNREAD = 1e9
"""Torque that may be added to a reading that tells nothing [N m]: it has no weight, and still a number."""


@dataclass(frozen=True)
class WindowModel:
    """Windows of one or more runs.

    Attributes:
        joints: n.
        body: index of the link that carries what is added.
        coefficients: (W, n, 15 n) momentum rows over the windows' durations: zero = coefficients @ p but for errors.
        unsure: (W, n) torque that friction of unknown direction may add [N m].
        load: (W,) which theta of x a window's body is; -1: none.
        posture: (W, n) mean positions [rad or m]; not a number where nobody asked for them.
    """

    joints: int
    body: int
    coefficients: Array
    unsure: Array
    load: npt.NDArray[np.intp]
    posture: Array

    @classmethod
    def of_rows(
        cls,
        rows: MomentumRows,
        body: int,
        load: int,
        unread: npt.NDArray[np.bool_] | None = None,
        posture: Array | None = None,
    ) -> WindowModel:
        """Windows of one run whose added body is the load-th theta; -1: none. Joints that are unread tell nothing."""
        duration = (rows.t[:, 1] - rows.t[:, 0])[:, None]
        unsure = rows.radius[:, :, CAUSES.index(FRICTION_SIGN)] / duration
        if unread is not None:
            unsure = np.where(unread, _UNREAD, unsure)
        count, n, _ = rows.coefficients.shape
        mean = rows.coefficients[:, :, : 15 * n] / duration[:, :, None]
        where = np.full((count, n), np.nan) if posture is None else posture
        return cls(n, body, mean, unsure, np.full(count, load), where)

    @classmethod
    def join(cls, parts: list[WindowModel]) -> WindowModel:
        """Windows of several runs."""
        return cls(
            parts[0].joints,
            parts[0].body,
            np.concatenate([part.coefficients for part in parts]),
            np.concatenate([part.unsure for part in parts]),
            np.concatenate([part.load for part in parts]),
            np.concatenate([part.posture for part in parts]),
        )

    def select(self, at: npt.NDArray[np.intp]) -> WindowModel:
        """Some of the windows."""
        kept = self.coefficients[at], self.unsure[at], self.load[at], self.posture[at]
        return WindowModel(self.joints, self.body, *kept)

    @property
    def gains(self) -> slice:
        """Torque gains in x."""
        return slice(14 * self.joints, 15 * self.joints)

    @property
    def measured(self) -> Array:
        """(W, n) mean torque readings [N m]."""
        joint = np.arange(self.joints)
        return -self.coefficients[:, joint, 14 * self.joints + joint]

    def residual(self, x: Array) -> tuple[Array, Array]:
        """(W, n) predicted minus measured readings [N m] and their Jacobian (W, n, K) in x (K,)."""
        n, joint = self.joints, np.arange(self.joints)
        gain = np.maximum(x[self.gains], _SMALLEST_GAIN)
        jacobian = np.zeros((*self.coefficients.shape[:2], len(x)))
        jacobian[:, :, : 15 * n] = self.coefficients
        own = self.coefficients[:, :, 10 * self.body : 10 * self.body + 10]
        for k in range((len(x) - 16 * n) // 10):
            jacobian[:, :, 16 * n + 10 * k : 16 * n + 10 * k + 10] = own * (self.load == k)[:, None, None]
        rigid = np.r_[0 : 10 * n, 16 * n : len(x)]
        transmitted = jacobian[:, :, rigid] @ x[rigid]
        direction = self.coefficients[:, joint, 10 * n + joint]
        jacobian[:, joint, 15 * n + joint] = direction * np.abs(transmitted)
        residual = (jacobian @ x) / gain
        lost = direction * np.sign(transmitted) * x[15 * n : 16 * n]
        jacobian[:, :, rigid] *= (1.0 + lost)[:, :, None]
        jacobian /= gain[:, None]
        jacobian[:, joint, 14 * n + joint] = -(residual + self.measured) / gain
        return residual, jacobian
