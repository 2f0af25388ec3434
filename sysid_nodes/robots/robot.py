# SPDX-License-Identifier: Apache-2.0
"""Description of a robot: its rigid-body model, joints, limits, motors and shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import RobotError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JointLimits:
    """Limits on a commanded motion, one entry a joint; infinite where the robot has none.

    Attributes:
        position_lower, position_upper: (n,) [rad or m].
        velocity, acceleration: (n,) magnitudes [rad/s, rad/s2 or m/s, m/s2].
        torque: (n,) magnitudes [N m or N].
    """

    position_lower: Array
    position_upper: Array
    velocity: Array
    acceleration: Array
    torque: Array


@dataclass(frozen=True)
class MotorConstants:
    """Joint-side constants of tau_f = F_c sign(qd) + F_v qd + I_a qdd + beta.

    Attributes:
        coulomb: (n,) F_c [N m].
        viscous: (n,) F_v [N m s/rad].
        armature: (n,) I_a [kg m2].
        offset: (n,) beta [N m].
    """

    coulomb: Array
    viscous: Array
    armature: Array
    offset: Array


@dataclass(frozen=True)
class Primitive:
    """A convex shape that covers a part of the robot.

    Attributes:
        frame: joint whose frame carries the shape; ``universe`` is the fixed base.
        kind: ``sphere``, ``capsule`` or ``box``.
        position: (3,) centre in the joint frame [m].
        rotation: (3, 3) of the shape's axes into the joint frame; a capsule lies along its z axis.
        size: sphere (radius,), capsule (radius, half length), box (three half extents) [m].
        load: whether it is room for what the robot carries, and no part of the robot itself.
    """

    frame: str
    kind: str
    position: Array
    rotation: Array
    size: Array
    load: bool = False


@dataclass(frozen=True)
class ContactPoint:
    """A sphere fixed to a moving body that may touch the ground, at its lowest point and not at its centre.

    Attributes:
        name: of the point.
        link: URDF link that it was given in.
        joint: joint whose frame carries it (``root_joint``: the floating base).
        position: (3,) centre of the sphere in the joint's frame [m].
        radius: of the sphere [m]; 0 for a bare point.
    """

    name: str
    link: str
    joint: str
    position: Array
    radius: float


@dataclass(frozen=True)
class Robot:
    """A robot whose moving joints all have one degree of freedom, but for a floating base.

    Attributes:
        name: registered name, or the name in the URDF.
        variant: which of the registered robot's forms, e.g. with or without a gripper.
        urdf: the URDF text the robot was built from, untouched.
        model: pinocchio model with the actuated joints only (continuous joints are unbounded revolute ones, mimic
            and locked joints are fixed at zero); joint 1 is a free-flyer on a floating base.
        joint_names: n actuated joints in the model's order.
        wraps: (n,) whether a joint's measured position may arrive wrapped to [-pi, pi].
        limits, motor: of the actuated joints, same order.
        encoder_step: (n,) resolution of the measured position [rad or m], 0 where unknown.
        body: link that is identified unless another is asked for.
        geometry: shapes that cover the robot; empty where unknown.
        may_overlap: pairs of joints (``universe``: the base) whose bodies meet by design, so that their shapes are
            not kept apart; None where nobody has listed them.
        floating_base: whether the base moves freely.
        contacts: points that may touch the ground; empty where none is known.
        motor_order: joint names in the order of the vendor's own messages; empty where those carry names.
        imu: link that carries the inertial sensor; empty where none is known.
        repairs: what of the description could not be and was corrected, a line each.
    """

    name: str
    variant: str
    urdf: str
    model: pinocchio.Model
    joint_names: tuple[str, ...]
    wraps: npt.NDArray[np.bool_]
    limits: JointLimits
    motor: MotorConstants
    encoder_step: Array
    body: str
    geometry: tuple[Primitive, ...]
    floating_base: bool
    contacts: tuple[ContactPoint, ...] = ()
    motor_order: tuple[str, ...] = ()
    imu: str = ""
    may_overlap: tuple[tuple[str, str], ...] | None = None
    repairs: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of actuated joints."""
        return len(self.joint_names)

    def body_index(self, link: str = "") -> int:
        """Index of the moving joint that carries a link, 0 for the first (on a floating base: the base itself).

        Args:
            link: link name; empty for the robot's default body.

        Raises:
            RobotError: the robot has no such link, or the link is fixed to the ground.
        """
        link = link or self.body
        links = {frame.name: frame for frame in self.model.frames if frame.type == pinocchio.FrameType.BODY}
        if link not in links:
            raise RobotError(f"robot '{self.name}' has no link '{link}'; it has {', '.join(sorted(links))}")
        joint = int(links[link].parentJoint)
        if joint == 0:
            raise RobotError(f"link '{link}' of robot '{self.name}' does not move")
        return joint - 1

    @property
    def warning(self) -> str:
        """The corrections, in one line; empty where there are none."""
        more = f", and {len(self.repairs) - 1} more" if len(self.repairs) > 1 else ""
        return f"robot '{self.name}': {self.repairs[0]}{more}; corrected" if self.repairs else ""

    def inertial_parameters(self) -> Array:
        """Parameters of every moving joint's body, about the joint frame's origin and in the joint frame.

        Returns:
            (n, 10) in pinocchio's order; (n + 1, 10) with the base first on a floating base.
        """
        return np.array([inertia.toDynamicParameters() for inertia in self.model.inertias.tolist()[1:]])
