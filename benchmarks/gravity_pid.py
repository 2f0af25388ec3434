# SPDX-License-Identifier: Apache-2.0
"""Gravity compensation with PID feedback: the baseline of the paper's Table II."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError, RobotError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.arm.excitation import JointReference

_SIGN_WIDTH = 0.02  # [rad/s] of the reference's velocity, over which the Coulomb feed-forward turns


@dataclass(frozen=True)
class GravityPidConfig:
    """Gains, one for all joints or one a joint. Defaults: the authors' for the Gen3 (OnlineSafeSysID, config.yaml)."""

    kp: tuple[float, ...] = option((75.0,) * 4 + (20.0,) * 3, "proportional gain", unit="N m/rad", minimum=0.0)
    ki: tuple[float, ...] = option((0.01,), "integral gain", unit="N m/(rad s)", minimum=0.0)
    kd: tuple[float, ...] = option((5.0,) * 4 + (1.0,) * 3, "derivative gain", unit="N m s/rad", minimum=0.0)
    friction: bool = option(False, "add the nominal friction of the reference's velocity")


class PidStep(NamedTuple):
    """One step: torque (n,) [N m] within the limits, and the integral of the position error (n,) [rad s] for the next.

    ``saturated`` (n,) tells where the limit cut the torque.
    """

    torque: Array
    integral: Array
    saturated: npt.NDArray[np.bool_]


class GravityPid:
    """tau = K_p e + K_i int e + K_d de/dt + g(q), e = q_ref - q, with gravity g of the model given.

    Args:
        robot: kinematics, torque limits, friction.
        config: gains.
        parameters: (n, 10) inertial parameters of the moving bodies, those of the payload among them; the robot's
            nominal ones where None.

    Raises:
        ConfigError: a gain has neither one nor n numbers.
        RobotError: the parameters are not (n, 10) finite numbers.
    """

    def __init__(self, robot: Robot, config: GravityPidConfig, parameters: npt.ArrayLike | None = None) -> None:
        self._kp, self._ki, self._kd = (_spread(name, getattr(config, name), robot.n) for name in ("kp", "ki", "kd"))
        self._motor, self._limit, self._friction = robot.motor, robot.limits.torque, config.friction
        self._model = robot.model.copy()
        if parameters is not None:
            rows = np.asarray(parameters, dtype=np.float64)
            if rows.shape != (robot.n, 10) or not np.isfinite(rows).all():
                raise RobotError(f"the parameters must be ({robot.n}, 10) finite numbers, got shape {rows.shape}")
            for k, row in enumerate(rows, start=1):
                self._model.inertias[k] = pinocchio.Inertia.FromDynamicParameters(row)
        self._data = self._model.createData()

    def step(self, integral: Array, reference: JointReference, q: Array, qd: Array, dt: float) -> PidStep:
        """Torque for the coming ``dt`` seconds.

        Args:
            integral: of the last step; zeros (n,) at the start [rad s].
            reference: position and velocity (n,); its acceleration is not used.
            q, qd: (n,) measured, q unwrapped to the reference's turn [rad, rad/s].
            dt: [s].
        """
        error = reference.q - q
        grown = integral + dt * error
        torque = self._kp * error + self._ki * grown + self._kd * (reference.qd - qd)
        torque = torque + pinocchio.computeGeneralizedGravity(self._model, self._data, q)
        if self._friction:
            motor, sign = self._motor, np.tanh(reference.qd / _SIGN_WIDTH)
            torque = torque + motor.coulomb * sign + motor.viscous * reference.qd + motor.offset
        saturated = np.abs(torque) > self._limit
        # The integral waits while the limit cuts the torque, or it would wind up.
        return PidStep(np.clip(torque, -self._limit, self._limit), np.where(saturated, integral, grown), saturated)


def _spread(name: str, values: tuple[float, ...], n: int) -> Array:
    if len(values) not in (1, n):
        raise ConfigError(f"'{name}' must have 1 or {n} numbers, got {len(values)}")
    return np.broadcast_to(np.array(values), (n,)).copy()
