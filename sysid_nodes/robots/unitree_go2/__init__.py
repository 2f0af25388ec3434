# SPDX-License-Identifier: Apache-2.0
"""Unitree Go2, a quadruped with twelve motors and four spherical feet."""

from __future__ import annotations

from sysid_nodes.robots.contacts import ContactSpec
from sysid_nodes.robots.description import Joints, RobotDescription
from sysid_nodes.robots.example_robots import example_urdf
from sysid_nodes.robots.unitree_go2 import constants as go2

FEET = tuple(ContactSpec(f"{leg}_foot", f"{leg}_foot", go2.FOOT_CENTRE, go2.FOOT_RADIUS) for leg in go2.LEGS)

DESCRIPTION = RobotDescription(
    name="go2",
    urdf=lambda _variant: example_urdf("go2_description/urdf/go2.urdf"),
    body=go2.BASE,
    floating_base=True,
    joints=Joints(names=go2.JOINTS, motor=go2.MOTOR),
    contacts=FEET,
    motor_order=go2.MOTOR_ORDER,
    imu=go2.IMU,
)
