# SPDX-License-Identifier: Apache-2.0
"""The adaptive controllers of the paper's Table II, for the comparison only.

Both know the robot but for the body it carries, feed forward friction and armature, and have the feedback of this
suite's robust law: K on r = de/dt + K_r e, or the same poles. What differs is what they do about the unknown body.
Neither has a bound on anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pinocchio

from benchmarks.truth import Array
from sysid_nodes.models.bezier import State
from sysid_nodes.models.known_robot import PriorConfig
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.robots import Robot


@dataclass(frozen=True)
class AdaptiveConfig:
    """Rates of adaptation; ours, since neither the paper nor its references give any for this arm.

    Attributes:
        parameters: of the body's parameters, in units of Table I's half-widths squared a second and N m rad/s.
        bound: of the robust input's bound, per norm of the filtered error [1/s2].
        layer: norm of the filtered error within which the robust input is linear and its bound rests [rad/s].
    """

    parameters: float = 30.0
    bound: float = 50.0
    layer: float = 0.002


class Adaptive(Protocol):
    """A controller with a memory.

    Attributes:
        theta: (n, 10) its model now.
    """

    theta: Array

    def step(self, desired: State, q: Array, qd: Array, dt: float) -> Array:
        """Torque (n,) for a measured state, ``dt`` seconds after the last."""
        ...


@dataclass
class SlotineLi:
    """Slotine and Li 1987, the paper's [38]: tau = Y(q, qd, qd_a, qdd_a) p + K r, dp/dt = Gamma Y_e' r.

    p are the parameters of all bodies, of which those of the carried one (Y_e's) adapt; qd_a and qdd_a as in
    models/robust_control.py.

    Attributes:
        robot: kinematics and limits.
        box: whose middle is the model that adaptation starts from.
        control: feedback, as of the robust law.
        config: rates.
        theta: (n, 10) the model now.
    """

    robot: Robot
    box: ModelBox
    control: RobustControlConfig = field(default_factory=RobustControlConfig)
    config: AdaptiveConfig = field(default_factory=AdaptiveConfig)

    def __post_init__(self) -> None:
        self.theta = self.box.theta.copy()
        self._body = self.robot.body_index()
        self._rates = self.config.parameters * PriorConfig().bounds.half_width ** 2
        self._gains = gains(self.robot, self.control)
        self._data = self.robot.model.createData()

    def step(self, desired: State, q: Array, qd: Array, dt: float) -> Array:
        """See Adaptive."""
        rate, motor = self._gains.position_gain, self.box.motor
        error, error_rate = desired.q - q, desired.qd - qd
        qd_a, qdd_a = desired.qd + rate * error, desired.qdd + rate * error_rate
        r = error_rate + rate * error
        regressor = passive_regressor(self.robot.model, self._data, q, qd, qd_a, qdd_a)
        self.theta[self._body] += dt * self._rates * (r @ regressor[:, 10 * self._body : 10 * self._body + 10])
        sign = np.clip(qd_a / self.control.sign_width, -1.0, 1.0)
        friction = motor.coulomb * sign + motor.viscous * qd_a + motor.armature * qdd_a + motor.offset
        return np.asarray(regressor @ self.theta.ravel() + friction + self._gains.damping * r)


@dataclass
class AdaptiveRobust:
    """Feedback linearisation whose robust input has a bound that adapts, the paper's [1] as far as its abstract tells.

    tau = M (qdd_d + K_v de/dt + K_p e + w) + h, w = rho z / max(|z|, layer), drho/dt = bound |z| outside the layer,
    with z = B' P (e, de/dt), P of the Lyapunov equation of the linear error dynamics for Q = 1, times 2 K_v: in rad/s.
    M and h are of the middle of ``box`` throughout: no parameter is identified.

    Attributes:
        robot: kinematics and limits.
        box: whose middle is the model.
        control: feedback, as of the robust law.
        config: rates.
        rho: bound of the robust input now [rad/s2].
    """

    robot: Robot
    box: ModelBox
    control: RobustControlConfig = field(default_factory=RobustControlConfig)
    config: AdaptiveConfig = field(default_factory=AdaptiveConfig)
    rho: float = 0.0

    def __post_init__(self) -> None:
        self.theta = self.box.theta
        self._model = self.robot.model.copy()
        for joint, row in enumerate(self.theta, start=1):
            self._model.inertias[joint] = pinocchio.Inertia.FromDynamicParameters(row)
        self._data = self._model.createData()
        found = gains(self.robot, self.control)
        # The poles of the robust law: K_r, and the damping over the inertia it meets, next to all of it the armature.
        fast = found.damping / self.box.motor.armature
        self._kv, self._kp = fast + found.position_gain, fast * found.position_gain

    def step(self, desired: State, q: Array, qd: Array, dt: float) -> Array:
        """See Adaptive."""
        motor, kv, kp = self.box.motor, self._kv, self._kp
        error, error_rate = desired.q - q, desired.qd - qd
        z = kv / kp * error + (1.0 + 1.0 / kp) * error_rate
        size = float(np.linalg.norm(z))
        if size > self.config.layer:
            self.rho += dt * self.config.bound * size
        asked = desired.qdd + kv * error_rate + kp * error + self.rho * z / max(size, self.config.layer)
        friction = motor.viscous * qd + motor.coulomb * np.clip(desired.qd / self.control.sign_width, -1.0, 1.0)
        inverse = pinocchio.rnea(self._model, self._data, q, qd, asked)
        return np.asarray(inverse + motor.armature * asked + friction + motor.offset)


def passive_regressor(
    model: pinocchio.Model, data: pinocchio.Data, q: Array, qd: Array, qd_a: Array, qdd_a: Array
) -> Array:
    """(n, 10 n) Y with Y p = M qdd_a + C(q, qd) qd_a + g of all bodies, C of Christoffel's symbols.

    What is quadratic in one velocity is polarised: C(q, a) b = (c(a + b) - c(a - b)) / 4, c(v) = C(q, v) v.
    """
    still = np.zeros_like(q)

    def regressor(velocity: Array, acceleration: Array) -> Array:
        return np.array(pinocchio.computeJointTorqueRegressor(model, data, q, velocity, acceleration))

    both = regressor(qd + qd_a, still) - regressor(qd - qd_a, still)
    return np.asarray(regressor(still, qdd_a) + 0.25 * both)
