"""Motor and joint friction: tau_f = F_c sign(qd) + F_v qd + I_a qdd + beta for every joint on its own (eqs. 4 and 6).

Constants are (n, 4) arrays, columns FRICTION_NAMES: Coulomb [N m], viscous [N m s/rad], armature [kg m2], offset [N m]
(forces and metres for sliding joints). At qd = 0 the model gives no Coulomb torque; what friction really does there is
anywhere in [-F_c, F_c], which is the identifier's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.kernel.tree import Array

if TYPE_CHECKING:
    from sysid_nodes.robots.robot import MotorConstants

FRICTION_NAMES = ("coulomb", "viscous", "armature", "offset")


class FrictionDerivatives(NamedTuple):
    """Derivatives of the friction torque of each joint.

    Attributes:
        velocity: (N, n) d tau_f / d qd.
        acceleration: (N, n) d tau_f / d qdd.
        constants: (N, n, 4) d tau_f / d constants, which is the regressor.
    """

    velocity: Array
    acceleration: Array
    constants: Array


def friction_constants(motor: MotorConstants) -> Array:
    """(n, 4) constants of a robot's motors."""
    return np.stack([motor.coulomb, motor.viscous, motor.armature, motor.offset], axis=1)


def friction_regressor(qd: Array, qdd: Array, *, smoothing: float = 0.0) -> Array:
    """(N, n, 4) with tau_f[s, j] = regressor[s, j] @ constants[j], for qd, qdd (N, n).

    Args:
        smoothing: speed [rad/s] over which the sign turns, tanh(qd / smoothing); 0 keeps the jump.

    Raises:
        SamplesError: shapes differ, or smoothing is negative.
    """
    qd, qdd = np.asarray(qd, dtype=np.float64), np.asarray(qdd, dtype=np.float64)
    if qd.ndim != 2 or qd.shape != qdd.shape:
        raise SamplesError(f"qd and qdd must have one shape (N, n), got {qd.shape} and {qdd.shape}")
    return np.stack([_sign(qd, smoothing), qd, qdd, np.ones_like(qd)], axis=-1)


def friction_torque(constants: Array, qd: Array, qdd: Array, *, smoothing: float = 0.0) -> Array:
    """tau_f (N, n) for constants (n, 4).

    Raises:
        SamplesError: shapes do not fit.
    """
    regressor = friction_regressor(qd, qdd, smoothing=smoothing)
    torque: Array = np.einsum("snc,nc->sn", regressor, _check_constants(constants, regressor))
    return torque


def friction_derivatives(constants: Array, qd: Array, qdd: Array, *, smoothing: float = 0.0) -> FrictionDerivatives:
    """Derivatives of `friction_torque`; without smoothing those on either side of the jump at qd = 0.

    Raises:
        SamplesError: shapes do not fit.
    """
    regressor = friction_regressor(qd, qdd, smoothing=smoothing)
    coulomb, viscous, armature, _ = _check_constants(constants, regressor).T
    slope = (1.0 - regressor[..., 0] ** 2) / smoothing if smoothing else np.zeros_like(regressor[..., 0])
    acceleration = np.broadcast_to(armature, slope.shape).copy()
    return FrictionDerivatives(coulomb * slope + viscous, acceleration, regressor)


def _sign(qd: Array, smoothing: float) -> Array:
    if smoothing < 0.0:
        raise SamplesError(f"the smoothing speed must not be negative, got {smoothing:g}")
    return np.asarray(np.tanh(qd / smoothing) if smoothing else np.sign(qd))


def _check_constants(constants: Array, regressor: Array) -> Array:
    constants = np.asarray(constants, dtype=np.float64)
    if constants.shape != regressor.shape[1:]:
        raise SamplesError(f"friction constants must have shape {regressor.shape[1:]}, got {constants.shape}")
    return constants
