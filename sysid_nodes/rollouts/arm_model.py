# SPDX-License-Identifier: Apache-2.0
"""The rigid-body arm in MuJoCo, without Coulomb friction.

Viscous friction and armature are MuJoCo's own, so its Runge-Kutta integrator evaluates them at every stage. Coulomb
friction is not: MuJoCo's ``frictionloss`` is a softened constraint, exactly F_c sign(qd) only above about 3e-3 rad/s on
the Gen3 (measured); at lower speeds, which an identifier still tells from zero, it is anywhere in [-F_c, F_c].
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import MotorConstants, Robot
from sysid_nodes.rollouts.rigid_body import quaternion, set_inertia


def build_mujoco(
    robot: Robot, bodies: Sequence[pinocchio.Inertia], motor: MotorConstants, load: tuple[int, pinocchio.Inertia] | None
) -> mujoco.MjModel:
    """A MuJoCo model of a fixed-base robot: no shapes, no contacts, no joint stops.

    Args:
        robot: kinematics and gravity.
        bodies: n inertias of the moving bodies in their joint frames.
        motor: viscous friction and armature are built in.
        load: index of the carrying body, and what is welded to it, in that body's joint frame.

    Raises:
        RobotError: the robot has a floating base, or an inertia is not that of a physical body.
    """
    try:
        return arm_spec(robot, bodies, motor, load).compile()
    except ValueError as error:
        line = " ".join(str(error).split())
        raise RobotError(f"robot '{robot.name}' cannot be simulated: {line}") from None


def arm_spec(
    robot: Robot, bodies: Sequence[pinocchio.Inertia], motor: MotorConstants, load: tuple[int, pinocchio.Inertia] | None
) -> mujoco.MjSpec:
    """The same, to be added to before it is compiled; bodies have their joints' names.

    Raises:
        RobotError: the robot has a floating base.
    """
    if robot.floating_base:
        raise RobotError(f"robot '{robot.name}' has a floating base; the simulated arm needs a fixed one")
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    spec.option.gravity = robot.model.gravity.linear
    parts = [spec.worldbody]
    data = robot.model.createData()
    pinocchio.computeJointJacobians(robot.model, data, np.zeros(robot.n))
    jacobian = np.reshape(data.J, (6, robot.n))  # pinocchio drops the second axis of a single joint's
    for k, name in enumerate(robot.joint_names):
        placement = robot.model.jointPlacements[k + 1]
        body = parts[robot.model.parents[k + 1]].add_body(name=name, pos=placement.translation)
        body.quat = quaternion(placement.rotation)
        set_inertia(body, bodies[k])
        joint = body.add_joint(name=name, armature=motor.armature[k])
        joint.damping[0] = motor.viscous[k]
        linear, angular = np.split(data.oMi[k + 1].actInv(pinocchio.Motion(jacobian[:, k])).vector, 2)
        revolute = np.linalg.norm(angular) > 0.5
        joint.type = mujoco.mjtJoint.mjJNT_HINGE if revolute else mujoco.mjtJoint.mjJNT_SLIDE
        joint.axis = angular if revolute else linear
        parts.append(body)
    if load is not None:
        set_inertia(parts[load[0] + 1].add_body(name="payload"), load[1])
    return spec
