# SPDX-License-Identifier: Apache-2.0
"""Franka Emika Panda, its fingers held, as example-robot-data describes it."""

from sysid_nodes.robots.description import RobotDescription
from sysid_nodes.robots.example_robots import example_urdf

DESCRIPTION = RobotDescription(
    name="panda",
    urdf=lambda _variant: example_urdf("panda_description/urdf/panda.urdf"),
    body="panda_link7",
    locked=("panda_finger_joint1", "panda_finger_joint2"),
)
