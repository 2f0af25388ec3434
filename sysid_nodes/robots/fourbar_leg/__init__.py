# SPDX-License-Identifier: Apache-2.0
"""A leg whose knee is driven from the hip through a four-bar linkage; our own, of the size of a Unitree B1's.

Two motors at the hip: one moves the thigh, one a crank that turns beside it; a rod joins the crank to a lever at the
shank. URDF is a tree, cut where the rod meets the lever: the links `rod_end` and `lever_pin` coincide (`LOOP`).
"""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.robots.description import RobotDescription

LOOP = "rod_end:lever_pin"


@dataclass(frozen=True)
class Link:
    """A moving link: its joint about y, at `place` in the parent [m], and its inertia at its centre [m, kg, kg m2]."""

    name: str
    parent: str
    joint: str
    place: tuple[float, float, float]
    mass: float
    centre: tuple[float, float, float]
    moments: tuple[float, float, float]


LINKS = (
    Link("thigh", "base", "hip", (0.0, 0.0, 0.0), 2.0, (0.01, 0.0, -0.12), (0.016, 0.015, 0.003)),
    Link("crank", "thigh", "crank_motor", (0.0, 0.06, 0.0), 0.3, (0.03, 0.0, 0.0), (0.0002, 0.0005, 0.0005)),
    Link("rod", "crank", "rod_joint", (0.06, 0.0, 0.0), 0.25, (-0.007, 0.0, -0.15), (0.002, 0.002, 0.0001)),
    Link("shank", "thigh", "knee", (0.0, 0.0, -0.3), 0.9, (0.0, 0.0, -0.13), (0.008, 0.008, 0.0006)),
)
PINS = (("rod_end", "rod", (-0.015, 0.0, -0.3)), ("lever_pin", "shank", (0.045, 0.06, 0.0)))
"""Name, link and place of the points that coincide; they do when all joints are at zero."""

EFFORT, SPEED = 60.0, 20.0  # of the motors [N m, rad/s]


def urdf_text(_variant: str = "") -> str:
    """URDF of the tree."""
    parts = ['<?xml version="1.0"?>', '<robot name="fourbar_leg">', '<link name="base"/>']
    for link in LINKS:
        ixx, iyy, izz = link.moments
        parts += [
            f'<link name="{link.name}"><inertial><origin xyz="{_text(link.centre)}"/><mass value="{link.mass}"/>'
            f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>',
            f'<joint name="{link.joint}" type="continuous"><parent link="{link.parent}"/><child link="{link.name}"/>'
            f'<origin xyz="{_text(link.place)}"/><axis xyz="0 1 0"/>'
            f'<limit effort="{EFFORT}" velocity="{SPEED}"/></joint>',
        ]
    for name, link_name, place in PINS:
        parts += [
            f'<link name="{name}"/>',
            f'<joint name="{name}_fixed" type="fixed"><parent link="{link_name}"/><child link="{name}"/>'
            f'<origin xyz="{_text(place)}"/></joint>',
        ]
    return "\n".join([*parts, "</robot>", ""])


def _text(numbers: tuple[float, ...]) -> str:
    return " ".join(repr(number) for number in numbers)


DESCRIPTION = RobotDescription(name="fourbar_leg", urdf=urdf_text, body="shank")
