# SPDX-License-Identifier: Apache-2.0
"""Pose, velocity and acceleration of a frame that carries a sensor, with their Jacobians, for a stack of states.

A frame fixed to a floating base moves with it through a constant matrix and costs a few array operations; for a frame
on any other link pinocchio is asked step by step. Six-vectors are linear then angular, in the frame's own axes
(pinocchio's LOCAL); accelerations are spatial.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.models import rotations
from sysid_nodes.robots import Robot
from sysid_nodes.sensors.sensor import Array, States

_LOCAL = pinocchio.ReferenceFrame.LOCAL


class Pose(NamedTuple):
    """K poses of the frame in the world.

    Attributes:
        position: (K, 3) [m].
        quaternion: (K, 4), frame to world.
        jacobian: (K, 6, nv): the frame's small displacement, in its own axes, per tangent of q.
    """

    position: Array
    quaternion: Array
    jacobian: Array


class SpatialRate(NamedTuple):
    """K velocities or accelerations of the frame, with Jacobians; a None is a zero.

    Attributes:
        value: (K, 6) [m/s, rad/s] or [m/s2, rad/s2].
        q, v, a: (K, 6, nv).
    """

    value: Array
    q: Array | None
    v: Array | None
    a: Array | None


class SensorFrame:
    """The frame of a link, as one that carries a sensor.

    Args:
        robot: whose link it is.
        link: URDF link; empty for the floating base itself (without one, the first link that moves).

    Attributes:
        on_base: whether that link is the floating base.
        offset, rotation, turn: (3,), (3, 3) and (4,) x, y, z, w of the frame in that of the joint that carries it.
        adjoint: (6, nv) from velocities to the frame's, where it is on the base.

    Raises:
        RobotError: the robot has no such link or it does not move.
    """

    def __init__(self, robot: Robot, link: str = "") -> None:
        self.model = robot.model
        self._data = robot.model.createData()
        joint = robot.body_index(link) + 1 if link else 1
        self._frame = robot.model.getFrameId(link, pinocchio.FrameType.BODY) if link else None
        placement = robot.model.frames[self._frame].placement if self._frame is not None else pinocchio.SE3.Identity()
        self.on_base = robot.floating_base and joint == 1
        if self._frame is None and not self.on_base:
            raise RobotError(f"robot '{robot.name}' has a fixed base: name the link that carries the sensor")
        self.offset, self.rotation = np.array(placement.translation), np.array(placement.rotation)
        self.turn = np.array(pinocchio.Quaternion(placement.rotation).coeffs())
        self.adjoint = np.zeros((6, robot.model.nv))
        self.adjoint[:, :6] = placement.toActionMatrixInverse()
        self._stack = self.adjoint[None]

    def pose(self, states: States) -> Pose:
        """Poses at K states."""
        if not self.on_base:
            return self._pose_by_pinocchio(states)
        base = states.q[:, 3:7]
        position = states.q[:, :3] + np.einsum("kij,j->ki", rotations.quaternion_matrix(base), self.offset)
        return Pose(position, rotations.quaternion_product(base, self.turn), self._constant(len(states)))

    def velocity(self, states: States) -> SpatialRate:
        """Velocities at K states."""
        if not self.on_base:
            return self._velocity_by_pinocchio(states)
        return SpatialRate(states.v @ self.adjoint.T, None, self._constant(len(states)), None)

    def acceleration(self, states: States, a: Array) -> SpatialRate:
        """Spatial accelerations at K states with accelerations a (K, nv)."""
        if not self.on_base:
            return self._acceleration_by_pinocchio(states, a)
        return SpatialRate(a @ self.adjoint.T, None, None, self._constant(len(states)))

    def _constant(self, count: int) -> Array:
        if len(self._stack) != count:  # a window has as many stages as the one before
            self._stack = np.broadcast_to(self.adjoint, (count, *self.adjoint.shape))
        return self._stack

    def _pose_by_pinocchio(self, states: States) -> Pose:
        model, data, frame = self.model, self._data, self._frame
        position, quaternion = np.empty((len(states), 3)), np.empty((len(states), 4))
        jacobian = np.empty((len(states), 6, model.nv))
        for k, q in enumerate(states.q):
            pinocchio.computeJointJacobians(model, data, q)
            placement = pinocchio.updateFramePlacement(model, data, frame)
            jacobian[k] = pinocchio.getFrameJacobian(model, data, frame, _LOCAL)
            position[k] = placement.translation
            quaternion[k] = pinocchio.Quaternion(placement.rotation).coeffs()
        return Pose(position, quaternion, jacobian)

    def _velocity_by_pinocchio(self, states: States) -> SpatialRate:
        model, data, frame = self.model, self._data, self._frame
        value = np.empty((len(states), 6))
        by_q, by_v = np.empty((2, len(states), 6, model.nv))
        zero = np.zeros(model.nv)
        for k, (q, v) in enumerate(zip(states.q, states.v, strict=True)):
            pinocchio.computeForwardKinematicsDerivatives(model, data, q, v, zero)
            value[k] = pinocchio.getFrameVelocity(model, data, frame, _LOCAL).vector
            by_q[k], by_v[k] = pinocchio.getFrameVelocityDerivatives(model, data, frame, _LOCAL)
        return SpatialRate(value, by_q, by_v, None)

    def _acceleration_by_pinocchio(self, states: States, acceleration: Array) -> SpatialRate:
        model, data, frame = self.model, self._data, self._frame
        value = np.empty((len(states), 6))
        by_q, by_v, by_a = np.empty((3, len(states), 6, model.nv))
        for k, (q, v, a) in enumerate(zip(states.q, states.v, acceleration, strict=True)):
            pinocchio.computeForwardKinematicsDerivatives(model, data, q, v, a)
            value[k] = pinocchio.getFrameAcceleration(model, data, frame, _LOCAL).vector
            _, by_q[k], by_v[k], by_a[k] = pinocchio.getFrameAccelerationDerivatives(model, data, frame, _LOCAL)
        return SpatialRate(value, by_q, by_v, by_a)
