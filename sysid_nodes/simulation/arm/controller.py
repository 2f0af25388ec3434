# SPDX-License-Identifier: Apache-2.0
"""Torque control of a simulated arm that does not know what it carries."""

from __future__ import annotations

import numpy as np
import pinocchio

from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.arm.excitation import JointReference


class ComputedTorque:
    """Inverse dynamics of the nominal, unloaded robot around a reference, with PD feedback in acceleration.

    tau = M(q) a + C(q, qd) qd + g(q) + I_a a + F_v qd + F_c tanh(qd_ref / 0.02 rad/s) + beta,
    a = qdd_ref + 2 w (qd_ref - qd) + w^2 (q_ref - q). The unknown payload leaves a steady error of about its torque
    divided by w^2 and the joint's inertia: 3.6 kg at the Gen3's reach are 10 mrad.

    Args:
        robot: nominal, without payload.
        bandwidth: w [rad/s].
    """

    _SIGN_WIDTH = 0.02

    def __init__(self, robot: Robot, *, bandwidth: float = 20.0) -> None:
        self._robot = robot
        self._data = robot.model.createData()
        self._bandwidth = bandwidth

    def imbalance(self, q: Array, holding: Array) -> Array:
        """(n,) torque to add to hold the arm at rest at q, where ``holding`` is known to do so [N m]."""
        zero = np.zeros(q.size)
        return np.asarray(holding - self.torque(JointReference(q, zero, zero), q, zero))

    def torque(self, reference: JointReference, q: Array, qd: Array) -> Array:
        """(n,) motor torque within the robot's torque limits [N m]."""
        motor, w = self._robot.motor, self._bandwidth
        a = reference.qdd + 2.0 * w * (reference.qd - qd) + w**2 * (reference.q - q)
        tau = pinocchio.rnea(self._robot.model, self._data, q, qd, a) + motor.armature * a
        tau = tau + motor.viscous * qd + motor.coulomb * np.tanh(reference.qd / self._SIGN_WIDTH) + motor.offset
        return np.asarray(np.clip(tau, -self._robot.limits.torque, self._robot.limits.torque))
