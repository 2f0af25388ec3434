# SPDX-License-Identifier: Apache-2.0
"""The Go2 against its URDF, against MuJoCo's reading of it, and against the published numbers typed in once more."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio
import pytest

from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.robots.unitree_go2 import constants as go2
from sysid_nodes.robots.urdf import parse_urdf


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("go2")


def test_joints_are_the_urdf_s_and_motors_the_vendor_s(robot: Robot) -> None:
    assert robot.joint_names == go2.JOINTS
    legs = [name.split("_")[0] for name in robot.motor_order]
    assert legs == ["FR"] * 3 + ["FL"] * 3 + ["RR"] * 3 + ["RL"] * 3
    assert [name.split("_")[1] for name in robot.motor_order[:3]] == ["hip", "thigh", "calf"]
    assert set(robot.motor_order) == set(robot.joint_names)


def test_limits_reach_the_robot(robot: Robot) -> None:
    np.testing.assert_array_equal(robot.limits.torque, [23.7, 23.7, 45.43] * 4)
    np.testing.assert_array_equal(robot.limits.velocity, [30.1, 30.1, 15.7] * 4)
    front, rear = [-1.0472, -1.5708, -2.7227], [-1.0472, -0.5236, -2.7227]
    np.testing.assert_array_equal(robot.limits.position_lower, front * 2 + rear * 2)
    assert not robot.wraps.any()


def test_rotor_inertia_is_the_urdf_s_and_armature_follows_from_it(robot: Robot) -> None:
    rotor = robot.urdf.split('name="FL_hip_rotor"')[1].split("</link>")[0]
    assert f'ixx="{go2.ROTOR_INERTIA:.9f}"' in rotor
    assert go2.GEARS["calf"] / go2.GEARS["hip"] == pytest.approx(45.43 / 23.7)
    # The same quotient of the speed limits, 30.1 / 15.70, agrees within the limits' rounding.
    assert pytest.approx(30.1 / 15.70, rel=1e-3) == go2.CALF_LINKAGE
    np.testing.assert_allclose(robot.motor.armature, [0.004481, 0.004481, 0.016466] * 4, rtol=1e-3)


def test_masses_are_the_urdf_s(robot: Robot) -> None:
    leg = 0.678 + 1.152 + 0.154 + 0.04 + 3 * 0.089
    assert sum(body.mass for body in robot.model.inertias) == pytest.approx(6.921 + 4 * leg)
    # The hip rotors sit in the base.
    assert robot.inertial_parameters()[robot.body_index(), 0] == pytest.approx(6.921 + 4 * 0.089)


def test_imu_sits_on_the_base(robot: Robot) -> None:
    frame = robot.model.frames[robot.model.getFrameId(robot.imu)]
    assert robot.model.names[frame.parentJoint] == "root_joint"
    np.testing.assert_allclose(frame.placement.translation, [-0.02557, 0.0, 0.04232])
    np.testing.assert_array_equal(frame.placement.rotation, np.eye(3))


def test_feet_hang_on_the_calves_where_mujoco_puts_the_foot_links(robot: Robot) -> None:
    assert [foot.name for foot in robot.contacts] == ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
    text = parse_urdf(robot.urdf).rigid_text
    compiled = mujoco.MjModel.from_xml_string(
        text.replace("</robot>", '<mujoco><compiler fusestatic="false"/></mujoco></robot>')
    )
    data = mujoco.MjData(compiled)
    joints = np.random.default_rng(3).uniform(-0.5, 0.5, 12) + np.array([0.0, 0.9, -1.8] * 4)
    for name, value in zip(robot.joint_names, joints, strict=True):
        data.joint(name).qpos[0] = value
    mujoco.mj_forward(compiled, data)
    q = np.concatenate([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], joints])
    pin_data = robot.model.createData()
    pinocchio.forwardKinematics(robot.model, pin_data, q)
    for foot in robot.contacts:
        centre = pin_data.oMi[robot.model.getJointId(foot.joint)].act(foot.position)
        link = data.body(foot.link)
        # The vendor's URDF puts the sphere 2 mm behind the link's origin, radius 22 mm.
        expected = link.xpos + link.xmat.reshape(3, 3) @ [-0.002, 0.0, 0.0]
        np.testing.assert_allclose(centre, expected, atol=1e-9)
        assert foot.joint == foot.link.replace("foot", "calf_joint")
        assert foot.radius == 0.022


def test_all_feet_touch_the_ground_together_when_standing(robot: Robot) -> None:
    posture = [go2.STANDING[part] for _ in go2.LEGS for part in go2.PARTS]
    data = robot.model.createData()
    pinocchio.forwardKinematics(robot.model, data, np.concatenate([[0, 0, 0, 0, 0, 0, 1.0], posture]))
    heights = [
        data.oMi[robot.model.getJointId(foot.joint)].act(foot.position)[2] - foot.radius for foot in robot.contacts
    ]
    # Two links of 0.213 m at 0.9 rad to the vertical, and the foot's radius.
    np.testing.assert_allclose(heights, -2 * 0.213 * np.cos(0.9) - 0.022, atol=2e-3)
    assert np.ptp(heights) < 1e-12
