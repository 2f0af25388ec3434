# SPDX-License-Identifier: Apache-2.0
"""Files that RViz needs to show a demo's robot."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from sysid_nodes.data.packaged import required_file
from sysid_nodes.exceptions import InputError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.visuals import held_urdf, visible_urdf


def rviz_files(work: Path, view: str, robot: Robot) -> tuple[Path, Path]:
    """The packaged view, and a parameter file in work with the robot's description, joints that nobody reads fixed.

    Raises:
        InputError: RViz or the view is not installed.
    """
    if not (shutil.which("rviz2") and shutil.which("ros2")):
        raise InputError("--rviz needs rviz2 and ros2 on the PATH; source a ROS 2 installation that has them")
    found = required_file(view)
    description = work / "description.yaml"
    urdf = held_urdf(visible_urdf(robot), robot.joint_names)
    tree = {"/**": {"ros__parameters": {"robot_description": urdf}}}
    description.write_text(yaml.safe_dump(tree), encoding="utf-8")
    return found, description
