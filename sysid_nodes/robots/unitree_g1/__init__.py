# SPDX-License-Identifier: Apache-2.0
"""Unitree G1, a humanoid with 29 motors, its soles touching with four spheres each."""

from __future__ import annotations

from sysid_nodes.robots.contacts import ContactSpec
from sysid_nodes.robots.description import Joints, RobotDescription
from sysid_nodes.robots.example_robots import example_urdf
from sysid_nodes.robots.unitree_g1 import constants as g1

SOLES = tuple(
    ContactSpec(f"{side}_{corner}", link, centre, g1.SOLE_RADIUS)
    for side, link in zip(g1.SIDES, g1.SOLE_LINKS, strict=True)
    for corner, centre in g1.SOLE_CENTRES.items()
)

DESCRIPTION = RobotDescription(
    name="g1",
    urdf=lambda _variant: example_urdf("g1_description/urdf/g1_29dof_rev_1_0.urdf"),
    body=g1.TORSO,
    floating_base=True,
    joints=Joints(names=g1.JOINTS, motor=g1.MOTOR),
    contacts=SOLES,
    motor_order=g1.MOTOR_ORDER,
    imu=g1.PELVIS_IMU,
)
