# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo model of a legged robot, built from its pinocchio model so that both have the same bodies and joints.

MuJoCo's semi-implicit Euler integrator is used, damping explicit: a step is exactly the discrete dynamics
M(q_k) (v_{k+1} - v_k) = dt (B tau - h(q_k, v_k) + sum J_i' f_i), in MuJoCo's base coordinates, and a contact force is
constant over a step, so that its mean over any number of steps is the impulse divided by time.

Friction cones are elliptic (isotropic Coulomb friction). Ground contact is compliant as MuJoCo's is: ``GroundConfig``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import pinocchio

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Primitive
from sysid_nodes.rollouts.rigid_body import quaternion, set_inertia


@dataclass(frozen=True)
class GroundConfig:
    """Level ground at height zero."""

    friction: float = option(0.8, "Coulomb friction coefficient of every contact point", unit="1", minimum=0.01)
    time_constant: float = option(
        0.01, "of MuJoCo's contact model (solref); larger is softer", unit="s", minimum=1e-3, maximum=1.0
    )
    damping_ratio: float = option(1.0, "of MuJoCo's contact model; below 1 the feet bounce", unit="1", minimum=0.05)
    friction_stiffness: float = option(
        10.0, "friction's stiffness relative to the normal direction (impratio); more means less creep", minimum=1.0
    )
    friction_time_constant: float = option(
        0.002,
        "of friction, two integrator steps at least; MuJoCo's feet creep at a speed proportional to it",
        unit="s",
        minimum=2e-4,
        maximum=1.0,
    )


def require_walker(robot: Robot) -> None:
    """Checks that a robot can be simulated walking.

    Raises:
        RobotError: the robot has a fixed base, no contact points or no IMU.
    """
    if not robot.floating_base:
        raise RobotError(f"robot '{robot.name}' has a fixed base; the legged simulation needs a floating one")
    if not robot.contacts or not robot.imu:
        raise RobotError(f"robot '{robot.name}' has no contact points or no IMU; the legged simulation needs both")


def build_legged_mujoco(
    robot: Robot,
    bodies: Sequence[pinocchio.Inertia],
    shell: Sequence[Primitive],
    ground: GroundConfig,
    *,
    timestep: float,
    footholds: bool = False,
) -> mujoco.MjModel:
    """A floating-base robot over level ground; only its contact spheres and its shell touch the ground.

    Coordinates follow pinocchio's order; see ``state.py`` for the base's differing conventions. Actuators are plain
    generalised forces (``qfrc_applied``). Joint stops, viscous friction, Coulomb friction and armature are the robot's.

    Args:
        robot: kinematics, joint friction and armature; its contact points become geoms of their names (MuJoCo orders
            geoms by body), its IMU the accelerometer of ``sensordata`` (specific force in the sensor's frame).
        bodies: inertias of the moving bodies in their joint frames, the base first.
        shell: shapes that touch the ground only when the robot falls.
        ground: friction and compliance.
        timestep: [s].
        footholds: whether each contact point has ground of its own, a plane of the name ``foothold`` that may be moved.

    Raises:
        RobotError: the robot has a fixed base, joints that are not revolute, no contact points or no IMU.
    """
    require_walker(robot)
    spec = mujoco.MjSpec()
    _set_options(spec, robot, ground, timestep)
    floor = spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    _set_contact(floor, ground, collides_with=1, seen_by=2)
    parts = _add_bodies(spec, robot, bodies)
    _add_feet(spec, parts, robot, ground, footholds=footholds)
    _add_shell(parts, robot, shell, ground)
    _add_accelerometer(spec, parts, robot)
    model = spec.compile()
    _check_order(model, robot)
    return model


def _set_options(spec: mujoco.MjSpec, robot: Robot, ground: GroundConfig, timestep: float) -> None:
    spec.compiler.degree = False
    option_ = spec.option
    option_.timestep = timestep
    option_.integrator = mujoco.mjtIntegrator.mjINT_EULER
    option_.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option_.impratio = ground.friction_stiffness
    option_.gravity = robot.model.gravity.linear
    option_.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)


_SHAPES = {
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "box": mujoco.mjtGeom.mjGEOM_BOX,
}


def _add_bodies(spec: mujoco.MjSpec, robot: Robot, bodies: Sequence[pinocchio.Inertia]) -> list[mujoco.MjsBody]:
    """The bodies by pinocchio joint index, the world first."""
    parts = [spec.worldbody]
    base = spec.worldbody.add_body(name="base")
    base.add_freejoint(name="root_joint")
    set_inertia(base, bodies[0])
    parts.append(base)
    data = robot.model.createData()
    pinocchio.computeJointJacobians(robot.model, data, pinocchio.neutral(robot.model))
    for k, name in enumerate(robot.joint_names):
        index = k + 2
        placement = robot.model.jointPlacements[index]
        body = parts[robot.model.parents[index]].add_body(
            name=name, pos=placement.translation, quat=quaternion(placement.rotation)
        )
        set_inertia(body, bodies[k + 1])
        joint = body.add_joint(name=name, armature=robot.motor.armature[k], frictionloss=robot.motor.coulomb[k])
        joint.damping[0] = robot.motor.viscous[k]
        motion = data.oMi[index].actInv(pinocchio.Motion(data.J[:, robot.model.joints[index].idx_v]))
        if np.linalg.norm(motion.angular) < 0.5:
            raise RobotError(f"joint '{name}' of robot '{robot.name}' is not revolute")
        joint.type = mujoco.mjtJoint.mjJNT_HINGE
        joint.axis = motion.angular
        joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
        joint.range = [robot.limits.position_lower[k], robot.limits.position_upper[k]]
        parts.append(body)
    return parts


def foothold(point: str) -> str:
    """Name of the ground that a contact point has for its own."""
    return f"{point}_foothold"


def _add_feet(
    spec: mujoco.MjSpec, parts: Sequence[mujoco.MjsBody], robot: Robot, ground: GroundConfig, *, footholds: bool
) -> None:
    for point in robot.contacts:
        geom = parts[robot.model.getJointId(point.joint)].add_geom(
            name=point.name, type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[point.radius, 0.0, 0.0], pos=point.position
        )
        geom.contype, geom.conaffinity, geom.mass = 0, 0, 0.0
        floor = "ground"
        if footholds:
            floor = foothold(point.name)
            plane = spec.worldbody.add_geom(name=floor, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
            plane.contype, plane.conaffinity = 0, 0
        _add_pair(spec, floor, point.name, ground)


def _add_shell(parts: Sequence[mujoco.MjsBody], robot: Robot, shell: Sequence[Primitive], ground: GroundConfig) -> None:
    for number, shape in enumerate(shell):
        geom = parts[robot.model.getJointId(shape.frame)].add_geom(
            name=f"shell_{number}", type=_SHAPES[shape.kind], pos=shape.position, quat=quaternion(shape.rotation)
        )
        geom.size[: len(shape.size)] = shape.size
        _set_contact(geom, ground, collides_with=2, seen_by=1)


def _add_accelerometer(spec: mujoco.MjSpec, parts: Sequence[mujoco.MjsBody], robot: Robot) -> None:
    imu = robot.model.frames[robot.model.getFrameId(robot.imu)]
    parts[int(imu.parentJoint)].add_site(
        name="imu", pos=imu.placement.translation, quat=quaternion(imu.placement.rotation)
    )
    spec.add_sensor(
        name="accelerometer",
        type=mujoco.mjtSensor.mjSENS_ACCELEROMETER,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname="imu",
    )


def _set_contact(geom: mujoco.MjsGeom, ground: GroundConfig, *, collides_with: int, seen_by: int) -> None:
    geom.contype, geom.conaffinity, geom.condim = seen_by, collides_with, 3
    geom.friction = [ground.friction, 0.0, 0.0]
    geom.solref[:2] = [ground.time_constant, ground.damping_ratio]
    geom.mass = 0.0


def _add_pair(spec: mujoco.MjSpec, floor: str, name: str, ground: GroundConfig) -> None:
    """Contact of a foot with its ground, its friction stiffer than its normal direction.

    A friction row brakes the velocity v = J qd of the contact by J qdd = -v / tau' and leaves out dJ/dt qd: a foot
    that sticks while the robot moves creeps at about tau' dJ/dt qd, 3 mm/s on the Go2 with 0.01 s for friction too.
    Real feet do not, and only an explicit pair has a reference of its own for friction.
    """
    pair = spec.add_pair(geomname1=floor, geomname2=name, condim=3)
    pair.friction = [ground.friction, ground.friction, 0.0, 0.0, 0.0]
    pair.solref[:2] = [ground.time_constant, ground.damping_ratio]
    pair.solreffriction[:2] = [ground.friction_time_constant, 1.0]


def _check_order(model: mujoco.MjModel, robot: Robot) -> None:
    names = tuple(model.joint(i).name for i in range(1, model.njnt))
    if names != robot.joint_names:
        raise RobotError(f"robot '{robot.name}': MuJoCo orders the joints differently from pinocchio")
