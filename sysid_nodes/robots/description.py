# SPDX-License-Identifier: Apache-2.0
"""From a description (URDF text and what a URDF does not say) to a Robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.contacts import ContactSpec, with_contacts
from sysid_nodes.robots.robot import Array, JointLimits, MotorConstants, Primitive, Robot
from sysid_nodes.robots.urdf import ParsedUrdf, parse_urdf

T = TypeVar("T")


@dataclass(frozen=True)
class Joints:
    """Properties of the joints that a URDF lacks; a missing array leaves the URDF's values.

    Attributes:
        names: k joints, the order of the arrays.
        wraps: (k,) position arrives wrapped.
        limits, motor, encoder_step: as in Robot, (k,) each.
    """

    names: tuple[str, ...]
    limits: JointLimits | None = None
    motor: MotorConstants | None = None
    encoder_step: Array | None = None
    wraps: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class RobotDescription:
    """A registered robot: everything needed to build it.

    Attributes:
        name: what ``load_robot`` is called with.
        urdf: gives the URDF text of a variant.
        variants: names of the forms, the default first; one empty name where there is only one.
        body: link identified by default.
        locked: joints held at zero, as gripper fingers.
        floating_base: whether the base moves freely.
        joints: what the URDF does not say.
        geometry: gives the collision primitives of a variant.
        may_overlap: as in Robot.
        contacts: points that may touch the ground.
        motor_order, imu: as in Robot.
    """

    name: str
    urdf: Callable[[str], str]
    body: str
    variants: tuple[str, ...] = ("",)
    locked: tuple[str, ...] = ()
    floating_base: bool = False
    joints: Joints = field(default_factory=lambda: Joints(()))
    geometry: Callable[[str], tuple[Primitive, ...]] = lambda _variant: ()
    may_overlap: tuple[tuple[str, str], ...] | None = None
    contacts: tuple[ContactSpec, ...] = ()
    motor_order: tuple[str, ...] = ()
    imu: str = ""


def build_registered(description: RobotDescription, variant: str = "") -> Robot:
    """Builds a registered robot.

    Raises:
        RobotError: the robot has no such variant, or its URDF cannot be found or used.
    """
    variant = variant or description.variants[0]
    if variant not in description.variants:
        known = ", ".join(filter(None, description.variants)) or "none"
        raise RobotError(f"robot '{description.name}' has no variant '{variant}'; it has {known}")
    robot = build_robot(
        description.urdf(variant),
        name=description.name,
        variant=variant,
        source=description.name,
        locked=description.locked,
        floating_base=description.floating_base,
        body=description.body,
        joints=description.joints,
        geometry=description.geometry(variant),
    )
    robot = replace(robot, may_overlap=description.may_overlap)
    return replace(with_contacts(robot, description.contacts), motor_order=description.motor_order, imu=description.imu)


def build_on_urdf(description: RobotDescription, text: str, *, source: str = "") -> Robot:
    """Builds a registered robot on a URDF of the user's: that URDF's bodies, the registered robot's joint constants.

    The registered constants go to the joints of the same name; joints that the registered robot does not have, as
    those of a gripper, are held at zero. The collision primitives are kept only if the URDF
    puts these joints where the registered robot has them, for the shapes are given in joint frames; the default body,
    the IMU and the contact points are kept as far as the URDF has their links.

    Raises:
        RobotError: the URDF is unusable or lacks a joint that the registered robot has.
    """
    parsed = parse_urdf(text, source=source)
    if missing := [name for name in description.joints.names if name not in parsed.joint_types]:
        raise RobotError(f"no joint '{missing[0]}', which robot '{description.name}' has", source=source)
    if description.joints.names:
        locked = tuple(name for name in parsed.joint_types if name not in description.joints.names)
    else:
        locked = tuple(name for name in description.locked if name in parsed.joint_types)
    variant = description.variants[0]
    robot = build_robot(
        text,
        name=description.name,
        variant="urdf",
        source=source,
        locked=locked,
        floating_base=description.floating_base,
        body=description.body if description.body in parsed.links else "",
        joints=description.joints,
    )
    known = tuple(spec for spec in description.contacts if spec.link in parsed.links)
    imu = description.imu if description.imu in parsed.links else ""
    robot = replace(with_contacts(robot, known), motor_order=description.motor_order, imu=imu)
    geometry = description.geometry(variant)
    if geometry and _same_joint_frames(robot, build_registered(description, variant)):
        return replace(robot, geometry=geometry, may_overlap=description.may_overlap)
    return robot


def build_robot(
    text: str,
    *,
    name: str = "",
    variant: str = "",
    source: str = "",
    locked: tuple[str, ...] = (),
    floating_base: bool = False,
    body: str = "",
    joints: Joints | None = None,
    geometry: tuple[Primitive, ...] = (),
) -> Robot:
    """Builds a robot from URDF text.

    Viscous and Coulomb friction come from the URDF's ``dynamics`` unless ``joints`` has them; armature and offset are
    zero then. An effort or velocity limit of zero means that none is given.

    Args:
        source: file or topic, named in errors.
        body: default link; empty for the floating base, or where it is fixed, the one moved by the last joint.

    Raises:
        RobotError: the URDF does not parse, is not physical, or lacks the body, an actuated joint or one of `joints`.
    """
    parsed = parse_urdf(text, source=source, locked=locked)
    model = _build_model(parsed, source, floating_base=floating_base)
    names = tuple(str(joint) for joint in list(model.names)[2 if floating_base else 1 :])
    if not names:
        raise RobotError("the robot has no actuated joint", source=source)
    limits, motor = _urdf_limits(parsed, names), _urdf_motor(parsed, names)
    wraps = np.array([parsed.joint_types[joint] == "continuous" for joint in names])
    encoder_step = np.zeros(len(names))
    if joints is not None and joints.names:
        if strange := [joint for joint in joints.names if joint not in names]:
            raise RobotError(f"constants are given for joint '{strange[0]}', which it does not have", source=source)
        limits = _overlay(limits, joints.limits, joints.names, names)
        motor = _overlay(motor, joints.motor, joints.names, names)
        wraps = _scatter(wraps, joints.wraps, joints.names, names)
        encoder_step = _scatter(encoder_step, joints.encoder_step, joints.names, names)
    robot = Robot(
        name=name or parsed.name,
        variant=variant,
        urdf=text,
        model=model,
        joint_names=names,
        wraps=wraps,
        limits=limits,
        motor=motor,
        encoder_step=encoder_step,
        body=body or (_root_link(model) if floating_base else parsed.child_link[names[-1]]),
        geometry=geometry,
        floating_base=floating_base,
        repairs=parsed.repairs,
    )
    robot.body_index()  # the default body has to move with a joint
    return robot


def _build_model(parsed: ParsedUrdf, source: str, *, floating_base: bool) -> pinocchio.Model:
    """Pinocchio's model, its continuous joints without position limits."""
    root = (pinocchio.JointModelFreeFlyer(),) if floating_base else ()
    try:
        model = pinocchio.buildModelFromXML(parsed.rigid_text, *root)
    except (ValueError, RuntimeError) as error:
        raise RobotError("pinocchio rejects it: " + " ".join(str(error).split()), source=source) from None
    for joint, kind in parsed.joint_types.items():
        if kind == "continuous" and model.existJointName(joint):
            index = model.joints[model.getJointId(joint)].idx_q
            model.lowerPositionLimit[index], model.upperPositionLimit[index] = -np.inf, np.inf
    return model


def _root_link(model: pinocchio.Model) -> str:
    """The link that the free-flyer moves, the first where others are fixed to it."""
    moved = (frame for frame in model.frames if frame.parentJoint == 1)
    return next(str(frame.name) for frame in moved if frame.type == pinocchio.FrameType.BODY)


def _column(parsed: ParsedUrdf, names: tuple[str, ...], key: str, default: float) -> Array:
    return np.array([parsed.joint_values[joint].get(key, default) for joint in names])


def _urdf_limits(parsed: ParsedUrdf, names: tuple[str, ...]) -> JointLimits:
    def magnitude(key: str) -> Array:
        value = np.abs(_column(parsed, names, key, 0.0))
        return np.where(value > 0.0, value, np.inf)

    return JointLimits(
        position_lower=_column(parsed, names, "lower", -np.inf),
        position_upper=_column(parsed, names, "upper", np.inf),
        velocity=magnitude("velocity"),
        acceleration=np.full(len(names), np.inf),
        torque=magnitude("effort"),
    )


def _urdf_motor(parsed: ParsedUrdf, names: tuple[str, ...]) -> MotorConstants:
    zero = np.zeros(len(names))
    return MotorConstants(
        coulomb=_column(parsed, names, "friction", 0.0),
        viscous=_column(parsed, names, "damping", 0.0),
        armature=zero,
        offset=zero,
    )


def _overlay(base: T, known: T | None, known_names: tuple[str, ...], names: tuple[str, ...]) -> T:
    """A dataclass of per-joint arrays with the entries of ``known`` put in by joint name."""
    if known is None:
        return base
    columns = {
        item.name: _scatter(getattr(base, item.name), getattr(known, item.name), known_names, names)
        for item in fields(base)  # type: ignore[arg-type]
    }
    return type(base)(**columns)


def _scatter(base: Any, known: Any, known_names: tuple[str, ...], names: tuple[str, ...]) -> Any:
    if known is None:
        return base
    by_name = dict(zip(known_names, known, strict=True))
    return np.array([by_name.get(name, value) for name, value in zip(names, base, strict=True)])


def _same_joint_frames(robot: Robot, other: Robot) -> bool:
    """Whether the joints have the same names, parents and placements (to 0.1 mm and 0.1 mrad)."""
    if robot.joint_names != other.joint_names or list(robot.model.parents) != list(other.model.parents):
        return False
    pairs = zip(robot.model.jointPlacements.tolist(), other.model.jointPlacements.tolist(), strict=True)
    return all(a.isApprox(b, 1e-4) for a, b in pairs)
