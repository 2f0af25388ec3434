# SPDX-License-Identifier: Apache-2.0
"""A floating-base robot that touches the ground with spheres: contact kinematics and inverse dynamics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import RobotError
from sysid_nodes.kernel.floating_tree import FloatingTree
from sysid_nodes.kernel.stages import StageKernel, stage_kernel
from sysid_nodes.models.discrete_motion import DiscreteMotion, chain
from sysid_nodes.models.friction import friction_slope, friction_torque
from sysid_nodes.robots import MotorConstants, Robot

Array = npt.NDArray[np.float64]

REST = 0.02
"""Coulomb friction turns over smoothly within this joint speed [rad/s]: a sign has no derivative."""


@dataclass(frozen=True)
class FloatingBase:
    """A robot's kinematics, nominal inertia, joint friction and contact spheres.

    Attributes:
        tree: kinematics.
        inertia: (n + 1, 10) nominal parameters of every body, the base first.
        motor: friction and armature of the n joints.
        contact_names: of the nc spheres.
        contact_radii: (nc,) [m].
        kernel: what evaluates it.
        implementation: as for `kernel.implementation`.
    """

    tree: FloatingTree
    inertia: Array
    motor: MotorConstants
    contact_names: tuple[str, ...]
    contact_radii: Array
    kernel: StageKernel = field(repr=False, compare=False)
    implementation: str = ""

    @property
    def nv(self) -> int:
        """Degrees of freedom, 6 + n."""
        return 6 + len(self.tree.parents)

    @property
    def contacts(self) -> int:
        """Number of contact spheres, nc."""
        return len(self.contact_names)

    @classmethod
    def from_robot(cls, robot: Robot, *, implementation: str = "") -> FloatingBase:
        """Of a robot with a floating base and contact points; `implementation` as for `kernel.implementation`.

        Raises:
            RobotError: the base is fixed, no contact point is known, or a joint has several degrees of freedom.
        """
        require_feet(robot)
        model = robot.model
        joints, placements = list(model.joints)[2:], list(model.jointPlacements)[2:]
        motion = [np.asarray(joint.createData().S).reshape(6, -1) for joint in joints]
        if any(subspace.shape[1] != 1 for subspace in motion):
            raise RobotError(f"robot '{robot.name}' has a joint of several degrees of freedom besides its base")
        revolute = np.array([bool(np.any(subspace[3:])) for subspace in motion], dtype=np.bool_)
        axis = [subspace[3:, 0] if turns else subspace[:3, 0] for subspace, turns in zip(motion, revolute, strict=True)]
        tree = FloatingTree(
            parents=np.array(list(model.parents)[2:], dtype=np.int64) - 1,
            rotation=np.array([placement.rotation for placement in placements]).reshape(-1, 3, 3),
            translation=np.array([placement.translation for placement in placements]).reshape(-1, 3),
            axis=np.array(axis).reshape(-1, 3),
            revolute=revolute,
            gravity=np.array(model.gravity.linear),
            contact_bodies=np.array([model.getJointId(point.joint) - 1 for point in robot.contacts], dtype=np.int64),
            contact_offsets=np.array([point.position for point in robot.contacts]),
        )
        return cls(
            tree,
            robot.inertial_parameters(),
            robot.motor,
            tuple(point.name for point in robot.contacts),
            np.array([point.radius for point in robot.contacts]),
            stage_kernel(tree, implementation),
            implementation,
        )

    def with_contact_offsets(self, offsets: Array) -> FloatingBase:
        """The robot with its spheres' centres elsewhere (nc, 3) in their bodies' frames [m]."""
        tree = self.tree._replace(contact_offsets=offsets)
        return replace(self, tree=tree, kernel=stage_kernel(tree, self.implementation))


def require_feet(robot: Robot) -> None:
    """Checks that a robot can walk.

    Raises:
        RobotError: its base is fixed, or no contact point is known.
    """
    if not robot.floating_base:
        raise RobotError(
            f"robot '{robot.name}' has a fixed base; PRIME needs a floating one: 'floating_base: true' if the URDF's is"
        )
    if not robot.contacts:
        raise RobotError(
            f"robot '{robot.name}' has no contact points; name the links that touch the ground in 'contacts.links'"
        )


@dataclass(frozen=True)
class ContactKinematics:
    """Contact spheres of N configurations.

    Attributes:
        centre: (N, nc, 3) in the world [m].
        rotation: (N, nc, 3, 3) of the body that carries each, to the world.
        linear, angular: (N, nc, 3, nv) Jacobians in the world of the centre and of the body's rotation.
    """

    centre: Array
    rotation: Array
    linear: Array
    angular: Array


def contact_kinematics(robot: FloatingBase, q: Array) -> ContactKinematics:
    """Where the contact spheres are at configurations (N, nq), and how they move."""
    return ContactKinematics(*robot.kernel.kinematics(np.ascontiguousarray(q)))


def inverse_dynamics(
    robot: FloatingBase, inertia: Array, q: Array, motion: DiscreteMotion, force: Array, moment: Array
) -> Array:
    """M a + h + joint friction - sum J' f at the N - 2 inner stages of configurations (N, nq): (N-2, nv) [N, N m].

    Args:
        robot: kinematics and friction.
        inertia: (n + 1, 10) parameters of every body.
        q, motion: configurations and their motion.
        force, moment: (N-2, nc, 3) on the robot at each sphere's centre, in the world [N, N m].
    """
    arguments = (np.ascontiguousarray(q[1:-1]), motion.velocity, motion.acceleration, inertia, force, moment)
    out = robot.kernel.dynamics(*arguments)
    out[:, 6:] += _joint_friction(robot.motor, motion)[0]
    return out


def inverse_dynamics_derivatives(
    robot: FloatingBase,
    inertia: Array,
    q: Array,
    motion: DiscreteMotion,
    force: Array,
    moment: Array,
    bodies: npt.NDArray[np.int64],
) -> tuple[Array, Array, Array]:
    """`inverse_dynamics` with derivatives; contact forces and moments are held in the world.

    Args:
        bodies: (nb,) bodies whose parameters to differentiate by; the other arguments as in `inverse_dynamics`.

    Returns:
        (N-2, nv) generalised forces; (N-2, nv, 3, nv) derivatives in the tangents of stages k-1, k, k+1; (N-2, nv,
        10 nb) derivatives in the bodies' parameters.
    """
    arguments = (np.ascontiguousarray(q[1:-1]), motion.velocity, motion.acceleration, inertia, force, moment)
    out, by_q, by_v, mass, regressor = robot.kernel.dynamics_derivatives(*arguments, bodies)
    friction, slope = _joint_friction(robot.motor, motion)
    joints = np.arange(6, robot.nv)
    out[:, 6:] += friction
    by_v[:, joints, joints] += slope
    mass[:, joints, joints] += robot.motor.armature
    by_stage = chain(motion, by_v, mass)
    by_stage[:, :, 1] += by_q
    return out, by_stage, regressor


def _joint_friction(motor: MotorConstants, motion: DiscreteMotion) -> tuple[Array, Array]:
    """Friction and armature torque (K, n) of the joints, and its derivative by the joint velocity."""
    velocity = motion.velocity[:, 6:]
    torque = friction_torque(motor, velocity, motion.acceleration[:, 6:], smoothing=REST)
    return torque, friction_slope(motor, velocity, smoothing=REST)
