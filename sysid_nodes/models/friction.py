# SPDX-License-Identifier: Apache-2.0
"""Motor and joint friction: tau_f = F_c sign(qd) + F_v qd + I_a qdd + beta for every joint on its own (eqs. 4 and 6).

At qd = 0 the model gives no Coulomb torque; what friction really does there is anywhere in [-F_c, F_c], which is the
identifier's business. Where a derivative is needed, tanh(qd / smoothing) stands for the sign.
"""

from __future__ import annotations

import numpy as np

from sysid_nodes.kernel.tree import Array
from sysid_nodes.robots import MotorConstants


def direction(qd: Array, smoothing: float = 0.0) -> Array:
    """sign(qd) for qd of any shape, turning over a speed of `smoothing` [rad/s]; 0 keeps the jump."""
    return np.asarray(np.tanh(qd / smoothing) if smoothing else np.sign(qd))


def friction_torque(motor: MotorConstants, qd: Array, qdd: Array, *, smoothing: float = 0.0) -> Array:
    """tau_f (N, n) [N m] at velocities and accelerations qd, qdd (N, n)."""
    turned = direction(qd, smoothing)
    return np.asarray(motor.coulomb * turned + motor.viscous * qd + motor.armature * qdd + motor.offset)


def friction_slope(motor: MotorConstants, qd: Array, *, smoothing: float) -> Array:
    """d tau_f / d qd (N, n) [N m s/rad] for a positive smoothing speed [rad/s]."""
    return np.asarray(motor.coulomb * (1.0 - direction(qd, smoothing) ** 2) / smoothing + motor.viscous)
