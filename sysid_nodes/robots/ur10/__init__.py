# SPDX-License-Identifier: Apache-2.0
"""Universal Robots UR10, as example-robot-data describes it."""

from sysid_nodes.robots.description import RobotDescription
from sysid_nodes.robots.example_robots import example_urdf

DESCRIPTION = RobotDescription(
    name="ur10", urdf=lambda _variant: example_urdf("ur_description/urdf/ur10_robot.urdf"), body="wrist_3_link"
)
