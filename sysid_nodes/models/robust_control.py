# SPDX-License-Identifier: Apache-2.0
"""The robust tracking law that planner and controller share: one certifies what the other executes.

With tracking errors e = q_d - q and r = de/dt + K_r e, reference velocity qd_a = qd_d + K_r e and acceleration
qdd_a = qdd_d + K_r de/dt (ARMOUR, Michaux et al. 2023, section VII), the commanded torque is

    tau = M0(q) qdd_a + C0(q, qd) qd_a + g0(q) + F_v0 qd_a + I_a0 qdd_a + F_c0 sat(qd_a / width) + beta0 + v,
    v_j = clip(K_j r_j, -limit_j, limit_j),

all of the nominal model theta0. Both velocity arguments of C matter: C0(q, qd) qd_a is what makes Mdot - 2 C skew in
the proof. Against ARMOUR, whose v has a budget of (w_j + ||w||) / 2 but reaches ||w||, each joint's robust input is
clipped at a limit that the certificate states, so what is budgeted is what can be commanded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.known_robot import Numbers, per_joint
from sysid_nodes.robots.robot import Array, MotorConstants, Robot

STAMP_ROUNDING = 1e-6
"""By how much more than ``period`` the stamps of two joint states may differ, doubles being rounded to 0.24 us [s]."""


@dataclass(frozen=True)
class RobustControlConfig:
    """Gains of the law, and bounds on its deviations from the continuous-time proof.

    One number stands for every joint; otherwise one number a joint, in the robot's joint order.
    """

    period: float = option(0.001, "longest time between two commands", unit="s", minimum=1e-5, maximum=0.002)
    delay: float = option(
        0.0,
        "longest time from the moment a joint state was true to the moment the torque computed from it acts",
        unit="s",
        minimum=0.0,
        maximum=0.02,
    )
    position_gain: float = option(4.0, "K_r: rate at which position errors decay", unit="1/s", minimum=0.1)
    damping: Numbers = option(
        (1000.0, 1000.0, 950.0, 950.0, 850.0, 850.0, 800.0), "K: robust input per r", unit="N m s/rad", minimum=0.0
    )
    damping_share: float = option(
        0.34,
        "damping is at most this share of the armature, by the longest age of a torque: a delayed loop is proven only "
        "up to 1/e of the least armature",
        unit="1",
        minimum=1e-3,
    )
    sign_width: float = option(
        0.01, "reference velocity at which Coulomb friction is fed forward in full", unit="rad/s", minimum=1e-4
    )
    position_error: Numbers = option(
        (0.0,),
        "largest error of a measured position (half an encoder step); 0 takes the robot's encoder",
        unit="rad",
        minimum=0.0,
    )
    velocity_error: Numbers = option((1e-4,), "largest error of a measured velocity", unit="rad/s", minimum=0.0)
    torque_error: Numbers = option(
        (0.0,),
        "largest difference between commanded and acting torque; an error in proportion to the torque is at most that "
        "share of the torque limit",
        unit="N m",
        minimum=0.0,
    )

    @property
    def longest_period(self) -> float:
        """Time between two commands that proofs count with and no watch exceeds [s]."""
        return self.period + STAMP_ROUNDING

    @property
    def age(self) -> float:
        """h: largest age of the joint state behind the torque in force [s]."""
        return self.longest_period + self.delay


class Gains(NamedTuple):
    """RobustControlConfig for one robot: arrays (n,), and K_r."""

    position_gain: float
    damping: Array
    position_error: Array
    velocity_error: Array
    torque_error: Array


def gains(robot: Robot, config: RobustControlConfig) -> Gains:
    """The law's numbers, one a joint.

    Raises:
        ConfigError: a list has neither one number nor one a joint.
    """
    n = robot.n
    position = per_joint(config.position_error, n, "control.position_error")
    position = np.where(position > 0.0, position, 0.5 * robot.encoder_step)
    most = config.damping_share * robot.motor.armature / config.age - robot.motor.viscous
    return Gains(
        config.position_gain,
        np.minimum(per_joint(config.damping, n, "control.damping"), np.where(robot.motor.armature > 0.0, most, np.inf)),
        position,
        per_joint(config.velocity_error, n, "control.velocity_error"),
        per_joint(config.torque_error, n, "control.torque_error"),
    )


class Command(NamedTuple):
    """Torque (n,) [N m], and the errors e [rad] and r [rad/s] it answers to, (n,) each."""

    torque: Array
    position_error: Array
    reference_error: Array


class RobustLaw:
    """The law above for one nominal model.

    Args:
        robot: kinematics and gravity; its inertial parameters are replaced by ``theta``.
        theta: (n, 10) nominal inertial parameters of the moving bodies, physically consistent.
        motor: nominal motor constants.

    Raises:
        ConfigError: the gains do not fit the robot, or theta is not (n, 10) and finite.
    """

    def __init__(self, robot: Robot, theta: Array, motor: MotorConstants, config: RobustControlConfig) -> None:
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape != (robot.n, 10) or not np.isfinite(theta).all():
            raise ConfigError(f"the nominal model needs {robot.n} x 10 finite inertial parameters")
        self._gains = gains(robot, config)
        self._width = config.sign_width
        self._motor = motor
        self._model = robot.model.copy()
        for body in range(robot.n):
            self._model.inertias[body + 1] = pinocchio.Inertia.FromDynamicParameters(theta[body])
        self._data = self._model.createData()

    def command(self, q: Array, qd: Array, desired: tuple[Array, Array, Array], limit: Array) -> Command:
        """Torque for a measured state.

        Args:
            q, qd: (n,) measured position (unwrapped) and velocity [rad, rad/s].
            desired: position, velocity and acceleration (n,) each at the time of the measurement.
            limit: (n,) of the robust input, as certified [N m].
        """
        position_gain = self._gains.position_gain
        error = desired[0] - q
        rate = desired[1] - qd
        qd_a = desired[1] + position_gain * error
        qdd_a = desired[2] + position_gain * rate
        r = rate + position_gain * error
        robust = np.clip(self._gains.damping * r, -limit, limit)
        return Command(self._nominal(q, qd, qd_a, qdd_a) + robust, error, r)

    def _nominal(self, q: Array, qd: Array, qd_a: Array, qdd_a: Array) -> Array:
        model, data, motor = self._model, self._data, self._motor
        pinocchio.computeCoriolisMatrix(model, data, q, qd)
        coriolis = data.C @ qd_a
        gravity = pinocchio.computeGeneralizedGravity(model, data, q)
        inertial = pinocchio.rnea(model, data, q, np.zeros_like(q), qdd_a) - gravity
        friction = motor.viscous * qd_a + motor.coulomb * np.clip(qd_a / self._width, -1.0, 1.0) + motor.offset
        return np.asarray(inertial + coriolis + gravity + motor.armature * qdd_a + friction)
