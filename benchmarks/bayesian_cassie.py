# SPDX-License-Identifier: Apache-2.0
"""Cassie's left leg with its two closed loops, from the SDF of example-robot-data, cut open to a URDF.

The pelvis is held and both leaf springs are rigid. The Achilles rod hangs on the hip by two hinges: a ball joint but
for the rod's turning about itself, which nothing feels. Its other end and the plantar rod's are where the tree is cut.
"""

from __future__ import annotations

from functools import cache
from xml.etree import ElementTree

import numpy as np
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.example_robots import example_file

ROTORS = {"roll": 0.038, "yaw": 0.028, "pitch": 0.09, "knee": 0.09, "crank": 0.012}
"""Joints with a motor and the inertia of its rotor behind the gear [kg m2], about what published models have."""
LOOPS = ("achilles_end:heel_end:point", "plantar_end:foot_end:point")

_FILE = "cassie_description/robots/cassie_v2.sdf"
_TREE = (
    ("roll", "hip-roll", "pelvis", "0 0 1"),
    ("yaw", "hip-yaw", "hip-roll", "0 0 -1"),
    ("pitch", "hip-pitch", "hip-yaw", "0 0 1"),
    ("knee", "knee", "hip-pitch", "0 0 1"),
    ("", "shin", "knee", ""),
    ("tarsus", "tarsus", "shin", "0 0 1"),
    ("", "heel-spring", "tarsus", ""),
    ("crank", "foot-crank", "tarsus", "0 0 1"),
    ("plantar", "plantar-rod", "foot-crank", "0 0 1"),
    ("foot", "foot", "tarsus", "0 0 1"),
    ("achilles_y", "achilles", "hip-pitch", "0 1 0"),
    ("achilles_z", "achilles-rod", "achilles", "0 0 1"),
)
"""Joint, child, parent, axis; without a name: rigid."""
_TURNED = {"crank": -1.5, "plantar": 1.5, "foot": -1.5}
"""[rad] about z, of the URDF's zero from the SDF's, at which the crank lies along its rod: a dead centre."""
_DUMMY = '<inertial><mass value="1e-6"/><inertia ixx="1e-9" iyy="1e-9" izz="1e-9" ixy="0" ixz="0" iyz="0"/></inertial>'


@cache
def cassie_leg() -> str:
    """URDF of the leg; at zero its loops are closed, nearly.

    Raises:
        RobotError: example-robot-data is not installed.
    """
    path = example_file(_FILE)
    if path is None:
        raise RobotError(f"{_FILE} not found: install example-robot-data")
    model = ElementTree.parse(path).getroot().find("model")
    assert model is not None
    links = {str(link.get("name")).removeprefix("left-"): link for link in model.findall("link")}
    joints = {str(joint.get("name")).removeprefix("left-"): joint for joint in model.findall("joint")}
    place = {name: _pose(link) for name, link in links.items()}
    place["achilles"] = place["achilles-rod"]
    parts = ['<link name="pelvis"/>']
    for joint, child, parent, axis in _TREE:
        parts.append(f'<link name="{child}">{_inertial(links[child]) if child in links else _DUMMY}</link>')
        turned = pinocchio.SE3(pinocchio.rpy.rpyToMatrix(0.0, 0.0, _TURNED.get(joint, 0.0)), np.zeros(3))
        parts.append(_joint(joint, child, parent, axis, place[parent].actInv(place[child]) * turned))
    achilles = place["achilles-rod"] * _pose(joints["achilles-spring-joint"])
    plantar = place["foot"] * _pose(joints["plantar-foot-joint"])
    ends = (("achilles_end", "achilles-rod", achilles), ("heel_end", "heel-spring", achilles))
    for end, link, at in (*ends, ("plantar_end", "plantar-rod", plantar), ("foot_end", "foot", plantar)):
        parts += [f'<link name="{end}"/>', _joint("", end, link, "", place[link].actInv(at))]
    return f'<robot name="cassie_leg">{"".join(parts)}</robot>'


def _joint(name: str, child: str, parent: str, axis: str, at: pinocchio.SE3) -> str:
    own = f'name="{name}" type="revolute"' if name else f'name="{child}_rigid" type="fixed"'
    turn = pinocchio.rpy.matrixToRpy(at.rotation)
    limit = f'<axis xyz="{axis}"/><limit lower="-2" upper="2" effort="0" velocity="0"/>' if name else ""
    return (
        f'<joint {own}><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{_text(at.translation)}" rpy="{_text(turn)}"/>{limit}</joint>'
    )


def _inertial(link: ElementTree.Element) -> str:
    at = _pose(link.find("inertial") or link)
    moments = " ".join(f'{k}="{link.findtext(f"inertial/inertia/{k}")}"' for k in _MOMENTS)
    return (
        f'<inertial><origin xyz="{_text(at.translation)}" rpy="{_text(pinocchio.rpy.matrixToRpy(at.rotation))}"/>'
        f'<mass value="{link.findtext("inertial/mass")}"/><inertia {moments}/></inertial>'
    )


_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def _pose(element: ElementTree.Element) -> pinocchio.SE3:
    numbers = np.array((element.findtext("pose") or "0 0 0 0 0 0").split(), dtype=np.float64)
    return pinocchio.SE3(pinocchio.rpy.rpyToMatrix(*numbers[3:].tolist()), numbers[:3])


def _text(numbers: object) -> str:
    return " ".join(repr(float(number)) for number in numbers)  # type: ignore[attr-defined]
