# SPDX-License-Identifier: Apache-2.0
"""Export: the loaded file has the identified body, and no byte outside its <inertial> has changed."""

import re

import mujoco
import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.export import export_body

URDF = """<?xml version="1.0" encoding="utf-8"?>
<!-- <link name="tool"><inertial/></link> is only a comment; ünïcödé -->
<robot   name='arm'>
  <link name="base"/>
  <link name="upper">
    <inertial><mass value="2"/><origin xyz="0 0 .1"/>
      <inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1" /></inertial>
    <visual><!-- a > b --><geometry><box size="1 1 1"/></geometry></visual>
  </link>
  <link name="wrist"   >
    <visual><geometry><sphere radius=".1"/></geometry></visual>
  </link>
  <link name='tool'><inertial>
      <inertia izz=".004" ixy="0" ixz="0" iyy=".003" iyz="0" ixx=".002"/>
      <origin rpy=".1 .2 .3" xyz=".01 .02 .03"/><mass value=".5"/></inertial></link>
  <link name="tip" />
  <joint type="revolute" name="j1"><origin xyz="0 0 1" rpy="0 .3 0"/><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="j2" type="revolute"><origin xyz=".3 0 0"/><parent link="upper"/><child link="wrist"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="f1" type="fixed"><origin xyz=".05 .02 .1" rpy=".4 -.2 .9"/>
    <parent link="wrist"/><child link="tool"/></joint>
  <joint name="f2" type="fixed"><origin xyz="0 0 .2" rpy="0 1 0"/><parent link="tool"/><child link="tip"/></joint>
</robot>
"""

MJCF = """<mujoco model="arm">
  <compiler angle="radian"/>
  <worldbody>
    <body name="upper" pos="0 0 1">
      <joint name="j1" axis="0 1 0"/>
      <inertial mass="2" pos="0 0 .1" diaginertia=".1 .1 .1"/>
      <body name="wrist" pos=".3 0 0" quat=".9 .1 .2 -.3">
        <joint name="j2" axis="0 0 1" pos="0.01 -.02 .05"/>
        <geom size=".1"/><!-- <inertial/> -->
        <body name="tool" pos=".05 .02 .1" quat="1 2 0 .5">
          <inertial pos=".01 .02 .03" quat="1 .1 .2 .3" mass=".5" diaginertia=".002 .003 .004"></inertial>
          <body name="tip" pos="0 0 .2"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def physical(seed, mass=4.0):
    """A body of this mass whose pseudo-inertia is well inside the cone."""
    rng = np.random.default_rng(seed)
    spread = rng.normal(size=(3, 3)) * 0.1
    second = spread @ spread.T + 0.02 * np.eye(3)
    com = rng.normal(size=3) * 0.1
    about_com = mass * (np.trace(second) * np.eye(3) - second)
    return pinocchio.Inertia(mass, com, about_com).toDynamicParameters()


def urdf_body(data, joint="j2"):
    model = pinocchio.buildModelFromXML(data.decode())
    return model.inertias[model.getJointId(joint)].toDynamicParameters()


def mjcf_body(data, root="wrist", joint="j2"):
    """Parameters of a body and all welded to it about the joint's point, from MuJoCo's compiled model."""
    model = mujoco.MjModel.from_xml_string(data.decode())
    state = mujoco.MjData(model)
    mujoco.mj_kinematics(model, state)
    mujoco.mj_comPos(model, state)
    top = model.body(root).id
    origin = pinocchio.SE3(state.xmat[top].reshape(3, 3), state.xpos[top])
    origin = origin * pinocchio.SE3(np.eye(3), model.joint(joint).pos)
    total = np.zeros(10)
    for k in range(model.nbody):
        if model.body_weldid[k] == top:
            own = pinocchio.Inertia(model.body_mass[k], np.zeros(3), np.diag(model.body_inertia[k]))
            centre = pinocchio.SE3(state.ximat[k].reshape(3, 3), state.xipos[k])
            total += (origin.inverse() * centre).act(own).toDynamicParameters()
    return total


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), link=st.sampled_from(["wrist", "tool", "tip"]))
def test_urdf_round_trip(seed, link):
    theta = physical(seed)
    new = export_body(URDF.encode(), link, theta)
    np.testing.assert_allclose(urdf_body(new), theta, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(urdf_body(new, "j1"), urdf_body(URDF.encode(), "j1"))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), body=st.sampled_from(["wrist", "tool", "tip"]))
def test_mjcf_round_trip(seed, body):
    # the wrist's own geom has no <inertial>: exporting to a body below needs one there
    text = MJCF if body == "wrist" else MJCF.replace('<geom size=".1"/>', '<inertial pos="0 0 .02" mass=".3" '
                                                     'fullinertia=".01 .011 .012 .001 -.002 .003"/>')  # fmt: skip
    theta = physical(seed)
    new = export_body(text.encode(), body, theta)
    np.testing.assert_allclose(mjcf_body(new), theta, rtol=0, atol=1e-9)


@pytest.mark.parametrize("link", ["wrist", "tool", "tip"])
def test_a_payload_adds_to_the_body(link):
    payload = physical(3, mass=1.5)
    new = export_body(URDF.encode(), link, payload, added=True)
    np.testing.assert_allclose(urdf_body(new) - urdf_body(URDF.encode()), payload, rtol=0, atol=1e-9)
    text = MJCF.replace('<geom size=".1"/>', '<inertial pos="0 0 .02" mass=".3" diaginertia=".01 .011 .012"/>').encode()
    if link != "tip":  # which has no inertia of its own in this model
        new = export_body(text, link, payload, added=True)
        np.testing.assert_allclose(mjcf_body(new) - mjcf_body(text), payload, rtol=0, atol=1e-9)


def test_an_unnamed_welded_body_counts():
    text = MJCF.replace('<body name="tip" pos="0 0 .2"/>', '<body pos="0 0 .2"><inertial pos="0 .1 0" mass=".2" '
                        'diaginertia=".001 .001 .001"/></body>')  # fmt: skip
    new = export_body(text.encode(), "wrist", physical(6))
    np.testing.assert_allclose(mjcf_body(new), physical(6), rtol=0, atol=1e-9)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("text", "body", "old"),
    [
        (URDF, "upper", re.search(r"<inertial><mass.*?</inertial>", URDF, re.S)[0]),
        (URDF, "tool", re.search(r"<inertial>\s*<inertia izz.*?</inertial>", URDF, re.S)[0]),
        (MJCF, "tool", re.search(r"<inertial pos=.*?</inertial>", MJCF, re.S)[0]),
        (MJCF, "upper", re.search(r"<inertial mass=.*?/>", MJCF, re.S)[0]),
    ],
)
def test_every_other_byte_stays(text, body, old, newline):
    text = text.replace('<geom size=".1"/>', "").replace("\n", newline)
    before, after = (part.encode() for part in text.split(old.replace("\n", newline)))
    new = export_body(text.encode(), body, physical(1))
    assert new.startswith(before)
    assert new.endswith(after)
    written = new[len(before) : len(new) - len(after)]
    assert written.startswith(b"<inertial")
    assert written.count(b"\n") == written.count(newline.encode())


@pytest.mark.parametrize(("text", "link"), [(URDF, "wrist"), (URDF, "tip"), (MJCF, "wrist")])
def test_a_missing_inertial_is_added_and_nothing_else(text, link):
    new = export_body(text.encode(), link, physical(2))
    opened = re.search(rf"<(?:link|body) name=.{link}.[^>]*?\s*/?>", text)[0]
    start = text.index(opened)
    added = new.decode()[start:]
    assert new.decode()[:start] == text[:start]
    assert added.startswith(opened.removesuffix("/>").rstrip())
    assert added.endswith(text[start + len(opened) :])
    assert added.count("<inertial") == text[start:].count("<inertial") + 1


def test_exported_twice_is_exported_once():
    once = export_body(URDF.encode(), "tool", physical(3))
    assert export_body(once, "tool", physical(3)) == once
    again = export_body(export_body(URDF.encode(), "tool", physical(4)), "tool", physical(3))
    np.testing.assert_allclose(urdf_body(again), physical(3), rtol=0, atol=1e-9)


def test_locked_joints_carry_their_links_along():
    theta = physical(5, mass=9.0)
    new = export_body(URDF.encode(), "upper", theta, moving=("j1",))
    model = pinocchio.buildModelFromXML(new.decode())
    locked = pinocchio.buildReducedModel(model, [model.getJointId("j2")], np.zeros(2))
    np.testing.assert_allclose(locked.inertias[1].toDynamicParameters(), theta, rtol=0, atol=1e-9)


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-8-sig"])
def test_encodings(encoding):
    declared = encoding.removesuffix("-sig")
    text = URDF.replace('encoding="utf-8"', f'encoding="{declared}"')
    new = export_body(text.encode(encoding), "upper", physical(1))
    assert new.decode(encoding).startswith(text[:150])


@pytest.mark.parametrize(
    ("text", "link", "theta", "message"),
    [
        (URDF, "wirst", physical(1), "has no link 'wirst'; near it: wrist"),
        (MJCF, "tol", physical(1), "has no body 'tol'; near it: tool"),
        (URDF, "tool", -physical(1), "not those of a physical body"),
        (URDF, "tool", np.full(10, np.nan), "not those of a physical body"),
        (URDF, "tool", np.ones(3), "not those of a physical body"),
        (
            URDF,
            "wrist",
            physical(1, mass=0.4),
            r"fixed to 'wrist', 'tool' \(0.5 kg\), the identified body of 0.4 kg leaves 'wrist' no physical",
        ),
        ("<robot><link", "a", physical(1), "not valid XML"),
        ("", "a", physical(1), "not valid XML"),
        ("<sdf/>", "a", physical(1), "neither URDF nor MJCF: the root element is <sdf>"),
        (URDF.replace('value=".5"', 'value="heavy"'), "wrist", physical(1), "'heavy' should be 1 finite number"),
        (MJCF.replace('angle="radian"', 'inertiafromgeom="true"'), "wrist", physical(1), "overrides every <inertial>"),
        (MJCF, "tool", physical(1), "body 'wrist' takes its inertia from geoms"),
        (MJCF.replace('quat="1 2 0 .5"', 'euler="1 0 0"'), "wrist", physical(1), "as euler; write it as quat"),
        (
            "<!DOCTYPE robot [<!ENTITY l \"<link name='a'/>\">]><robot>&l;</robot>",
            "a",
            physical(1),
            "comes from an XML entity",
        ),
    ],
)
def test_bad_input_is_one_line(text, link, theta, message):
    with pytest.raises(RobotError, match=message) as error:
        export_body(text.encode(), link, theta, source="my.urdf")
    assert str(error.value).startswith("my.urdf: ")
    assert "\n" not in str(error.value)
