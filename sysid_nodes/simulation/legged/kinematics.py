# SPDX-License-Identifier: Apache-2.0
"""A robot's present state as a controller needs it, from its nominal model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio

from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array


@dataclass(frozen=True)
class Kinematics:
    """A snapshot; everything in the world frame, SI units.

    Attributes:
        position, velocity, angular: (3,) of the base's origin.
        rotation: (3, 3) base axes in the world.
        com, com_velocity: (3,) of the whole nominal robot.
        bias: (nv,) gravity and velocity terms h(q, v), pinocchio's coordinates.
        mass_matrix: (nv, nv) M(q), the motors' armature included.
        joint_velocity: (n,) [rad/s].
        feet, feet_velocity: (k, 3) centres of the contact spheres.
        jacobians: (k, 3, nv) of these centres.
        gaps: (k,) between spheres and ground [m].
    """

    position: Array
    velocity: Array
    angular: Array
    rotation: Array
    com: Array
    com_velocity: Array
    bias: Array
    mass_matrix: Array
    joint_velocity: Array
    feet: Array
    feet_velocity: Array
    jacobians: Array
    gaps: Array

    @property
    def yaw(self) -> float:
        """Heading of the base [rad]."""
        return float(np.arctan2(self.rotation[1, 0], self.rotation[0, 0]))


def limp_torque(now: Kinematics, damping: float, period: float) -> Array:
    """(n,) torques that only damp [N m].

    Args:
        damping: at most this [N m s/rad], less at joints that bear little: a sampled damper would shake them.
        period: for which the torque will be held [s].
    """
    inertia = np.diag(now.mass_matrix)[6:]
    result: Array = -np.minimum(damping, 0.2 * inertia / period) * now.joint_velocity
    return result


class NominalModel:
    """A robot as its controller knows it: without payload or other secrets of the simulation.

    Args:
        robot: with contact points.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.model, self.data = robot.model, robot.model.createData()
        self.mass = float(sum(inertia.mass for inertia in robot.model.inertias.tolist()))
        joints = [robot.model.getJointId(point.joint) for point in robot.contacts]
        self._bodies = [
            (joint, [k for k, other in enumerate(joints) if other == joint]) for joint in dict.fromkeys(joints)
        ]
        self._centres = np.array([point.position for point in robot.contacts])
        self._radii = np.array([point.radius for point in robot.contacts])
        self._armature = np.diag(np.concatenate([np.zeros(6), robot.motor.armature]))

    def at(self, q: Array, v: Array) -> Kinematics:
        """The snapshot at a pinocchio state; ``data`` is left with placements and Jacobians of that state."""
        model, data = self.model, self.data
        mass_matrix = np.array(pinocchio.crba(model, data, q)) + self._armature
        bias = np.array(pinocchio.nonLinearEffects(model, data, q, v))
        pinocchio.computeJointJacobians(model, data, q)
        com = np.array(pinocchio.centerOfMass(model, data, q, v))
        centres, jacobians = np.empty_like(self._centres), np.empty((len(self._centres), 3, model.nv))
        for joint, points in self._bodies:
            placement = data.oMi[joint]
            levers = self._centres[points] @ placement.rotation.T
            centres[points] = levers + placement.translation
            jacobian = pinocchio.getJointJacobian(model, data, joint, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            jacobians[points] = jacobian[:3] - _cross(levers) @ jacobian[3:]
        rotation = np.array(data.oMi[1].rotation)
        return Kinematics(
            position=np.array(q[:3]),
            velocity=rotation @ v[:3],
            angular=rotation @ v[3:6],
            rotation=rotation,
            com=com,
            com_velocity=np.array(data.vcom[0]),
            bias=bias,
            mass_matrix=mass_matrix,
            joint_velocity=v[6:],
            feet=centres,
            feet_velocity=jacobians @ v,
            jacobians=jacobians,
            gaps=centres[:, 2] - self._radii,
        )


def _cross(vectors: Array) -> Array:
    """(k, 3, 3) matrices [r]x of (k, 3) vectors r."""
    result = np.zeros((len(vectors), 3, 3))
    x, y, z = vectors.T
    result[:, 0, 1], result[:, 0, 2], result[:, 1, 2] = -z, y, -x
    result[:, 1, 0], result[:, 2, 0], result[:, 2, 1] = z, -y, x
    return result


def heading_rotation(angle: float) -> Array:
    """(3, 3) rotation about the vertical."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def smooth_step(s: float) -> tuple[float, float, float]:
    """A quintic from 0 to 1, its slope and its curvature, at rest at and beyond both ends."""
    s = min(max(s, 0.0), 1.0)
    r = 1.0 - s
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s), 30.0 * s * s * r * r, 60.0 * s * r * (r - s)


def bump(s: float) -> tuple[float, float, float]:
    """From 0 up to 1 in the middle and back, its slope and its curvature, at rest at and beyond both ends."""
    s = min(max(s, 0.0), 1.0)
    p = s * (1.0 - s)
    slope = 1.0 - 2.0 * s
    return 64.0 * p**3, 192.0 * p * p * slope, 384.0 * p * (slope * slope - p)
