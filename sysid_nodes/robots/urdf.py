# SPDX-License-Identifier: Apache-2.0
"""Checks a URDF before pinocchio reads it: structure, inertia, joint types and limits.

Pinocchio and its parser accept bodies that cannot exist and report faults on stderr; here each is one RobotError that
names the link or joint. What is handed on to pinocchio (``rigid_text``) has neither meshes nor anything but links and
joints, with continuous joints written as unbounded revolute ones (one coordinate each, not two) and mimic or locked
joints fixed at zero.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import RobotError

MOVING = ("revolute", "continuous", "prismatic")
_UNBOUNDED = 1e9
"""Stands for no limit in the text given to pinocchio, whose parser wants a number."""

_TINY = 1e-4
"""Correction of a link's inertia that passes, for each kilogram of the robot [m2]: one of a centimetre's size."""

INERTIA_TOLERANCE = 1e-3
"""How far a link may miss physical consistency, relative to its inertia's trace: room for rounded decimals, no more."""


@dataclass(frozen=True)
class ParsedUrdf:
    """Contents of a URDF.

    Attributes:
        links: link names in the file's order.
        joint_types: type of every joint that still moves (revolute, continuous, prismatic).
        joint_values: numbers of ``limit`` (lower, upper, effort, velocity) and ``dynamics`` (damping, friction) of the
            moving joints, only those that were given.
        child_link: the link that each moving joint moves.
        rigid_text: the URDF for pinocchio, see the module's text.
        repairs: inertias that no body has, but so nearly or so small that they were corrected, a line each.
    """

    name: str
    links: tuple[str, ...]
    joint_types: dict[str, str]
    joint_values: dict[str, dict[str, float]]
    child_link: dict[str, str]
    rigid_text: str
    repairs: tuple[str, ...] = ()


def parse_urdf(text: str, *, source: str = "", locked: tuple[str, ...] = ()) -> ParsedUrdf:
    """Checks a URDF and reads what the suite needs of it.

    Args:
        source: file or topic, named in errors.
        locked: joints to fix at zero.

    Raises:
        RobotError: the text is not XML, is a xacro file, is not a tree of links, has a joint of an unsupported type or
            a body that is not physical.
    """
    try:
        return _parse(text, locked)
    except RobotError as error:
        raise RobotError(str(error), source=source) from None


def _parse(text: str, locked: tuple[str, ...]) -> ParsedUrdf:
    try:
        # A declaration like encoding="utf-8" is refused in str input by some parsers; bytes are always fine.
        root = ET.fromstring(text.encode("utf-8"))
    except ET.ParseError as error:
        raise RobotError(f"not valid XML: {error}") from None
    _refuse_xacro(root)
    if root.tag != "robot":
        raise RobotError(f"not a URDF: the root element is <{root.tag}>, not <robot>")
    links = _names(root, "link")
    _names(root, "joint")
    tiny = _TINY * sum(_mass(link) for link in root.findall("link"))
    repairs = tuple(filter(None, [_check_link(link, tiny) for link in root.findall("link")]))
    moved = _read_tree(root, links)
    if unknown := [joint for joint in locked if joint not in moved]:
        raise RobotError(f"no joint '{unknown[0]}' to lock")
    joint_types: dict[str, str] = {}
    joint_values: dict[str, dict[str, float]] = {}
    for joint in root.findall("joint"):
        name, kind = joint.get("name", ""), joint.get("type", "")
        if kind == "fixed" or joint.find("mimic") is not None or name in locked:
            continue
        if kind not in MOVING:
            raise RobotError(f"joint '{name}' is of type '{kind}'; only fixed, {', '.join(MOVING)} are supported")
        joint_types[name] = kind
        joint_values[name] = _joint_values(joint, kind)
    if not joint_types:
        raise RobotError("the robot has no actuated joint")
    return ParsedUrdf(
        name=root.get("name") or "robot",
        links=links,
        joint_types=joint_types,
        joint_values=joint_values,
        child_link={name: moved[name] for name in joint_types},
        rigid_text=_rigid_text(root, joint_types),
        repairs=repairs,
    )


def mimic_joints(text: str) -> dict[str, str]:
    """Joints that follow another one, which are held at zero, and which one."""
    found = ((joint.get("name", ""), joint.find("mimic")) for joint in ET.fromstring(text).findall("joint"))
    return {name: mimic.get("joint", "") for name, mimic in found if mimic is not None}


def _refuse_xacro(root: ET.Element) -> None:
    for element in root.iter():
        values = [element.tag, *element.attrib.values()]
        if "xacro" in element.tag or any(mark in value for value in values for mark in ("${", "$(")):
            raise RobotError("this is a xacro file; expand it first: xacro robot.urdf.xacro > robot.urdf")


def _names(root: ET.Element, tag: str) -> tuple[str, ...]:
    names = [element.get("name", "") for element in root.findall(tag)]
    if "" in names:
        raise RobotError(f"a <{tag}> has no name")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RobotError(f"two {tag}s are named '{twice}'")
    return tuple(names)


def _read_tree(root: ET.Element, links: tuple[str, ...]) -> dict[str, str]:
    """Child link of each joint; RobotError unless the links form one tree."""
    moved: dict[str, str] = {}
    parents: dict[str, str] = {}
    for joint in root.findall("joint"):
        name = joint.get("name", "")
        ends = [
            element.get("link", "") if (element := joint.find(end)) is not None else "" for end in ("parent", "child")
        ]
        for end, link in zip(("parent", "child"), ends, strict=True):
            if link not in links:
                raise RobotError(
                    f"joint '{name}' has " + (f"unknown {end} link '{link}'" if link else f"no {end} link")
                )
        parent, child = ends
        if child in parents:
            raise RobotError(f"link '{child}' has two parent joints")
        moved[name], parents[child] = child, parent
    roots = [link for link in links if link not in parents]
    if len(roots) != 1:
        raise RobotError(
            f"links must form one tree, but {len(roots)} links have no parent"
            + (f": {', '.join(roots)}" if roots else "")
        )
    for link in links:
        seen = {link}
        while (link := parents.get(link, "")) and link not in seen:
            seen.add(link)
        if link:
            raise RobotError(f"links must form one tree, but '{link}' is its own ancestor")
    return moved


def _mass(link: ET.Element) -> float:
    inertial = link.find("inertial")
    where = f"link '{link.get('name', '')}'"
    return 0.0 if inertial is None else max(_number(inertial.find("mass"), "value", where, required=True), 0.0)


def _check_link(link: ET.Element, tiny: float) -> str:
    """Says what was corrected; empty where the link's mass and inertia can belong to a body. Massless dummies may.

    Args:
        link: of the URDF; its inertia is replaced by the nearest that a body can have where that is near enough.
        tiny: correction that hardly matters to a robot of this mass [kg m2].

    Raises:
        RobotError: they cannot belong to a body, by more than that.
    """
    name, inertial = link.get("name", ""), link.find("inertial")
    if inertial is None:
        return ""
    where = f"link '{name}'"
    mass = _number(inertial.find("mass"), "value", where, required=True)
    element = inertial.find("inertia")
    xx, xy, xz, yy, yz, zz = (
        _number(element, key, where, required=True) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass < 0.0:
        raise RobotError(f"{where} has negative mass {mass:g} kg")
    scale = float(np.abs(tensor).max())
    if mass == 0.0 and scale > 0.0:
        if scale > tiny:
            raise RobotError(f"{where} has no mass but a rotational inertia")
        return _correct(inertial, where, np.zeros((3, 3)), scale)
    moments, axes = np.linalg.eigh(tensor)
    negative, flat = moments[0] < -INERTIA_TOLERANCE * scale, moments[:2].sum() < moments[2] - INERTIA_TOLERANCE * scale
    if not (negative or flat):
        return ""
    nearest = np.maximum(moments, 0.0)
    nearest += np.array([1.0, 1.0, -1.0]) * max(nearest[2] - nearest[0] - nearest[1], 0.0) / 3.0
    size = float(np.abs(nearest - moments).max())
    if size <= tiny:
        return _correct(inertial, where, axes @ np.diag(nearest) @ axes.T, size)
    if negative:
        raise RobotError(f"{where} has a non-physical inertia: principal moment {moments[0]:.3g} kg m2 is negative")
    listed = ", ".join(f"{moment:.3g}" for moment in moments)
    raise RobotError(
        f"{where} has a non-physical inertia: principal moments {listed} kg m2 break the triangle inequality"
    )


def _correct(inertial: ET.Element, where: str, tensor: npt.NDArray[np.float64], size: float) -> str:
    element = inertial.find("inertia")
    assert element is not None
    for key, (row, column) in zip(
        ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), strict=True
    ):
        element.set(key, repr(float(tensor[row, column])))
    return f"{where} had an inertia that no body has, off by {size:.2g} kg m2"


def _number(element: ET.Element | None, key: str, where: str, *, required: bool = False, default: float = 0.0) -> float:
    text = element.get(key) if element is not None else None
    if text is None:
        if required:
            raise RobotError(f"{where} lacks '{key}' in its inertial")
        return default
    try:
        value = float(text)
    except ValueError:
        raise RobotError(f"{where}: '{key}' is not a number: '{text}'") from None
    if not np.isfinite(value):
        raise RobotError(f"{where}: '{key}' is not finite")
    return value


def _joint_values(joint: ET.Element, kind: str) -> dict[str, float]:
    where = f"joint '{joint.get('name', '')}'"
    values: dict[str, float] = {}
    for tag, keys in (("limit", ("lower", "upper", "effort", "velocity")), ("dynamics", ("damping", "friction"))):
        element = joint.find(tag)
        for key in keys:
            if element is not None and element.get(key) is not None:
                values[key] = _number(element, key, where)
    if kind == "continuous":
        values.pop("lower", None)
        values.pop("upper", None)
    elif joint.find("limit") is not None:
        # URDF: a bound that is left out is zero.
        values.setdefault("lower", 0.0)
        values.setdefault("upper", 0.0)
    if values.get("lower", 0.0) > values.get("upper", 0.0):
        raise RobotError(f"{where} has its lower limit {values['lower']:g} above its upper limit {values['upper']:g}")
    axis = joint.find("axis")
    if axis is not None:
        try:
            norm = float(np.linalg.norm([float(x) for x in axis.get("xyz", "1 0 0").split()]))
        except ValueError:
            raise RobotError(f"{where}: axis is not three numbers") from None
        if norm < 1e-6:
            raise RobotError(f"{where} has a zero axis")
    return values


def _rigid_text(root: ET.Element, moving: dict[str, str]) -> str:
    rigid = ET.Element("robot", {"name": root.get("name") or "robot"})
    for link in root.findall("link"):
        copy = ET.SubElement(rigid, "link", {"name": link.get("name", "")})
        copy.extend(link.findall("inertial"))
    for joint in root.findall("joint"):
        name = joint.get("name", "")
        kind = moving.get(name, "fixed")
        copy = ET.SubElement(rigid, "joint", {"name": name, "type": "revolute" if kind == "continuous" else kind})
        copy.extend([part for tag in ("origin", "parent", "child", "axis") for part in joint.findall(tag)])
        limit = joint.find("limit")
        if kind != "fixed":
            given = dict(limit.attrib) if limit is not None else {}
            none = {"lower": f"{-_UNBOUNDED}", "upper": f"{_UNBOUNDED}", "effort": "0", "velocity": "0"}
            if kind == "continuous":
                given = {key: value for key, value in given.items() if key not in ("lower", "upper")}
            elif limit is not None:
                none |= {"lower": "0", "upper": "0"}
            ET.SubElement(copy, "limit", none | given)
    return ET.tostring(rigid, encoding="unicode")
