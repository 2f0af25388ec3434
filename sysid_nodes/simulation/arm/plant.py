# SPDX-License-Identifier: Apache-2.0
"""The arm moved on by torques, with set-valued Coulomb friction: a joint at rest sticks until it is broken away.

What is simulated is M(q) qdd + C qd + g + f + F_v qd + I_a qdd + beta = torque. A friction f whose sign is renewed
every step of the integrator would chatter at rest. Here the sign never changes within a step: the instant at which a
joint's velocity reaches zero, or at which a stuck joint needs more than F_c to stay, is found by root search, and the
step is split there. At that instant `coulomb.sliding_directions` decides who sticks. So friction is F_c sign(qd) on
every moving joint and within [-F_c, F_c] on every resting one, up to an instant's error of 1e-12 s, and but for
excursions through zero and back within one step (below jerk x step^2 / 8, some 1e-6 rad/s).

A stuck joint is locked by an armature of 1e12 kg m2, so that the other joints' motion stays with MuJoCo's Runge-Kutta.
"""

from __future__ import annotations

import mujoco
import numpy as np

from sysid_nodes.robots import MotorConstants
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.arm.coulomb import breakaway, sliding_directions, solve

_LOCK = 1e12
_INSTANT = 1e-12
_EVENTS = 100


class Plant:
    """The arm's state, moved on by torques that are constant over a call.

    Args:
        model: of ``build_mujoco``; this plant's alone, for it changes the model's armature.
        motor: the constants the model was built with.
        q, qd: (n,) start [rad, rad/s]; exactly zero velocity is rest.

    Attributes:
        unresolved: steps with so many changes between sticking and sliding that the rest of the step was integrated
            with the last directions; what is claimed of friction above does not hold in them.
    """

    def __init__(self, model: mujoco.MjModel, motor: MotorConstants, q: Array, qd: Array) -> None:
        self._model, self._motor = model, motor
        self._data = mujoco.MjData(model)
        self._data.qpos[:] = q
        self._data.qvel[:] = qd
        self._limit = breakaway(motor.coulomb)
        self._force: Array | None = None
        self.unresolved = 0

    @property
    def q(self) -> Array:
        """(n,) true position, not wrapped [rad]."""
        return np.array(self._data.qpos)

    @property
    def qd(self) -> Array:
        """(n,) true velocity [rad/s]; exactly zero where a joint sticks."""
        return np.array(self._data.qvel)

    def response(self, torque: Array) -> tuple[Array, Array]:
        """Acceleration [rad/s2] and Coulomb friction [N m], (n,) each, under a motor torque in the present state."""
        qd = self.qd
        mass, force = self._equation(torque - self._motor.offset)
        direction = sliding_directions(mass, force, self._motor.coulomb, qd)
        return solve(mass, force, self._motor.coulomb, direction)

    def holding_torque(self) -> Array:
        """(n,) motor torque that balances all but Coulomb friction and keeps the velocities as they are [N m]."""
        return -self._equation(-self._motor.offset)[1]

    def advance(self, torque: Array, duration: float, steps: int) -> None:
        """Integrates over ``duration`` [s] under a constant motor torque (n,) [N m], in ``steps`` steps or more."""
        force = torque - self._motor.offset
        if self._force is None or not np.array_equal(force, self._force):
            self._force = force
            self._choose(force)
        for _ in range(steps):
            self._interval(force, duration / steps)

    def _interval(self, force: Array, remaining: float) -> None:
        """One step of the integrator, split at its events."""
        for _ in range(_EVENTS):
            if not self._direction.any():
                return  # all stick: nothing moves, and what holds them does not change
            q, qd = self.q, self.qd
            if self._step(q, qd, remaining) > 0.0:
                return
            low, high = 0.0, remaining
            while high - low > _INSTANT:
                middle = 0.5 * (low + high)
                low, high = (middle, high) if self._step(q, qd, middle) > 0.0 else (low, middle)
            self._step(q, qd, high)
            self._data.qvel[self._data.qvel * self._direction <= 0.0] = 0.0
            self._choose(force)
            remaining -= high
            if remaining <= _INSTANT:
                return
        self.unresolved += 1
        self._step(self.q, self.qd, remaining)

    def _choose(self, force: Array) -> None:
        """Directions of the joints for the coming motion."""
        coulomb, qd = self._motor.coulomb, self._data.qvel
        self._direction = np.sign(qd)
        if not qd.all():
            mass, total = self._equation(force)
            self._direction = sliding_directions(mass, total, coulomb, self.qd)
        self._stuck = self._direction == 0.0
        self._some_stuck, self._moving = bool(self._stuck.any()), ~self._stuck
        self._applied = force - coulomb * self._direction
        self._model.dof_armature[:] = np.where(self._stuck, _LOCK, self._motor.armature)

    def _step(self, q: Array, qd: Array, duration: float) -> float:
        """From a state over ``duration`` with the directions chosen; how far the end is from an event, > 0 before it.

        The least of the moving joints' speeds [rad/s] and of the stuck joints' reserves of friction [N m].
        """
        model, data = self._model, self._data
        model.opt.timestep = duration
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, self._applied
        mujoco.mj_step(model, data)
        speed = self._direction * data.qvel
        if not self._some_stuck:
            return float(speed.min())
        stuck = self._stuck
        data.qpos[stuck], data.qvel[stuck] = q[stuck], 0.0
        mujoco.mj_forward(model, data)
        acceleration, inertial = np.where(stuck, 0.0, data.qacc), np.zeros(stuck.size)
        mujoco.mj_mulM(model, data, inertial, acceleration)  # no acceleration meets the lock's armature
        holding = (self._applied + data.qfrc_passive - data.qfrc_bias - inertial)[stuck]
        reserve = self._limit[stuck] - np.abs(holding)
        return float(min(speed[self._moving].min(), reserve.min()))

    def _equation(self, force: Array) -> tuple[Array, Array]:
        """Mass matrix (n, n) with the true armature, and all generalised forces (n,) but Coulomb friction."""
        model, data = self._model, self._data
        locked = np.array(model.dof_armature)
        model.dof_armature[:] = self._motor.armature
        mujoco.mj_forward(model, data)
        model.dof_armature[:] = locked
        mass = np.zeros((model.nv, model.nv))
        for unit, column in zip(np.eye(model.nv), mass, strict=True):  # symmetric: rows are columns
            mujoco.mj_mulM(model, data, column, unit)
        return mass, force + data.qfrc_passive - data.qfrc_bias
