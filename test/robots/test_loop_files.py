# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import build_robot, load_robot
from sysid_nodes.robots.fourbar_leg import LOOP
from sysid_nodes.robots.loop_files import read_loops
from sysid_nodes.robots.loops import HINGE, POINT, WELD, Loop
from sysid_nodes.simulation.fourbar.leg import LegTruth, mjcf

CONNECT = '<connect site1="rod_end" site2="lever_pin"'
SDF = """<sdf version="1.9"><model name="leg">
<link name="base"/>
<link name="thigh"/>
<link name="crank"><pose>0 0.06 0 0 0 0</pose></link>
<link name="rod"><pose>0.06 0.06 0 0 0 0</pose></link>
<link name="shank"><pose>0 0 -0.3 0 0 0</pose></link>
<joint name="hip" type="revolute"><parent>base</parent><child>thigh</child></joint>
<joint name="crank_motor" type="revolute"><parent>thigh</parent><child>crank</child></joint>
<joint name="rod_joint" type="revolute"><parent>crank</parent><child>rod</child></joint>
<joint name="knee" type="revolute"><parent>thigh</parent><child>shank</child></joint>
<joint name="pin" type="revolute"><pose>0.045 0.06 0 0 0 0</pose><parent>rod</parent><child>shank</child>
<axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""


def leg_mjcf() -> str:
    return mjcf(LegTruth.draw(np.random.default_rng(0)))


def read(tmp_path: Path, text: str, name: str = "leg.xml") -> Loop:
    (tmp_path / name).write_text(text)
    (loop,) = read_loops(load_robot("fourbar_leg"), [str(tmp_path / name)])
    return loop


def ends(loop: Loop) -> list[object]:
    """Places of both ends in the base at zero."""
    robot = load_robot("fourbar_leg")
    data = robot.model.createData()
    pinocchio.framesForwardKinematics(robot.model, data, np.zeros(4))
    found = []
    for end in (loop.first, loop.second):
        x, y, z, w = end.turn
        inside = pinocchio.SE3(pinocchio.Quaternion(w, x, y, z).matrix(), np.array(end.place))
        found.append((data.oMf[robot.model.getFrameId(end.link)] * inside).homogeneous)
    return found


@pytest.mark.parametrize(
    ("element", "kind"),
    [
        (CONNECT, POINT),
        ('<connect body1="rod" body2="shank" anchor="-0.015 0 -0.3"', POINT),
        ('<weld body1="rod" body2="shank"', WELD),
        ('<weld body1="rod" body2="shank" anchor="0.1 0.2 0.3"', WELD),
        ('<weld site1="rod_end" site2="lever_pin"', WELD),
    ],
)
def test_mjcf(tmp_path: Path, element: str, kind: str) -> None:
    loop = read(tmp_path, leg_mjcf().replace(CONNECT, element))
    assert loop.kind == kind
    first, second = ends(loop)
    np.testing.assert_allclose(first, second, atol=1e-9)


@pytest.mark.parametrize("first", [False, True])
def test_sdf(tmp_path: Path, first: bool) -> None:
    """Wherever in the file the joint is that closes the loop, and whatever else is called a joint there."""
    hip, pin = SDF.index('<joint name="hip"'), SDF.index('<joint name="pin"')
    end = SDF.index("</model>")
    turned = SDF[:hip] + SDF[pin:end] + SDF[hip:pin] + '<plugin><joint name="hip"/></plugin>' + SDF[end:]
    loop = read(tmp_path, turned if first else SDF, "leg.sdf")
    assert (loop.first.link, loop.second.link, loop.kind) == ("rod", "shank", HINGE)
    one, other = ends(loop)
    np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(np.array(one)[:3, 2], [0.0, 1.0, 0.0], atol=1e-12)  # turns about its z axis


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.xml", "<mujoco", r"a\.xml: "),
        ("a.xml", "<mujoco/>", "has no joint 'hip'"),
        ("a.xml", leg_mjcf().replace(CONNECT, '<joint joint1="hip"').replace("site2", "name"), "has no closed loop"),
        ("a.xml", leg_mjcf().replace('name="shank" pos="0.0 0.0 -0.3"', 'name="shank" pos="0 0 -0.31"'), "elsewhere"),
        ("a.sdf", SDF.replace("<pose>0.06 0.06", "<pose>0.05 0.06"), "'rod' and 'shank' elsewhere"),
        ("a.sdf", SDF.replace("<parent>rod<", "<parent>bar<"), "names 'bar', which is no link"),
        ("a.sdf", SDF.replace('"pin" type="revolute"', '"pin" type="screw"'), "by a screw"),
        ("a.sdf", SDF.replace("<pose>0.045", '<pose relative_to="rod">0.045'), "uses relative_to"),
        ("a.sdf", SDF.replace("<pose>0.045", "<pose>"), "is not six numbers"),
        ("a.sdf", SDF.replace("<pose>0.045", '<pose degrees="true">0.045'), "uses degrees"),
        ("a.sdf", SDF.replace("</xyz>", "</xyz><use_parent_model_frame>1</use_parent_model_frame>"), "uses use_parent"),
        ("a.sdf", SDF.replace('version="1.9"', 'version="1.4"'), r"is of version 1\.4"),
        ("a.sdf", SDF.replace("<link name=", "<include/><link name=", 1), "uses include"),
        ("a.sdf", SDF.replace("0 1 0</xyz>", "0 0 0</xyz>"), "the axis of 'pin' is not a direction"),
        ("a.xml", leg_mjcf().replace("<connect ", '<connect active="false" '), "has no closed loop"),
        ("a.xml", re.sub('(<site name="rod_end".*?/>)', r"<body>\1</body>", leg_mjcf()), "a body without a name"),
        ("a.sdf", SDF[: SDF.index('<joint name="pin"')] + "</model></sdf>", "has no closed loop"),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(RobotError, match=message):
        read(tmp_path, text, name)
    with pytest.raises(RobotError, match=r"missing\.xml"):
        read_loops(load_robot("fourbar_leg"), ["missing.xml"])


def test_names_that_the_robot_lacks(tmp_path: Path) -> None:
    (tmp_path / "leg.xml").write_text(leg_mjcf().replace(CONNECT, '<weld body1="rod" body2="shank"'))
    text = load_robot("fourbar_leg").urdf.replace('"rod"', '"bar"')
    with pytest.raises(RobotError, match="at 'rod', which is no link"):
        read_loops(build_robot(text, name="other"), [str(tmp_path / "leg.xml")])
    assert read_loops(load_robot("fourbar_leg"), [LOOP])[0].kind == POINT
