# SPDX-License-Identifier: Apache-2.0
"""The paper's five robots, and Cassie's leg, as mechanisms of joints with one coordinate each.

A floating base is six joints without a motor, three slides and three hinges (x, y, z, then about z, y, x: attitudes up
to a quarter turn). Feet that stand are held by closed loops through the ground, the paper's bilateral contacts: points
for the quadruped's feet, welds for the biped's soles. In the truth a floor pushes them (bayesian_world.py). The
multirotor's rotors give a known wrench at its base, as motors of these six joints.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pinocchio

from benchmarks.bayesian_cassie import LOOPS, ROTORS, cassie_leg
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.robots.description import build_robot
from sysid_nodes.robots.example_robots import example_urdf
from sysid_nodes.systems.bayesian.config import (
    BayesianConfig,
    FrictionPriorConfig,
    InertiaPriorConfig,
    MechanismConfig,
    NoiseConfig,
    SearchConfig,
)

Array = npt.NDArray[np.float64]

BASE = ("base_x", "base_y", "base_z", "base_yaw", "base_pitch", "base_roll")
_AXES = ("1 0 0", "0 1 0", "0 0 1", "0 0 1", "0 1 0", "1 0 0")
_DUMMY = '<inertial><mass value="1e-6"/><inertia ixx="1e-9" iyy="1e-9" izz="1e-9" ixy="0" ixz="0" iyz="0"/></inertial>'
_SIDES = ("left", "right")


@dataclass(frozen=True)
class BenchRobot:
    """A robot, how it moves and how it is identified.

    Attributes:
        name: as the paper has it.
        robot: nominal, its friction zero.
        config: of the identification.
        rest: (n,) posture about which it moves [rad, m].
        reach: (n,) amplitude of what is free to be chosen [rad, m]; zero where loops lead a joint.
        gains: stiffness and damping of the position control.
        friction: upper ends of Coulomb's and viscous friction [N m, N m s/rad]; zero for none.
        feet: points that stand on the floor: the joint that carries each, and its place there [m].
    """

    name: str
    robot: Robot
    config: BayesianConfig
    rest: Array
    reach: Array
    gains: tuple[float, float]
    friction: tuple[float, float]
    feet: tuple[tuple[str, tuple[float, ...]], ...] = ()


@cache
def bench_robot(name: str) -> BenchRobot:
    """One of ROBOTS, or "cassie"."""
    return _BUILDERS[name]()


def _cassie() -> BenchRobot:
    robot = build_robot(cassie_leg(), name="cassie")
    armature = np.array([ROTORS.get(name, 0.0) for name in robot.joint_names])
    robot = replace(robot, motor=replace(robot.motor, armature=armature))
    reach = dict(zip(ROTORS, (0.15, 0.15, 0.25, 0.25, 0.25), strict=True))
    own = _fixed_base(
        "cassie", robot, np.zeros(robot.n), np.array([reach.get(name, 0.0) for name in robot.joint_names]),
        (400.0, 10.0), (1.5, 1.0),
    )  # fmt: skip
    passive = tuple(name for name in robot.joint_names if name not in ROTORS)
    bodies = "hip-roll,hip-yaw,hip-pitch,knee,tarsus,foot-crank,plantar-rod,foot,achilles-rod"
    config = replace(
        own.config,
        mechanism=MechanismConfig(loops=LOOPS, passive=passive),
        inertia=InertiaPriorConfig(bodies=bodies),
        friction=replace(own.config.friction, passive="none"),
    )
    return replace(own, config=config)


def _pendulum() -> BenchRobot:
    robot = build_robot(example_urdf("double_pendulum_description/urdf/double_pendulum_simple.urdf"))
    return _fixed_base("pendulum", robot, np.array([0.4, 0.3]), np.array([1.0, 1.2]), (4.0, 0.2), (0.06, 0.04))


def _manipulator() -> BenchRobot:
    rest = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.6, 0.6])
    return _fixed_base("manipulator", load_robot("panda"), rest, np.full(7, 0.6), (600.0, 50.0), (1.0, 1.0))


def _multirotor() -> BenchRobot:
    text = example_urdf("hextilt_description/urdf/hextilt_flying_arm_5.urdf")
    arm = tuple(str(joint.get("name")) for joint in ET.fromstring(text).iter("joint") if joint.get("type") != "fixed")
    robot = build_robot(_afloat(text, "hextilt__base_link", {}), name="hextilt", locked=arm)
    reach = np.array([0.4, 0.4, 0.4, 0.5, 0.4, 0.4])
    own = _fixed_base("multirotor", robot, np.zeros(6), reach, (30.0, 8.0), (0.0, 0.0))
    inertia = InertiaPriorConfig(bodies="hextilt__base_link")
    friction = FrictionPriorConfig(motors="none", passive="none")
    return replace(own, config=replace(own.config, inertia=inertia, friction=friction))


def _quadruped() -> BenchRobot:
    go2 = load_robot("go2")
    rest = np.tile([0.0, 0.9, -1.8], 4)
    feet = {point.link: "point" for point in go2.contacts}
    reach = 0.5 * np.array([0.05, 0.05, 0.04, 0.2, 0.2, 0.25])
    return _standing_robot("quadruped", go2, (), rest, feet, reach, (300.0, 8.0), (1.0, 0.3))


def _biped() -> BenchRobot:
    g1 = load_robot("g1")
    legs = [name for name in g1.joint_names if any(part in name for part in ("hip", "knee", "ankle"))]
    above = tuple(name for name in g1.joint_names if name not in legs)
    place = {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}
    rest = np.array([next((v for part, v in place.items() if part in name), 0.0) for name in legs])
    feet = {f"{side}_ankle_roll_link": "weld" for side in _SIDES}
    reach = 0.3 * np.array([0.06, 0.06, 0.05, 0.2, 0.15, 0.15])
    return _standing_robot("biped", g1, above, rest, feet, reach, (1500.0, 40.0), (1.0, 0.5))


_BUILDERS = {
    "pendulum": _pendulum,
    "manipulator": _manipulator,
    "multirotor": _multirotor,
    "quadruped": _quadruped,
    "biped": _biped,
    "cassie": _cassie,
}
ROBOTS = tuple(_BUILDERS)[:5]
"""The paper's."""


def _fixed_base(
    name: str, robot: Robot, rest: Array, reach: Array, gains: tuple[float, float], friction: tuple[float, float]
) -> BenchRobot:
    prior = FrictionPriorConfig(coulomb_sigma=friction[0] or 1.0, viscous_sigma=friction[1] or 1.0)
    config = BayesianConfig(held_out=0.0, friction=prior, noise=NoiseConfig(rounds=6), search=SearchConfig(starts=1))
    none = np.zeros(robot.n)
    motor = MotorConstants(none, none, robot.motor.armature, none)
    return BenchRobot(name, replace(robot, motor=motor), config, rest, reach, gains, friction)


def _standing_robot(
    name: str,
    legged: Robot,
    locked: tuple[str, ...],
    rest: Array,
    feet: dict[str, str],
    reach: Array,
    gains: tuple[float, float],
    friction: tuple[float, float],
) -> BenchRobot:
    """With each foot held where it is when the legs are at rest and the base is at the origin."""
    root = _root(legged.urdf)
    free = build_robot(_afloat(legged.urdf, root, {}), locked=locked)
    data, q = free.model.createData(), np.concatenate([np.zeros(6), rest])
    pinocchio.framesForwardKinematics(free.model, data, q)
    anchors = {link: data.oMf[free.model.getFrameId(link)] for link in feet}
    robot = build_robot(_afloat(legged.urdf, root, anchors), name=legged.name, locked=locked)
    armature = dict(zip(legged.joint_names, legged.motor.armature, strict=True))
    none = np.zeros(robot.n)
    motor = MotorConstants(none, none, np.array([armature.get(joint, 0.0) for joint in robot.joint_names]), none)
    robot = replace(robot, motor=motor)
    reach = np.concatenate([reach, np.zeros(len(rest))])
    own = _fixed_base(name, robot, q, reach, gains, friction)
    frames = [frame for frame in robot.model.frames.tolist() if frame.type == pinocchio.FrameType.BODY]
    links = {frame.parentJoint: frame.name for frame in reversed(frames) if frame.parentJoint >= len(BASE)}
    mechanism = MechanismConfig(
        loops=tuple(f"{link}:ground_{link}:{kind}" for link, kind in feet.items()), passive=BASE
    )
    config = replace(
        own.config,
        step=0.02,
        mechanism=mechanism,
        inertia=InertiaPriorConfig(bodies=",".join(links.values())),
        friction=replace(own.config.friction, passive="none"),
        noise=replace(own.config.noise, passive=0.1),  # [N, N m] at a base of some hundred newtons
    )
    points = tuple(
        (point.joint, tuple(_place(robot, link) if feet[link] == "point" else point.position))
        for point in legged.contacts
        for link in feet
        if point.link == link
    )
    return replace(own, config=config, feet=points)


def _place(robot: Robot, link: str) -> Array:
    return np.asarray(robot.model.frames[robot.model.getFrameId(link)].placement.translation)


def _root(urdf: str) -> str:
    tree = ET.fromstring(urdf)
    children = {str(joint.find("child").get("link")) for joint in tree.iter("joint")}  # type: ignore[union-attr]
    return next(str(link.get("name")) for link in tree.findall("link") if link.get("name") not in children)


def _afloat(urdf: str, root: str, anchors: dict[str, pinocchio.SE3]) -> str:
    """The URDF with six joints under its root, and links fixed to the ground at the anchors."""
    parts, parent = ['<link name="ground"/>'], "ground"
    for name, axis in zip(BASE, _AXES, strict=True):
        child = root if name == BASE[-1] else f"{name}_link"
        kind = "prismatic" if name in BASE[:3] else "revolute"
        parts.append(
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
            '<limit lower="-1" upper="1" effort="0" velocity="0"/></joint>'
        )
        parts.extend([] if child == root else [f'<link name="{child}">{_DUMMY}</link>'])
        parent = child
    for link, place in anchors.items():
        xyz, rpy = (
            " ".join(repr(float(x)) for x in v) for v in (place.translation, pinocchio.rpy.matrixToRpy(place.rotation))
        )
        parts.append(
            f'<link name="ground_{link}"/><joint name="ground_{link}_fixed_base" type="fixed"><parent link="ground"/>'
            f'<child link="ground_{link}"/><origin xyz="{xyz}" rpy="{rpy}"/></joint>'
        )
    return urdf.replace("</robot>", "".join(parts) + "</robot>")
