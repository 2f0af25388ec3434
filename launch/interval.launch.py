# SPDX-License-Identifier: Apache-2.0
"""The interval identifier by itself, on whatever publishes joint_states."""

from launch_ros.actions import Node

from launch import LaunchDescription
from sysid_nodes.ros.launching import (
    COMMON,
    IDENTIFIED_BODY,
    JOINT_STATES,
    config_file,
    launch_description,
    non_empty,
    ours,
    package_path,
    switches,
)

ARGUMENTS = (
    config_file("kinova_gen3.yaml"),
    *IDENTIFIED_BODY,
    JOINT_STATES,
    ("robot_description", "robot_description", "topic of the robot's description, for robots that have no name"),
    ("reliability", "", "best_effort or reliable; empty leaves it to the parameter file"),
    *COMMON,
)


def _start(value: dict[str, str]) -> list[Node]:
    chosen = non_empty(value, "urdf", "body", "calibration", "reliability", "frame_prefix")
    parameters = [package_path(value["config"]), chosen | switches(value, "autostart", "use_sim_time")]
    topics = [(name, value[name]) for name in ("joint_states", "robot_description")]
    return [ours("interval_identifier", value, parameters, topics)]


def generate_launch_description() -> LaunchDescription:
    return launch_description(ARGUMENTS, _start)
