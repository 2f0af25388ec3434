# SPDX-License-Identifier: Apache-2.0
"""Files that RViz needs to show a demo's robot."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from sysid_nodes.data.packaged import required_file
from sysid_nodes.exceptions import InputError


def rviz_files(work: Path, view: str, urdf: str) -> tuple[Path, Path]:
    """The packaged view, and a parameter file in work with the robot's description.

    Raises:
        InputError: RViz or the view is not installed.
    """
    if not (shutil.which("rviz2") and shutil.which("ros2")):
        raise InputError("--rviz needs rviz2 and ros2 on the PATH; source a ROS 2 installation that has them")
    found = required_file(view)
    description = work / "description.yaml"
    tree = {"/**": {"ros__parameters": {"robot_description": urdf}}}
    description.write_text(yaml.safe_dump(tree), encoding="utf-8")
    return found, description
