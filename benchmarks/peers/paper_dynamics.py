# SPDX-License-Identifier: Apache-2.0
"""The paper's forward dynamics: one step of eq. (17) with disturbance, and its derivatives by eq. (34).

A state is a plain vector x = (p, phi, joints; v; theta): base position, rotation vector of its orientation, joint
positions; velocities as pinocchio has them; log-Cholesky parameters of the identified body, then the mocap's
orientation bias. Semi-implicit Euler: contacts at q, then v+, then q+ = q moved by dt v+. Rollouts go through
pinocchio one by one, derivatives through the compiled kernel for all steps at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio
from scipy.linalg.lapack import dposv

from benchmarks.peers.contact_step import cone_pair, solve_contacts
from sysid_nodes.data.inertia import log_cholesky_jacobian, log_cholesky_to_parameters
from sysid_nodes.models.contact_motion import contact_arms
from sysid_nodes.models.discrete_motion import retract
from sysid_nodes.models.floating_base import ContactKinematics, contact_kinematics
from sysid_nodes.models.rotations import (
    quaternion_exp,
    quaternion_log,
    quaternion_matrix,
    right_log_jacobian,
    skew,
)
from sysid_nodes.systems.prime import Model

Array = npt.NDArray[np.float64]

_STEP = 1e-6
"""Of the one numerical derivative, that of the contact Jacobians along the motion [s]."""


@dataclass(frozen=True)
class StepResult:
    """One step: next velocity (nv,), contact variable (nc, 3) and force (nc, 3) in the world [N]."""

    velocity: Array
    w: Array
    force: Array


class PaperDynamics:
    """Dynamics of a robot whose first identified body has unknown parameters.

    Args:
        model: of the estimator, for robot, friction, step and body; its own dynamics are not used.
        stiffness: kappa.
    """

    def __init__(self, model: Model, stiffness: float) -> None:
        self.base, self.dt, self.eps = model.base, model.config.step, 2.0 / stiffness
        self.nv = model.base.nv
        self.n = self.nv - 6
        self.body = int(model.parameters.bodies[0])
        self._nominal = model.parameters.nominal
        self._armature = np.concatenate([np.zeros(6), model.base.motor.armature])
        self._plane = model.law.plane
        friction = model.config.contact.friction
        self._scaled_axes = self._plane.axes / np.array([friction, 1.0, 1.0])[:, None]
        self._arms = contact_arms(self._plane, model.base.contact_radii)
        self._model = model.robot.model.copy()
        self._model.armature = np.zeros(self.nv)
        self._data = self._model.createData()
        self._eta: Array | None = None

    def configurations(self, x: Array) -> Array:
        """(..., nq) of states."""
        turn = x[..., 3:6]
        return np.concatenate([x[..., :3], quaternion_exp(turn), x[..., 6 : 6 + self.n]], axis=-1)

    def coordinates(self, q: Array) -> Array:
        """(..., nv) of configurations: p, phi, joints."""
        return np.concatenate([q[..., :3], quaternion_log(q[..., 3:7]), q[..., 7:]], axis=-1)

    def step(self, x: Array, torque: Array, w: Array) -> StepResult:
        """The next velocity from a state under motor torques and disturbances (nv,); w (nc, 3) is where to start."""
        self._set_inertia(x[2 * self.nv : 2 * self.nv + 10])
        q, v = self.configurations(x), x[self.nv : 2 * self.nv]
        mass = pinocchio.crba(self._model, self._data, q)
        bias = pinocchio.nonLinearEffects(self._model, self._data, q, v)
        # crba fills the upper triangle.
        mass = np.triu(mass) + np.triu(mass, 1).T
        mass[np.diag_indices(self.nv)] += self._armature
        kinematics = contact_kinematics(self.base, q[None])
        columns = self._columns(kinematics)[0].reshape(-1, self.nv)
        right = np.concatenate([columns.T, (torque - bias)[:, None]], axis=1)
        solved = dposv(mass, right, lower=0)[1]
        free = v + self.dt * solved[:, -1]
        offset = columns @ free
        offset[::3] += self._gap(kinematics)[0] / (self.dt * self._friction)
        found = solve_contacts(columns @ solved[:, :-1], offset, self.eps, w)
        velocity = free + solved[:, :-1] @ found.impulse.ravel()
        return StepResult(velocity, found.w, found.impulse @ self._scaled_axes / self.dt)

    def advance(self, x: Array, velocity: Array) -> Array:
        """x+ of a state and its next velocity."""
        nv = self.nv
        out = x.copy()
        turn = pinocchio.exp3(x[3:6])
        out[:3] += self.dt * (turn @ velocity[:3])
        out[3:6] = pinocchio.log3(turn @ pinocchio.exp3(self.dt * velocity[3:6]))
        out[6:nv] += self.dt * velocity[6:]
        out[nv : 2 * nv] = velocity
        return out

    def derivatives(self, x: Array, following: Array, w: Array) -> tuple[Array, Array]:
        """(K, nx, nx) and (K, nx, nv): derivatives of `advance(step)` by state and generalised force.

        Args:
            x: (K, nx) states.
            following: (K, nv) the next velocities from there.
            w: (K, nc, 3) contact variables of these steps.
        """
        dt, nv = self.dt, self.nv
        count, nx = x.shape
        q, v = np.ascontiguousarray(self.configurations(x)), np.ascontiguousarray(x[:, nv : 2 * nv])
        kinematics = contact_kinematics(self.base, q)
        _, flat_impulse, flat_slope = cone_pair(w.reshape(-1, 3), self.eps)
        impulse, slope = flat_impulse.reshape(w.shape), flat_slope.reshape(*w.shape, 3)
        force = impulse @ self._scaled_axes / dt
        eta = x[0, 2 * nv : 2 * nv + 10]
        inertia = self._nominal.copy()
        inertia[self.body] = log_cholesky_to_parameters(eta)
        _, by_q, by_v, mass, regressor = self.base.kernel.dynamics_derivatives(
            q, v, np.ascontiguousarray((following - v) / dt), inertia, np.ascontiguousarray(force),
            np.cross(self._arms, force), np.array([self.body], dtype=np.int64),
        )  # fmt: skip
        mass[:, np.arange(nv), np.arange(nv)] += self._armature
        columns = self._columns(kinematics)
        # dl = -stiff dz along the cone pair; the gap moves with q, and so does the Jacobian.
        stiff = (np.eye(3) - slope) @ np.linalg.inv(slope)
        shift = self._scaled_axes @ self._velocity_derivative(q, following, kinematics)
        normal = np.einsum("i,kciv->kcv", self._plane.axes[0], self._lowest(kinematics))
        shift[:, :, 0] += normal / (dt * self._friction)
        pressed = (columns.swapaxes(-1, -2) @ stiff).transpose(0, 2, 1, 3).reshape(count, nv, -1)
        flat = columns.reshape(count, -1, nv)
        hessian = mass + pressed @ flat
        turn = self._turn(x)
        right = np.zeros((count, nv, nx + nv))
        right[:, :, :nv] = -(dt * by_q + pressed @ shift.reshape(count, -1, nv)) @ turn
        right[:, :, nv : 2 * nv] = mass - dt * by_v
        right[:, :, 2 * nv : 2 * nv + 10] = -dt * regressor @ log_cholesky_jacobian(eta)
        right[:, :, nx:] = dt * np.eye(nv)
        by: Array = np.asarray(np.linalg.solve(hessian, right), dtype=np.float64)
        out = np.zeros((count, nx, nx + nv))
        out[:, nv : 2 * nv] = by
        out[:, 2 * nv :, 2 * nv : nx] = np.eye(nx - 2 * nv)
        self._advance_derivative(out, by, x, following)
        return out[:, :, :nx], out[:, :, nx:]

    @property
    def _friction(self) -> float:
        return float(1.0 / np.linalg.norm(self._scaled_axes[0]))

    def _set_inertia(self, eta: Array) -> None:
        if self._eta is None or not np.allclose(eta, self._eta, rtol=0.0, atol=1e-12):
            self._eta = eta.copy()
            theta = log_cholesky_to_parameters(eta)
            self._model.inertias[self.body + 1] = pinocchio.Inertia.FromDynamicParameters(theta)

    def _lowest(self, kinematics: ContactKinematics) -> Array:
        """(K, nc, 3, nv) Jacobian of the spheres' lowest points in the world."""
        return np.asarray(kinematics.linear - skew(self._arms) @ kinematics.angular)

    def _columns(self, kinematics: ContactKinematics) -> Array:
        """(K, nc, 3, nv) Jacobian of z."""
        return np.asarray(self._scaled_axes @ self._lowest(kinematics))

    def _gap(self, kinematics: ContactKinematics) -> Array:
        return np.asarray(kinematics.centre @ self._plane.axes[0] - self.base.contact_radii - self._plane.height)

    def _velocity_derivative(self, q: Array, v: Array, kinematics: ContactKinematics) -> Array:
        """(K, nc, 3, nv) derivative of the lowest points' velocities J(q) v by q.

        Along the tangent e_j it is J's derivative along v, times e_j, less J [v, e_j], the bracket of the base's
        group; a rotation's own Jacobian adds the cross product of both angular velocities.
        """
        ahead = contact_kinematics(self.base, np.ascontiguousarray(retract(q, _STEP * v)))
        behind = contact_kinematics(self.base, np.ascontiguousarray(retract(q, -_STEP * v)))
        bracket = np.zeros((len(q), 1, self.nv, self.nv))
        bracket[:, 0, :3, :3] = bracket[:, 0, 3:6, 3:6] = skew(v[:, 3:6])
        bracket[:, 0, :3, 3:6] = skew(v[:, :3])
        linear = (ahead.linear - behind.linear) / (2.0 * _STEP) - kinematics.linear @ bracket
        angular = (ahead.angular - behind.angular) / (2.0 * _STEP) - kinematics.angular @ bracket
        spin = np.einsum("kciv,kv->kci", kinematics.angular, v)
        angular -= skew(spin) @ kinematics.angular
        return np.asarray(linear - skew(self._arms) @ angular)

    def _turn(self, x: Array) -> Array:
        """(K, nv, nv) from the state's coordinates to the tangent at q."""
        out = np.tile(np.eye(self.nv), (len(x), 1, 1))
        out[:, :3, :3] = quaternion_matrix(quaternion_exp(x[:, 3:6])).swapaxes(-1, -2)
        out[:, 3:6, 3:6] = np.linalg.inv(right_log_jacobian(x[:, 3:6]))
        return out

    def _advance_derivative(self, out: Array, by: Array, x: Array, velocity: Array) -> None:
        """Fills the first nv rows: q+ by q and, through `by`, by everything that v+ depends on."""
        dt, nv = self.dt, self.nv
        turn = quaternion_matrix(quaternion_exp(x[:, 3:6]))
        own = np.linalg.inv(right_log_jacobian(x[:, 3:6]))
        out[:, :3] = dt * turn @ by[:, :3]
        out[:, :3, :3] += np.eye(3)
        out[:, :3, 3:6] -= dt * turn @ skew(velocity[:, :3]) @ own
        spin = dt * velocity[:, 3:6]
        small = quaternion_matrix(quaternion_exp(spin))
        after = right_log_jacobian(np.array([pinocchio.log3(m) for m in turn @ small]))
        out[:, 3:6] = dt * after @ np.linalg.inv(right_log_jacobian(spin)) @ by[:, 3:6]
        out[:, 3:6, 3:6] += after @ small.swapaxes(-1, -2) @ own
        out[:, 6:nv] = dt * by[:, 6:]
        out[:, 6:nv, 6:nv] += np.eye(self.n)
