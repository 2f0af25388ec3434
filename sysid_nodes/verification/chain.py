# SPDX-License-Identifier: Apache-2.0
"""A serial chain of turning joints from the text of a URDF: this checker's own reading of it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class OutsideScopeError(Exception):
    """The certificate is of a kind that this checker knows nothing of."""


@dataclass(frozen=True)
class Chain:
    """Joints one after the other, each on the one before.

    Attributes:
        names: of the n joints.
        turn: (n, 3, 3) of each joint's frame at zero in the frame of the joint before.
        place: (n, 3) of it there [m].
        axis: (n, 3) unit vectors in the joint's own frame.
        theta: (n, 10) mass, first moments and inertia (xx, xy, yy, xz, yz, zz) of what each joint moves alone, about
            the joint frame's origin.
    """

    names: tuple[str, ...]
    turn: Array
    place: Array
    axis: Array
    theta: Array


def read_chain(urdf: str, names: Sequence[str]) -> Chain:
    """The chain of the joints named; every other joint is fixed where it is at zero.

    Raises:
        OutsideScopeError: a joint slides, or the joints do not form a chain.
    """
    root = ElementTree.fromstring(urdf)
    joints = {_child(joint): joint for joint in root.iter("joint") if joint.find("child") is not None}
    links = {str(link.get("name")): link for link in root.findall("link")}
    frames: dict[str, tuple[int, Array, Array]] = {}

    def frame(link: str) -> tuple[int, Array, Array]:
        """Index of the moving joint that carries a link (-1: the base), rotation and place of the link there."""
        if link not in frames:
            if link not in joints:
                frames[link] = (-1, np.eye(3), np.zeros(3))
            else:
                joint = joints[link]
                carrier, turn, place = frame(_parent(joint))
                own_turn, own_place = _origin(joint)
                name = str(joint.get("name"))
                turn, place = turn @ own_turn, place + turn @ own_place
                if name in names:
                    moving[names.index(name)] = (carrier, turn, place, _axis(joint))
                    frames[link] = (names.index(name), np.eye(3), np.zeros(3))
                else:
                    frames[link] = (carrier, turn, place)
        return frames[link]

    names = list(names)
    moving: dict[int, tuple[int, Array, Array, Array]] = {}
    theta = np.zeros((len(names), 10))
    for name, link in links.items():
        carrier, turn, place = frame(name)
        if carrier >= 0 and link.find("inertial") is not None:
            theta[carrier] += _link_parameters(link, turn, place)
    if sorted(moving) != list(range(len(names))) or any(moving[i][0] != i - 1 for i in moving):
        raise OutsideScopeError("the joints do not form a chain from the base")
    parts = [moving[i] for i in range(len(names))]
    turns, places, axes = (np.array([part[k] for part in parts]) for k in (1, 2, 3))
    return Chain(tuple(names), turns, places, axes, theta)


def _child(joint: ElementTree.Element) -> str:
    return str(joint.find("child").get("link"))  # type: ignore[union-attr]


def _parent(joint: ElementTree.Element) -> str:
    return str(joint.find("parent").get("link"))  # type: ignore[union-attr]


def _numbers(text: str | None, default: str) -> Array:
    return np.array([float(word) for word in (text or default).split()])


def _axis(joint: ElementTree.Element) -> Array:
    if joint.get("type") not in ("revolute", "continuous"):
        raise OutsideScopeError(f"'{joint.get('name')}' does not turn: revolute and continuous joints are covered")
    found = joint.find("axis")
    axis = _numbers(None if found is None else found.get("xyz"), "1 0 0")
    return np.asarray(axis / np.sqrt((axis**2).sum()))


def _origin(element: ElementTree.Element) -> tuple[Array, Array]:
    found = element.find("origin")
    rpy = _numbers(None if found is None else found.get("rpy"), "0 0 0")
    x, y, z = (rotation_about(axis, angle) for axis, angle in zip(np.eye(3), rpy, strict=True))
    return z @ y @ x, _numbers(None if found is None else found.get("xyz"), "0 0 0")


def rotation_about(axis: Array, angle: Array | float) -> Array:
    """(..., 3, 3) rotations about a unit vector by angles (...) [rad]."""
    x, y, z = axis
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = np.asarray(angle)[..., None, None]
    return np.asarray(np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k))


def _link_parameters(link: ElementTree.Element, turn: Array, place: Array) -> Array:
    """(10,) parameters of a link in the frame that carries it."""
    inertial = link.find("inertial")
    assert inertial is not None
    mass = float(inertial.find("mass").get("value"))  # type: ignore[union-attr,arg-type]
    found = inertial.find("inertia")
    xx, xy, yy, xz, yz, zz = (float(found.get(k)) for k in ("ixx", "ixy", "iyy", "ixz", "iyz", "izz"))  # type: ignore[union-attr,arg-type]
    own_turn, centre = _origin(inertial)
    turn, centre = turn @ own_turn, place + turn @ centre
    inertia = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    inertia = inertia + mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    return np.array([mass, *(mass * centre), *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])
