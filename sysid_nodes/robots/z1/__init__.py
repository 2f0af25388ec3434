# SPDX-License-Identifier: Apache-2.0
"""Unitree Z1, its gripper held, as example-robot-data describes it."""

from sysid_nodes.robots.description import RobotDescription
from sysid_nodes.robots.example_robots import example_urdf

DESCRIPTION = RobotDescription(
    name="z1",
    urdf=lambda _variant: example_urdf("z1_description/urdf/z1.urdf"),
    body="link06",
    locked=("jointGripper",),
)
