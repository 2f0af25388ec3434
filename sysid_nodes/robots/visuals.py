# SPDX-License-Identifier: Apache-2.0
"""A robot's description for those who show it: RViz, Foxglove, and whoever else draws a URDF."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from xml.etree import ElementTree

import numpy as np
import pinocchio

from sysid_nodes.robots.example_robots import example_file
from sysid_nodes.robots.robot import Array, Primitive, Robot

_MESH = re.compile(r'package://example-robot-data/robots/([^"]+)')
_COLOUR = "0.75 0.77 0.8 1"
_ROD = 0.012  # radius [m]


def visible_urdf(robot: Robot) -> str:
    """The robot's URDF with meshes that resolve here and, where it brings no visuals, the shapes that cover it.

    Where nothing covers it either, rods go from each link's origin to those of the links that it carries.
    ``package://example-robot-data`` resolves in a ROS install alone, so its meshes are named by their files. Everything
    else stays as it is.
    """
    text = _MESH.sub(_file, robot.urdf)
    if "<visual" in text:
        return text
    tree = ElementTree.fromstring(text)
    links = {link.get("name"): link for link in tree.findall("link")}
    if not robot.geometry:
        _add_rods(tree, links)
        return ElementTree.tostring(tree, encoding="unicode")
    children = {joint.get("name"): _child(joint) for joint in tree.findall("joint")}
    root = next(name for name in links if name not in children.values())
    for shape in robot.geometry:
        for visual in _visuals(shape):
            links[root if shape.frame == "universe" else children[shape.frame]].append(visual)
    return ElementTree.tostring(tree, encoding="unicode")


def held_urdf(text: str, joints: Collection[str]) -> str:
    """A URDF whose other joints are fixed at zero, so that who publishes transforms needs no positions of them."""
    tree = ElementTree.fromstring(text)
    for joint in tree.findall("joint"):
        if joint.get("name") not in joints and joint.get("type") != "floating":
            joint.set("type", "fixed")
    return ElementTree.tostring(tree, encoding="unicode")


def _add_rods(tree: ElementTree.Element, links: Mapping[str | None, ElementTree.Element]) -> None:
    for joint in tree.findall("joint"):
        parent, origin = joint.find("parent"), joint.find("origin")
        if parent is None or origin is None:
            continue
        end = np.array([float(number) for number in origin.get("xyz", "0 0 0").split()])
        length = float(np.linalg.norm(end))
        if length > 0.0:
            along = pinocchio.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), end / length).toRotationMatrix()
            size = {"radius": _text(np.array([_ROD])), "length": _text(np.array([length]))}
            links[parent.get("link")].append(_element(0.5 * end, along, "cylinder", size))


def _file(url: re.Match[str]) -> str:
    path = example_file(url[1])
    return url[0] if path is None else path.resolve().as_uri()


def _child(joint: ElementTree.Element) -> str:
    found = joint.find("child")
    return "" if found is None else found.get("link", "")


def _visuals(shape: Primitive) -> Iterator[ElementTree.Element]:
    """URDF knows no capsules: a cylinder and two balls."""
    if shape.kind == "box":
        yield _visual(shape, np.zeros(3), "box", size=_text(2.0 * shape.size))
        return
    yield _visual(shape, np.zeros(3), "sphere" if shape.kind == "sphere" else "cylinder", **_round(shape))
    if shape.kind == "capsule":
        for side in (-1.0, 1.0):
            yield _visual(shape, np.array([0.0, 0.0, side * shape.size[1]]), "sphere", radius=_text(shape.size[:1]))


def _round(shape: Primitive) -> dict[str, str]:
    length = {"length": _text(2.0 * shape.size[1:])} if shape.kind == "capsule" else {}
    return {"radius": _text(shape.size[:1])} | length


def _visual(shape: Primitive, offset: Array, kind: str, **size: str) -> ElementTree.Element:
    return _element(shape.position + shape.rotation @ offset, shape.rotation, kind, size)


def _element(place: Array, turn: Array, kind: str, size: Mapping[str, str]) -> ElementTree.Element:
    visual = ElementTree.Element("visual")
    ElementTree.SubElement(visual, "origin", xyz=_text(place), rpy=_text(pinocchio.rpy.matrixToRpy(turn)))
    ElementTree.SubElement(ElementTree.SubElement(visual, "geometry"), kind, dict(size))
    material = ElementTree.SubElement(visual, "material", name="cover")
    ElementTree.SubElement(material, "color", rgba=_COLOUR)
    return visual


def _text(values: Array) -> str:
    return " ".join(f"{value:.9g}" for value in np.atleast_1d(values))
