# SPDX-License-Identifier: Apache-2.0
"""Writes identified drives and joints into the user's URDF or MJCF; every other byte of the file stays as it was.

A parameter that is not identified is not written: what the file says of it stays, and a comment says why. What a format
has no place for stands in the same comment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.xml_spans import (
    Element,
    append_child,
    comment_before,
    parse_spans,
    replace_child,
    set_attributes,
)

_TIMESTEP = 0.002  # MuJoCo's own [s]


@dataclass(frozen=True)
class DrivenJoint:
    """Knowledge of a joint and its drive; only what is known is there.

    Attributes:
        told: values by name: armature [kg m2], viscous [N m s/rad], coulomb [N m], delay [s], encoder_bias [rad], ...
        untold: why the others are not known, by name.
        stiffness, damping: gains of the drive, identified strength included; None where nobody states them.
        torque_limit, no_load_speed: of the drive; None where there is none.
    """

    name: str
    told: Mapping[str, float]
    untold: Mapping[str, str] = field(default_factory=dict)
    stiffness: float | None = None
    damping: float | None = None
    torque_limit: float | None = None
    no_load_speed: float | None = None


def export_joints(data: bytes, joints: Sequence[DrivenJoint], *, source: str = "") -> bytes:
    """A URDF or MJCF file with identified joints.

    Args:
        joints: that are written; the file must have them all.
        source: file name for errors.

    Raises:
        RobotError: the file is not XML, neither URDF nor MJCF, or lacks a joint.
    """
    try:
        root = parse_spans(data)
        writers = {"robot": _into_urdf, "mujoco": _into_mjcf}
        if root.tag not in writers:
            raise RobotError(f"neither URDF nor MJCF: the root element is <{root.tag}>")
        for joint in joints:
            data = writers[root.tag](data, joint)
    except RobotError as error:
        raise error if error.source or not source else RobotError(str(error), source=source) from None
    return data


def _into_urdf(data: bytes, joint: DrivenJoint) -> bytes:
    element = _joint(parse_spans(data).children_named("joint"), joint.name)
    names = {"damping": "viscous", "friction": "coulomb"}
    values = {attribute: repr(joint.told[name]) for attribute, name in names.items() if name in joint.told}
    dynamics = element.first_child("dynamics")
    if values and dynamics is not None:
        data = set_attributes(data, dynamics, values)
    elif values:
        text = " ".join(f'{name}="{value}"' for name, value in values.items())
        data = replace_child(data, element, "dynamics", text, ())
    return _note(data, joint, frozenset(names.values()), "a URDF")


def _into_mjcf(data: bytes, joint: DrivenJoint) -> bytes:
    root = parse_spans(data)
    bodies = [element for world in root.children_named("worldbody") for element in world.walk()]
    element = _joint([item for item in bodies if item.tag == "joint"], joint.name)
    step = timestep(root)
    names = {"armature": "armature", "damping": "viscous", "frictionloss": "coulomb"}
    values = {attribute: repr(joint.told[name]) for attribute, name in names.items() if name in joint.told}
    if "frictionloss" in values:
        # MuJoCo's own value makes the friction of a light joint turn over within 0.1 rad/s: viscous, not dry.
        values["solreffriction"] = f"{2.0 * step!r} 1"
    data = set_attributes(data, element, values)
    written = set(names.values())
    if joint.stiffness is not None and joint.damping is not None:
        data = _drive(data, joint, step)
        written.add("delay")
    return _note(data, joint, frozenset(written), "an MJCF")


def _drive(data: bytes, joint: DrivenJoint, step: float) -> bytes:
    """Sets the position actuator of a joint, or adds one."""
    values = {"kp": repr(joint.stiffness), "kv": repr(joint.damping)}
    if joint.torque_limit is not None:
        values["forcerange"] = f"{-joint.torque_limit!r} {joint.torque_limit!r}"
    if "delay" in joint.told:
        delay = joint.told["delay"]
        values |= {"delay": repr(delay), "nsample": str(math.ceil(delay / step) + 2), "interp": "linear"}
    root = parse_spans(data)
    sections = root.children_named("actuator")
    own = [drive for section in sections for drive in section.children if drive.attributes.get("joint") == joint.name]
    if others := [drive.tag for drive in own if drive.tag != "position"]:
        raise RobotError(f"joint '{joint.name}' has a <{others[0]}> actuator; gains have a place in <position> alone")
    if own:
        return set_attributes(data, own[0], values)
    text = " ".join(f'{name}="{value}"' for name, value in values.items())
    line = f'<position name="{joint.name}" joint="{joint.name}" {text}/>'
    if sections:
        return append_child(data, sections[-1], line)
    data = append_child(data, root, "<actuator/>")
    return append_child(data, parse_spans(data).children_named("actuator")[-1], line)


def _note(data: bytes, joint: DrivenJoint, written: frozenset[str], format_: str) -> bytes:
    """A comment about what is not written."""
    homeless = [f"{name} {value:.6g}" for name, value in joint.told.items() if name not in written]
    parts = [f"{name} is not identified, {reason}" for name, reason in joint.untold.items()]
    if homeless:
        parts.append(f"identified, but without a place in {format_}: {', '.join(homeless)}")
    if not parts:
        return data
    root = parse_spans(data)
    found = _joint([item for item in root.walk() if item.tag == "joint"], joint.name)
    return comment_before(data, found, "sysid: " + "; ".join(parts))


def _joint(elements: Sequence[Element], name: str) -> Element:
    for element in elements:
        if element.attributes.get("name") == name:
            return element
    raise RobotError(f"has no joint '{name}'")


def timestep(root: Element) -> float:
    """Of an MJCF's simulation [s]."""
    for option in root.children_named("option"):
        if "timestep" in option.attributes:
            return float(option.attributes["timestep"])
    return _TIMESTEP
