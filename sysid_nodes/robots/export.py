# SPDX-License-Identifier: Apache-2.0
"""Writes an identified body back into the user's URDF or MJCF; every byte outside its <inertial> stays as it was.

What is identified is all that moves with a joint: a link with everything fixed to it. The file keeps the inertia of
the fixed neighbours; the named link gets the rest, so that the sum is what was identified.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data.inertia import is_consistent
from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.xml_spans import Element, parse_spans, replace_child

Array = npt.NDArray[np.float64]


def moved_joints(data: bytes, names: Collection[str]) -> Collection[str] | None:
    """The joints that moved in an identification, for `export_body`, if the file knows them all by these names."""
    return names if names and all(name.encode() in data for name in names) else None


def export_body(
    data: bytes,
    link: str,
    theta: Array,
    *,
    added: bool = False,
    moving: Collection[str] | None = None,
    source: str = "",
) -> bytes:
    """A URDF or MJCF file with the inertia of a body replaced.

    Args:
        link: URDF link or MJCF body whose <inertial> is written. Without one it gets one.
        theta: (10,) identified parameters of everything rigidly attached to the moving joint that carries the link, in
            pinocchio's order, about the origin and in the axes of that joint's frame. That frame is, in a URDF, the
            frame of the joint's child link; in an MJCF, the body's frame moved to the joint's `pos`.
        added: theta is a payload, to be added to what the file says of the link, instead of the whole body.
        moving: URDF joints that move, the rest being locked at zero; None: every joint that is neither fixed nor mimic.
        source: file name for errors.

    Returns:
        The new file.

    Raises:
        RobotError: theta or what is left of it for the link is not physical, the file is not XML, neither URDF nor
            MJCF, has no such link, or describes the body in a way that is not supported.
    """
    theta = np.asarray(theta, dtype=np.float64)
    try:
        if theta.shape != (10,) or not is_consistent(theta):
            raise RobotError("the identified parameters are not those of a physical body; nothing is written")
        root = parse_spans(data)
        if root.tag == "robot":
            return _export_urdf(data, root, link, theta, moving, added)
        if root.tag == "mujoco":
            return _export_mjcf(data, root, link, theta, added)
        raise RobotError(f"neither URDF nor MJCF: the root element is <{root.tag}>")
    except RobotError as error:
        raise error if error.source or not source else RobotError(str(error), source=source) from None


def _export_urdf(
    data: bytes, root: Element, name: str, theta: Array, moving: Collection[str] | None, added: bool
) -> bytes:
    links = _by_name(root.children_named("link"))
    link = _pick(links, name, "link")
    fixed = [joint for joint in root.children_named("joint") if not _moves(joint, moving)]
    placements = _rigid_placements(name, [(_end(j, "parent"), _end(j, "child"), j) for j in fixed], _urdf_pose)
    # the body's frame is that of its topmost link
    below = {_end(joint, "child") for joint in fixed}
    top = next(other for other in placements if other not in below)
    others = [
        (other, placements[top].inverse() * pose, _urdf_inertia(links[other]))
        for other, pose in placements.items()
        if other != name and other in links
    ]
    placement = placements[top].inverse()
    own = _sum(theta, placement, _urdf_inertia(link)) if added else _remaining_inertia(theta, placement, others, name)
    lines = (
        f'<origin xyz="{_numbers(own.lever)}" rpy="0 0 0"/>',
        f'<mass value="{own.mass!r}"/>',
        "<inertia "
        + " ".join(f'{k}="{float(own.inertia[r, c])!r}"' for k, r, c in zip(_KEYS, _ROWS, _COLUMNS, strict=True))
        + "/>",
    )
    return replace_child(data, link, "inertial", "", lines)


_KEYS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_ROWS = (0, 0, 0, 1, 1, 2)
_COLUMNS = (0, 1, 2, 1, 2, 2)


def _export_mjcf(data: bytes, root: Element, name: str, theta: Array, added: bool) -> bytes:
    bodies = {
        element.attributes.get("name") or f"(unnamed, byte {element.start})": element
        for element in root.walk()
        if element.tag == "body"
    }
    body = _pick(bodies, name, "body")
    compilers = [element.attributes for element in root.walk() if element.tag == "compiler"]
    if any(c.get("inertiafromgeom") == "true" or _vector(c.get("settotalmass", "-1"), 1)[0] > 0 for c in compilers):
        raise RobotError("its <compiler> overrides every <inertial> (inertiafromgeom or settotalmass)")
    keys = {element.start: key for key, element in bodies.items()}
    welds = [
        (keys[child.parent.start], key, child)
        for key, child in bodies.items()
        if not _joints(child) and child.parent is not None and child.parent.tag == "body"
    ]
    placements = _rigid_placements(name, welds, _mjcf_pose)
    below = {child for _, child, _ in welds}
    top = next(other for other in placements if other not in below)
    if not _joints(bodies[top]):
        raise RobotError(f"body '{name}' does not move, or hangs in an element other than <body>")
    for other in placements:
        if strange := {child.tag for child in bodies[other].children} & {"frame", "include", "replicate", "attach"}:
            raise RobotError(f"body '{other}' has a <{strange.pop()}>, which may carry mass; write it out first")
    joint_points = {joint.attributes.get("pos", "0 0 0") for joint in _joints(bodies[top])}
    points = {tuple(_vector(text, 3)) for text in joint_points}
    if len(points) > 1:
        raise RobotError(f"body '{top}' has several joints at different points")
    joint = pinocchio.SE3(np.eye(3), np.array(points.pop() if points else (0.0, 0.0, 0.0)))
    to_joint = joint.inverse() * placements[top].inverse()
    others = [
        (other, to_joint * pose, _mjcf_inertia(bodies[other])) for other, pose in placements.items() if other != name
    ]
    own = _sum(theta, to_joint, _mjcf_inertia(body)) if added else _remaining_inertia(theta, to_joint, others, name)
    order = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    full = " ".join(repr(float(own.inertia[r, c])) for r, c in order)
    attributes = f'pos="{_numbers(own.lever)}" mass="{own.mass!r}" fullinertia="{full}"'
    return replace_child(data, body, "inertial", attributes, ())


def _sum(theta: Array, placement: pinocchio.SE3, own: pinocchio.Inertia | None) -> pinocchio.Inertia:
    """Inertia of a link in its own frame with a payload theta (10,), in the joint's frame, added."""
    payload = placement.actInv(pinocchio.Inertia.FromDynamicParameters(theta))
    return payload if own is None else own + payload


def _remaining_inertia(
    theta: Array,
    placement: pinocchio.SE3,
    others: list[tuple[str, pinocchio.SE3, pinocchio.Inertia | None]],
    name: str,
) -> pinocchio.Inertia:
    """Inertia of the named link in its own frame: theta less what the links fixed to it carry.

    Args:
        theta: (10,) of the whole body in the joint's frame.
        placement: of the link's frame in the joint's frame.
        others: name, placement in the joint's frame and inertia of the other links.
    """
    rest = theta.copy()
    kept = []
    for other, pose, inertia in others:
        if inertia is not None and inertia.mass > 0.0:
            rest -= pose.act(inertia).toDynamicParameters()
            kept.append(f"'{other}' ({inertia.mass:.4g} kg)")
    if kept and not is_consistent(rest):
        raise RobotError(
            f"less what is fixed to '{name}', {', '.join(kept)}, the identified body of {theta[0]:.4g} kg leaves "
            f"'{name}' no physical inertia; correct those links or export to another one"
        )
    return placement.actInv(pinocchio.Inertia.FromDynamicParameters(rest))


def _rigid_placements(
    name: str, welds: list[tuple[str, str, Element]], pose: Callable[[Element], pinocchio.SE3]
) -> dict[str, pinocchio.SE3]:
    """Placement, in the named link's frame, of every link rigidly attached to it, itself included.

    Args:
        welds: parent, child and the element that says how the child is placed on the parent.
        pose: reads that element; called for welds of this body only.
    """
    placements = {name: pinocchio.SE3.Identity()}
    queue = [name]
    while queue:
        at = queue.pop()
        for parent, child, element in welds:
            if at == parent and child not in placements:
                placements[child] = placements[at] * pose(element)
                queue.append(child)
            elif at == child and parent not in placements:
                placements[parent] = placements[at] * pose(element).inverse()
                queue.append(parent)
    return placements


def _by_name(elements: list[Element]) -> dict[str, Element]:
    return {element.attributes["name"]: element for element in elements if "name" in element.attributes}


def _pick(elements: dict[str, Element], name: str, kind: str) -> Element:
    if name in elements:
        return elements[name]
    near = difflib.get_close_matches(name, elements, n=3, cutoff=0.4) or list(elements)[:6]
    raise RobotError(f"has no {kind} '{name}'" + (f"; near it: {', '.join(near)}" if near else ""))


def _moves(joint: Element, moving: Collection[str] | None) -> bool:
    if moving is not None:
        return joint.attributes.get("name") in moving
    return joint.attributes.get("type") != "fixed" and joint.first_child("mimic") is None


def _end(joint: Element, which: str) -> str:
    element = joint.first_child(which)
    return element.attributes.get("link", "") if element else ""


def _urdf_pose(element: Element) -> pinocchio.SE3:
    origin = element.first_child("origin")
    attributes = origin.attributes if origin else {}
    rotation = pinocchio.rpy.rpyToMatrix(_vector(attributes.get("rpy", "0 0 0"), 3))
    return pinocchio.SE3(rotation, _vector(attributes.get("xyz", "0 0 0"), 3))


def _urdf_inertia(link: Element) -> pinocchio.Inertia | None:
    inertial = link.first_child("inertial")
    mass, inertia = (inertial.first_child("mass"), inertial.first_child("inertia")) if inertial else (None, None)
    if inertial is None or mass is None or inertia is None:
        return None
    tensor = np.zeros((3, 3))
    for key, r, c in zip(_KEYS, _ROWS, _COLUMNS, strict=True):
        tensor[r, c] = tensor[c, r] = _vector(inertia.attributes.get(key, "0"), 1)[0]
    value = pinocchio.Inertia(float(_vector(mass.attributes.get("value", "0"), 1)[0]), np.zeros(3), tensor)
    return _urdf_pose(inertial).act(value)


def _joints(body: Element) -> list[Element]:
    return [child for child in body.children if child.tag in ("joint", "freejoint")]


def _mjcf_pose(element: Element) -> pinocchio.SE3:
    if turned := {"euler", "axisangle", "xyaxes", "zaxis"} & set(element.attributes):
        name = element.attributes.get("name", element.tag)
        raise RobotError(f"'{name}', fixed to the body, has its orientation as {turned.pop()}; write it as quat")
    w, x, y, z = _vector(element.attributes.get("quat", "1 0 0 0"), 4)
    quaternion = pinocchio.Quaternion(w, x, y, z).normalized()
    return pinocchio.SE3(quaternion.matrix(), _vector(element.attributes.get("pos", "0 0 0"), 3))


def _mjcf_inertia(body: Element) -> pinocchio.Inertia | None:
    inertial = body.first_child("inertial")
    if inertial is None:
        if body.first_child("geom") is None:
            return None
        name = body.attributes.get("name", "")
        raise RobotError(f"body '{name}' takes its inertia from geoms; give it an <inertial>")
    if "fullinertia" in inertial.attributes:
        xx, yy, zz, xy, xz, yz = _vector(inertial.attributes["fullinertia"], 6)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        tensor = np.diag(_vector(inertial.attributes.get("diaginertia", "0 0 0"), 3))
    mass = float(_vector(inertial.attributes.get("mass", "0"), 1)[0])
    return _mjcf_pose(inertial).act(pinocchio.Inertia(mass, np.zeros(3), tensor))


def _vector(text: str, size: int) -> Array:
    try:
        values = np.array([float(item) for item in text.split()])
    except ValueError:
        values = np.empty(0)
    if values.shape != (size,) or not np.isfinite(values).all():
        raise RobotError(f"'{text}' should be {size} finite number{'s' if size > 1 else ''}")
    return values


def _numbers(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)
