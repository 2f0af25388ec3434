# SPDX-License-Identifier: Apache-2.0
"""The Kinova Gen3 as a registered robot: URDF text written from the constants."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import numpy as np

from sysid_nodes.robots.description import Joints, RobotDescription
from sysid_nodes.robots.kinova_gen3 import constants as gen3
from sysid_nodes.robots.kinova_gen3.geometry import cover


def urdf_text(variant: str) -> str:
    """URDF of the arm, ``bare`` or with the ``gripper``; the boxes of the collision model serve as its looks."""
    robot = ET.Element("robot", {"name": f"kinova_gen3_{variant}"})
    height = gen3.JOINT_XYZ[0][2]
    lateral = gen3.BASE_MASS * (3.0 * gen3.BASE_RADIUS**2 + height**2) / 12.0
    axial = 0.5 * gen3.BASE_MASS * gen3.BASE_RADIUS**2
    base = gen3.LinkInertia(gen3.BASE_MASS, (0.0, 0.0, 0.5 * height), (lateral, 0.0, 0.0, lateral, 0.0, axial))
    inertias = (base, *gen3.ARM_INERTIAS, gen3.LAST_LINK_INERTIAS[variant])
    for link, inertia in zip(gen3.LINKS, inertias, strict=True):
        _add_inertial(ET.SubElement(robot, "link", {"name": link}), inertia)
    ET.SubElement(robot, "link", {"name": gen3.END_EFFECTOR_LINK})
    for k, joint in enumerate(gen3.JOINTS):
        element = _add_joint(
            robot,
            joint,
            "continuous" if gen3.CONTINUOUS[k] else "revolute",
            gen3.LINKS[k : k + 2],
            gen3.JOINT_XYZ[k],
            gen3.JOINT_ROLL[k],
        )
        ET.SubElement(element, "axis", {"xyz": "0 0 1"})
        limit = {"effort": _text(gen3.TORQUE_URDF[k]), "velocity": _text(gen3.VELOCITY_URDF[k])}
        if not gen3.CONTINUOUS[k]:
            limit |= {"lower": _text(-gen3.POSITION_URDF[k]), "upper": _text(gen3.POSITION_URDF[k])}
        ET.SubElement(element, "limit", limit)
    ends = (gen3.LINKS[-1], gen3.END_EFFECTOR_LINK)
    _add_joint(robot, "end_effector", "fixed", ends, gen3.END_EFFECTOR_XYZ, gen3.END_EFFECTOR_ROLL)
    ET.indent(robot)
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def _text(*values: float) -> str:
    return " ".join(repr(float(value)) for value in values)


def _add_inertial(link: ET.Element, inertia: gen3.LinkInertia) -> None:
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", {"xyz": _text(*inertia.com), "rpy": "0 0 0"})
    ET.SubElement(inertial, "mass", {"value": _text(inertia.mass)})
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    ET.SubElement(inertial, "inertia", {key: _text(value) for key, value in zip(keys, inertia.tensor, strict=True)})


def _add_joint(
    robot: ET.Element, name: str, kind: str, ends: tuple[str, ...], xyz: tuple[float, float, float], roll: float
) -> ET.Element:
    joint = ET.SubElement(robot, "joint", {"name": name, "type": kind})
    ET.SubElement(joint, "origin", {"xyz": _text(*xyz), "rpy": _text(roll, 0.0, 0.0)})
    ET.SubElement(joint, "parent", {"link": ends[0]})
    ET.SubElement(joint, "child", {"link": ends[1]})
    return joint


DESCRIPTION = RobotDescription(
    name="kinova_gen3",
    urdf=urdf_text,
    body=gen3.LINKS[-1],
    variants=gen3.VARIANTS,
    joints=Joints(
        names=gen3.JOINTS,
        limits=gen3.LIMITS,
        motor=gen3.MOTOR_CONSTANTS["sysid"],
        encoder_step=gen3.ENCODER_STEP,
        # ros2_kortex wraps every position to [-pi, pi], also of the joints that cannot turn that far.
        wraps=np.full(len(gen3.JOINTS), True),
    ),
    geometry=cover,
    # Bodies that one joint holds together: their housings meet there at every angle.
    may_overlap=tuple(itertools.pairwise(("universe", *gen3.JOINTS))),
)
