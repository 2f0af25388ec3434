# SPDX-License-Identifier: Apache-2.0
"""Rigid-body terms of a floating-base robot, stage by stage in Python: the readable twin of stages.cpp."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.kernel.floating_tree import Array, FloatingTree


class StageKernel:
    """Same methods as the compiled class. Configurations are pinocchio's, quaternion x, y, z, w."""

    def __init__(self, tree: FloatingTree) -> None:
        self._tree = tree
        self._model = _model(tree)
        self._data = self._model.createData()

    def kinematics(self, q: Array) -> tuple[Array, Array, Array, Array]:
        """Contact spheres of N configurations (N, nq).

        Returns:
            centre (N, nc, 3) in the world [m]; rotation (N, nc, 3, 3), body to world; Jacobians (N, nc, 3, nv) in the
            world of the centre and of the body's rotation.
        """
        model, data, tree = self._model, self._data, self._tree
        count, nc, nv = len(q), len(tree.contact_bodies), model.nv
        centre, rotation = np.empty((count, nc, 3)), np.empty((count, nc, 3, 3))
        linear, angular = np.empty((2, count, nc, 3, nv))
        for k in range(count):
            pinocchio.computeJointJacobians(model, data, q[k])
            for i, body in enumerate(tree.contact_bodies):
                placement = data.oMi[int(body) + 1]
                jacobian = pinocchio.getJointJacobian(model, data, int(body) + 1, pinocchio.LOCAL_WORLD_ALIGNED)
                arm = placement.rotation @ tree.contact_offsets[i]
                centre[k, i], rotation[k, i] = placement.translation + arm, placement.rotation
                linear[k, i], angular[k, i] = jacobian[:3] - _skew(arm) @ jacobian[3:], jacobian[3:]
        return centre, rotation, linear, angular

    def dynamics(
        self, q: Array, velocity: Array, acceleration: Array, inertia: Array, force: Array, moment: Array
    ) -> Array:
        """M a + h - sum J' f (K, nv) [N, N m].

        Args:
            q: (K, nq).
            velocity, acceleration: (K, nv) in pinocchio's body coordinates.
            inertia: (n + 1, 10) parameters of every body.
            force, moment: (K, nc, 3) on the robot at each sphere's centre, in the world [N, N m].
        """
        self._set(inertia)
        out = np.empty((len(q), self._model.nv))
        for k in range(len(q)):
            external = self._external(q[k], force[k], moment[k])
            out[k] = pinocchio.rnea(self._model, self._data, q[k], velocity[k], acceleration[k], external)
        return out

    def dynamics_derivatives(
        self,
        q: Array,
        velocity: Array,
        acceleration: Array,
        inertia: Array,
        force: Array,
        moment: Array,
        bodies: npt.NDArray[np.int64],
    ) -> tuple[Array, Array, Array, Array, Array]:
        """`dynamics`, and its derivatives by configuration, velocity, acceleration and parameters.

        Contact forces and moments are held in the world; those at the spheres' centres move with them.

        Args:
            bodies: (nb,) bodies whose parameters to differentiate by; the other arguments as in `dynamics`.

        Returns:
            (K, nv), three (K, nv, nv), and the regressor (K, nv, 10 nb).
        """
        self._set(inertia)
        model, data, tree = self._model, self._data, self._tree
        count, nv = len(q), model.nv
        out, regressor = np.empty((count, nv)), np.empty((count, nv, 10 * len(bodies)))
        by_q, by_v, mass = np.empty((3, count, nv, nv))
        columns = (10 * np.asarray(bodies)[:, None] + np.arange(10)).ravel()
        for k in range(count):
            external = self._external(q[k], force[k], moment[k])
            by_q[k], by_v[k], half = pinocchio.computeRNEADerivatives(
                model, data, q[k], velocity[k], acceleration[k], external
            )
            out[k], mass[k] = data.tau, np.triu(half) + np.triu(half, 1).T
            for i, body in enumerate(tree.contact_bodies):
                # Pinocchio held the wrench in the turning body; we hold it in the world.
                jacobian = pinocchio.getJointJacobian(model, data, int(body) + 1, pinocchio.LOCAL_WORLD_ALIGNED)
                arm = data.oMi[int(body) + 1].rotation @ tree.contact_offsets[i]
                turn, linear = jacobian[3:], jacobian[:3] - _skew(arm) @ jacobian[3:]
                by_q[k] -= linear.T @ _skew(force[k, i]) @ turn + turn.T @ _skew(moment[k, i]) @ turn
            if len(bodies):
                full = pinocchio.computeJointTorqueRegressor(model, data, q[k], velocity[k], acceleration[k])
                regressor[k] = full[:, columns]
        return out, by_q, by_v, mass, regressor

    def _set(self, inertia: Array) -> None:
        for body, parameters in enumerate(inertia):
            self._model.inertias[body + 1] = pinocchio.Inertia.FromDynamicParameters(parameters)

    def _external(self, q: Array, force: Array, moment: Array) -> list[pinocchio.Force]:
        pinocchio.forwardKinematics(self._model, self._data, q)
        external = [pinocchio.Force.Zero() for _ in range(self._model.njoints)]
        for i, body in enumerate(self._tree.contact_bodies):
            rotation = self._data.oMi[int(body) + 1].rotation
            pushed = rotation.T @ force[i]
            turned = rotation.T @ moment[i] + np.cross(self._tree.contact_offsets[i], pushed)
            external[int(body) + 1] += pinocchio.Force(pushed, turned)
        return external


def _model(tree: FloatingTree) -> pinocchio.Model:
    model = pinocchio.Model()
    model.gravity.linear = np.array(tree.gravity)
    model.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "base")
    for i, parent in enumerate(tree.parents):
        kind = pinocchio.JointModelRevoluteUnaligned if tree.revolute[i] else pinocchio.JointModelPrismaticUnaligned
        placement = pinocchio.SE3(np.array(tree.rotation[i]), np.array(tree.translation[i]))
        model.addJoint(int(parent) + 1, kind(np.array(tree.axis[i])), placement, f"joint{i}")
    return model


def _skew(vector: Array) -> Array:
    return np.asarray(pinocchio.skew(vector))
