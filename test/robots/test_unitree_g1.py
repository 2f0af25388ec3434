# SPDX-License-Identifier: Apache-2.0
"""The G1 against its URDF and the published motor data."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio
import pytest

from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.robots.unitree_g1 import constants as g1


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("g1")


def test_motor_order_is_the_vendor_s_and_the_urdf_s(robot: Robot) -> None:
    order = robot.motor_order
    assert order == robot.joint_names
    assert [order.index(name) for name in ("left_knee_joint", "right_hip_pitch_joint", "waist_pitch_joint")] == [
        3,
        6,
        14,
    ]
    assert order[15:22] == tuple(f"left_{part}_joint" for part in g1.ARM)
    assert order[22] == "right_shoulder_pitch_joint"


def test_armature_follows_from_the_motors(robot: Robot) -> None:
    # 5020: 0.139e-4 x 16^2 + 0.017e-4 x 4.5^2 + 0.169e-4, and so on, with a pocket calculator.
    armature = dict(zip(robot.joint_names, robot.motor.armature, strict=True))
    assert armature["left_elbow_joint"] == pytest.approx(0.0036097, rel=1e-4)
    assert armature["right_hip_pitch_joint"] == pytest.approx(0.0101775, rel=1e-4)
    assert armature["right_knee_joint"] == pytest.approx(0.0251019, rel=1e-4)
    assert armature["left_wrist_yaw_joint"] == pytest.approx(0.00425, rel=1e-12)
    assert armature["left_ankle_roll_joint"] == armature["waist_pitch_joint"] == 2.0 * armature["left_elbow_joint"]


def test_stronger_motors_are_at_the_joints_with_higher_torque_limits(robot: Robot) -> None:
    limits = dict(zip(robot.joint_names, robot.limits.torque, strict=True))
    armature = dict(zip(robot.joint_names, robot.motor.armature, strict=True))
    single = [
        name for name in robot.joint_names if not ("ankle" in name or (name.startswith("waist_") and "yaw" not in name))
    ]
    for torque, motor in ((139.0, g1.M7520_22), (88.0, g1.M7520_14), (25.0, g1.M5020), (5.0, g1.M4010)):
        named = [name for name in single if limits[name] == torque]
        assert named
        assert {armature[name] for name in named} == {motor.armature}


def test_imus_sit_where_the_urdf_puts_them(robot: Robot) -> None:
    for link, joint, position in (
        (robot.imu, "root_joint", [0.04525, 0.0, -0.08339]),
        (g1.TORSO_IMU, "waist_pitch_joint", [-0.03959, -0.00224, 0.14792]),
    ):
        frame = robot.model.frames[robot.model.getFrameId(link)]
        assert robot.model.names[frame.parentJoint] == joint
        np.testing.assert_allclose(frame.placement.translation, position)


def test_contacts_are_the_urdf_s_collision_spheres(robot: Robot) -> None:
    root = ET.fromstring(robot.urdf)
    spheres = [
        (link.get("name"), *map(float, collision.find("origin").get("xyz").split()), float(sphere.get("radius")))  # type: ignore[union-attr]
        for link in root.findall("link")
        for collision in link.findall("collision")
        if (sphere := collision.find("geometry/sphere")) is not None
    ]
    assert [(point.link, *point.position, point.radius) for point in robot.contacts] == spheres
    assert len(robot.contacts) == 8
    assert len({point.name for point in robot.contacts}) == 8


def test_soles_are_level_at_zero_posture(robot: Robot) -> None:
    data = robot.model.createData()
    pinocchio.forwardKinematics(robot.model, data, pinocchio.neutral(robot.model))
    points = np.array([data.oMi[robot.model.getJointId(p.joint)].act(p.position) for p in robot.contacts])
    assert np.ptp(points[:, 2]) < 1e-6  # the legs are mirror images to the URDF's last digit
    left = [point.name.startswith("left") for point in robot.contacts]
    assert (points[left, 1] > 0.0).all() and (points[np.logical_not(left), 1] < 0.0).all()


def test_torso_is_identified_by_default(robot: Robot) -> None:
    # Torso, head, logo, sensors: the URDF's links that the waist pitch joint carries.
    assert robot.body == g1.TORSO
    assert robot.model.names[robot.body_index() + 1] == "waist_pitch_joint"
