"""What the demo's processes are configured with."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

import yaml

from sysid_nodes.cli import configuration
from sysid_nodes.data.config import from_flat, to_flat
from sysid_nodes.exceptions import InputError
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation import SimulationConfig

ROBOT = "kinova_gen3"
ROBOT_ERROR = 0.05
"""The simulated arm's links, friction and armature are off the nominal ones by up to this share, as in the paper."""

# A stamp of the present day, as seconds in double precision, is off by up to 1.2e-7 s.
_STAMP_ERROR = 5e-7

# Torque is constant between two stamps, so that acceleration changes smoothly there: by at most 4.4 rad/s3 along the
# demo's motion, computed with the true parameters. [rad/s3]
_JERK = 20.0


def identifier(simulation: SimulationConfig) -> IntervalIdentifierConfig:
    """The robot's packaged configuration, with the simulated sensors' bounds."""
    parser = argparse.ArgumentParser()
    configuration.add_arguments(parser)
    packaged = configuration.configuration(parser.parse_args(["--robot", ROBOT]))
    known = ("known_robot.inertia_relative", "known_robot.friction_relative", "known_robot.armature_relative")
    bounds = {
        "noise.torque_relative": [simulation.torque_relative],
        "noise.velocity_error": [simulation.velocity_error],
        "noise.torque_interpolation": simulation.torque_interpolation,
        "noise.stamp_error": _STAMP_ERROR,
        "noise.acceleration": load_robot(ROBOT).limits.acceleration.tolist(),
        "noise.jerk": [_JERK],
        **dict.fromkeys(known, simulation.robot_error),
    }
    return from_flat(IntervalIdentifierConfig, to_flat(packaged) | bounds)


def parameter_file(config: IntervalIdentifierConfig) -> str:
    """A ROS parameter file; what is empty stays away, because ROS gives an empty list no type."""
    tree: dict[str, Any] = {}
    for name, value in to_flat(config).items():
        *sections, leaf = name.split(".")
        place = tree
        if value not in ("", ()):
            for section in sections:
                place = place.setdefault(section, {})
            place[leaf] = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump({"/**": {"ros__parameters": tree}}, sort_keys=False, default_flow_style=None, width=110)
    return f"# Written by 'sysid demo': the packaged configuration with the simulated sensors' bounds.\n{text}"


def rviz_files(work: Path) -> tuple[Path, Path]:
    """The packaged view, and a parameter file with the robot's description.

    Raises:
        InputError: RViz or the view is not installed.
    """
    if not (shutil.which("rviz2") and shutil.which("ros2")):
        raise InputError("--rviz needs rviz2 and ros2 on the PATH; source a ROS 2 installation that has them")
    folders = [Path(sys.prefix) / "share" / "online_sysid" / "rviz", Path(__file__).resolve().parents[2] / "rviz"]
    view = next((file for folder in folders if (file := folder / "kinova.rviz").is_file()), None)
    if view is None:
        raise InputError("the view kinova.rviz is not installed")
    description = work / "description.yaml"
    text = {"robot_description": load_robot(ROBOT).urdf}
    description.write_text(yaml.safe_dump({"/**": {"ros__parameters": text}}), encoding="utf-8")
    return view, description
