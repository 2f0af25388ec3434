# SPDX-License-Identifier: Apache-2.0
"""Robots by name and from URDFs, good and bad."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pinocchio
import pytest

from sysid_nodes import robots
from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import build_robot, load_robot, robot_names
from sysid_nodes.robots.description import Joints

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
ARM = f"""<?xml version="1.0" encoding="utf-8"?>
<robot name="two">
  <link name="base"/>
  <link name="upper">{INERTIAL}</link>
  <link name="lower">{INERTIAL}</link>
  <link name="flange"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="revolute">
    <origin xyz="0 0 1"/><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="30" velocity="3"/><dynamics damping="0.5" friction="0.25"/>
  </joint>
  <joint name="mount" type="fixed"><parent link="lower"/><child link="flange"/></joint>
</robot>"""


@pytest.mark.parametrize(
    ("name", "n", "body", "moving"),
    [
        ("kinova_gen3", 7, "bracelet_link", 7),
        ("ur10", 6, "wrist_3_link", 6),
        ("panda", 7, "panda_link7", 7),
        ("z1", 6, "link06", 6),
        ("go2", 12, "base", 13),
        ("g1", 29, "torso_link", 30),
    ],
)
def test_registered_robots(name: str, n: int, body: str, moving: int) -> None:
    robot = load_robot(name)
    assert (robot.name, robot.n, robot.body) == (name, n, body)
    assert robot.floating_base == (moving == n + 1)
    assert robot.model.nv == n + 6 * robot.floating_base
    assert robot.model.nq == n + 7 * robot.floating_base
    theta = robot.inertial_parameters()
    assert theta.shape == (moving, 10)
    assert (theta[:, 0] > 0.0).all()
    assert 0 <= robot.body_index() < moving
    for array in (robot.wraps, robot.encoder_step, robot.limits.torque, robot.motor.coulomb, robot.motor.armature):
        assert array.shape == (n,)
    assert (robot.limits.position_lower < robot.limits.position_upper).all()


def test_every_folder_is_a_robot_with_a_name_of_its_own() -> None:
    folders = [path.parent for path in Path(robots.__file__).parent.glob("*/__init__.py")]
    assert len(robot_names()) == len(folders)
    assert {"kinova_gen3", "ur10", "panda", "z1"} <= set(robot_names(floating_base=False))
    assert {"go2", "g1"} <= set(robot_names(floating_base=True))


def test_quadruped_order_is_the_urdf_s() -> None:
    assert load_robot("go2").joint_names[:3] == ("FL_hip_joint", "FL_thigh_joint", "FL_calf_joint")


def test_locked_fingers_leave_the_hand_s_mass_on_the_last_joint() -> None:
    panda = load_robot("panda")
    full = pinocchio.buildModelFromXML(panda.urdf)
    assert full.nq == 9
    assert panda.inertial_parameters()[:, 0].sum() == pytest.approx(
        sum(body.mass for body in full.inertias.tolist()[1:])
    )


def test_urdf_text_becomes_a_robot() -> None:
    robot = load_robot("", urdf_text=ARM)
    assert (robot.name, robot.joint_names, robot.body) == ("two", ("shoulder", "elbow"), "lower")
    assert robot.urdf == ARM
    assert (robot.model.nq, robot.model.nv) == (2, 2)
    np.testing.assert_array_equal(robot.wraps, [True, False])
    np.testing.assert_array_equal(robot.limits.position_lower, [-np.inf, -1.0])
    np.testing.assert_array_equal(robot.limits.position_upper, [np.inf, 2.0])
    np.testing.assert_array_equal(robot.model.upperPositionLimit, [np.inf, 2.0])
    np.testing.assert_array_equal(robot.limits.torque, [np.inf, 30.0])
    np.testing.assert_array_equal(robot.limits.velocity, [np.inf, 3.0])
    np.testing.assert_array_equal(robot.motor.viscous, [0.0, 0.5])
    np.testing.assert_array_equal(robot.motor.coulomb, [0.0, 0.25])
    assert robot.body_index("flange") == 1
    assert robot.body_index("upper") == 0


def test_continuous_joint_moves_like_a_revolute_one() -> None:
    """One coordinate each: far past a turn the gravity torque is the one of the same angle within it."""
    robot = load_robot("", urdf_text=ARM.replace('<origin xyz="0 0 1"/>', '<origin xyz="0.3 0 1"/>'))
    data, zero = robot.model.createData(), np.zeros(2)
    near = pinocchio.rnea(robot.model, data, np.array([0.7, 0.1]), zero, zero).copy()
    far = pinocchio.rnea(robot.model, data, np.array([0.7 + 20.0 * np.pi, 0.1]), zero, zero)
    assert np.abs(near).max() > 1.0
    np.testing.assert_allclose(far, near, atol=1e-9)


def test_mimic_joint_is_fixed_at_zero() -> None:
    robot = load_robot("", urdf_text=ARM.replace("<dynamics", '<mimic joint="shoulder"/><dynamics'))
    assert robot.joint_names == ("shoulder",)
    assert robot.body_index("lower") == 0
    assert robot.inertial_parameters()[0, 0] == pytest.approx(2.0)


def test_zero_limit_means_none_and_a_missing_bound_means_zero() -> None:
    text = ARM.replace(
        '<limit lower="-1" upper="2" effort="30" velocity="3"/>', '<limit upper="2" effort="0" velocity="0"/>'
    )
    limits = load_robot("", urdf_text=text).limits
    assert (limits.position_lower[1], limits.torque[1], limits.velocity[1]) == (0.0, np.inf, np.inf)


def test_massless_links_and_rounded_tensors_pass() -> None:
    rounded = ARM.replace('ixx="1"', 'ixx="2.0005"', 1)
    nothing = INERTIAL.replace('"1"', '"0"')
    massless = ARM.replace('<link name="flange"/>', f'<link name="flange">{nothing}</link>')
    for text in (rounded, massless):
        assert load_robot("", urdf_text=text).n == 2


def _swap(old: str, new: str) -> str:
    assert old in ARM
    return ARM.replace(old, new, 1)


BAD = {
    "not XML": ("<robot name='x'><link></robot>", "not valid XML"),
    "empty": ("   ", "not valid XML"),
    "MJCF": ("<mujoco/>", "the root element is <mujoco>"),
    "xacro element": ('<robot xmlns:xacro="http://ros.org/wiki/xacro"><xacro:include/></robot>', "xacro"),
    "xacro expression": (_swap('mass value="1"', 'mass value="${m}"'), "xacro"),
    "negative mass": (_swap('mass value="1"', 'mass value="-1"'), "link 'upper' has negative mass"),
    "no mass": (_swap('<mass value="1"/>', ""), "link 'upper' lacks 'value'"),
    "mass is a word": (_swap('mass value="1"', 'mass value="heavy"'), "link 'upper': 'value' is not a number: 'heavy'"),
    "mass is NaN": (_swap('mass value="1"', 'mass value="nan"'), "link 'upper': 'value' is not finite"),
    "inertia without mass": (_swap('mass value="1"', 'mass value="0"'), "link 'upper' has no mass but"),
    "negative moment": (
        _swap('ixy="0"', 'ixy="1.5"'),
        "link 'upper' has a non-physical inertia: principal moment -0.5",
    ),
    "triangle inequality": (_swap('ixx="1"', 'ixx="3"'), "link 'upper' .* 1, 1, 3 kg m2 break the triangle inequality"),
    "no links": ('<robot name="x"/>', "one tree, but 0 links"),
    "only fixed joints": ('<robot name="x"><link name="a"/></robot>', "no actuated joint"),
    "planar joint": (_swap('type="revolute"', 'type="planar"'), "joint 'elbow' is of type 'planar'"),
    "unknown link": (_swap('child link="lower"', 'child link="low"'), "joint 'elbow' has unknown child link 'low'"),
    "no child": (_swap('<child link="lower"/>', ""), "joint 'elbow' has no child link"),
    "two parents": (_swap('child link="flange"', 'child link="upper"'), "link 'upper' has two parent joints"),
    "two trees": (
        _swap('<link name="base"/>', '<link name="base"/><link name="stray"/>'),
        "2 links have no parent: base, stray",
    ),
    "loop": (
        _swap('parent link="base"', 'parent link="flange"').replace('<link name="base"/>', ""),
        "0 links have no parent",
    ),
    "detached loop": (_swap('parent link="base"', 'parent link="flange"'), "'upper' is its own ancestor"),
    "same name": (_swap('link name="flange"', 'link name="upper"'), "two links are named 'upper'"),
    "no name": (_swap('joint name="mount"', "joint"), "a <joint> has no name"),
    "zero axis": (_swap('axis xyz="0 1 0"', 'axis xyz="0 0 0"'), "joint 'shoulder' has a zero axis"),
    "axis of words": (_swap('axis xyz="0 1 0"', 'axis xyz="up"'), "joint 'shoulder': axis is not three numbers"),
    "limits the wrong way": (
        _swap('lower="-1"', 'lower="5"'),
        "joint 'elbow' has its lower limit 5 above its upper limit 2",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_bad_urdf_is_one_clear_line(text: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RobotError, match=message) as caught:
        load_robot("", urdf_text=text)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("robot_description: ")
    assert capfd.readouterr() == ("", "")  # no parser spoke on its own


def test_bad_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    with pytest.raises(RobotError, match=f"^{re.escape(str(path))}: No such file"):
        load_robot("", urdf=path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RobotError, match=r"arm\.urdf: not a text file"):
        load_robot("", urdf=path)
    path.write_text("<robot", encoding="utf-8")
    with pytest.raises(RobotError, match=r"arm\.urdf: not valid XML"):
        load_robot("", urdf=path)
    path.write_text(ARM, encoding="utf-8")
    assert load_robot("mine", urdf=path).name == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "gen4"}, r"unknown robot 'gen4'; known are .*\bkinova_gen3, .*; for any other give its URDF"),
        ({"name": "kinova_gen3", "variant": "claw"}, "'kinova_gen3' has no variant 'claw'; it has gripper, bare"),
        ({"name": "ur10", "variant": "e"}, "'ur10' has no variant 'e'; it has none"),
        ({"name": "", "variant": "e", "urdf_text": ARM}, "variant 'e' cannot be asked for together with a URDF"),
        ({"name": "", "urdf": "a.urdf", "urdf_text": ARM}, "not both"),
        ({"name": "kinova_gen3", "urdf_text": ARM}, "no joint 'joint_1', which robot 'kinova_gen3' has"),
    ],
)
def test_bad_request(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(RobotError, match=message):
        load_robot(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("link", "message"), [("hand", "no link 'hand'; it has base, flange"), ("base", "does not move")]
)
def test_missing_or_fixed_body(link: str, message: str) -> None:
    with pytest.raises(RobotError, match=message):
        load_robot("", urdf_text=ARM).body_index(link)


def test_constants_of_a_joint_that_is_not_there_are_refused() -> None:
    """A misspelt joint would go without them, unnoticed."""
    with pytest.raises(RobotError, match="constants are given for joint 'elbo', which it does not have"):
        build_robot(ARM, joints=Joints(("shoulder", "elbo"), encoder_step=np.full(2, 1e-3)))


def test_own_urdf_of_a_known_robot_keeps_its_constants() -> None:
    gen3 = load_robot("kinova_gen3")
    ends = '<parent link="end_effector_link"/><child link="finger"/>'
    finger = f'<link name="finger"/><joint name="finger_joint" type="prismatic">{ends}</joint>'
    own = gen3.urdf.replace("</robot>", finger + "</robot>").replace('mass value="0.9302"', 'mass value="0.95"')
    robot = load_robot("kinova_gen3", urdf_text=own)
    assert robot.joint_names == gen3.joint_names  # the finger is held
    assert robot.inertial_parameters()[3, 0] == pytest.approx(0.95)
    np.testing.assert_array_equal(robot.motor.armature, gen3.motor.armature)
    np.testing.assert_array_equal(robot.encoder_step, gen3.encoder_step)
    assert robot.wraps.all()
    assert len(robot.geometry) == len(gen3.geometry)
    moved = load_robot("kinova_gen3", urdf_text=own.replace("-0.20843", "-0.25"))
    assert moved.geometry == ()  # the shapes' frames are no longer where the shapes were measured
