# SPDX-License-Identifier: Apache-2.0
"""Plays a bag at the pace it was recorded, by its own clock, into the identifier, and keeps what that finds.

The bag begins when the identifier listens, and the launch ends when the result is saved. `sysid replay` gives the same
numbers without waiting; this is for looking at them in RViz or a plot while they come.
"""

from launch_ros.actions import Node

from launch import LaunchDescription
from sysid_nodes.ros.launching import (
    IDENTIFIED_BODY,
    config_file,
    launch_description,
    non_empty,
    ours,
    package_path,
    view,
)

ARGUMENTS = (
    config_file("kinova_gen3.yaml"),
    *IDENTIFIED_BODY,
    ("joint_states", "/joint_states", "topic of the joint states in the bag"),
    ("robot_description", "/robot_description", "topic of the robot's description in the bag, if it is there"),
    ("rate", "", "how many times faster than recorded; empty: as recorded"),
    ("out", "replayed", "folder for the result; it is made, and older results in it are replaced"),
    ("use_sim_time", "true", "the bag's clock; there is no reason to change it"),
    ("namespace", "", "namespace of all nodes"),
    ("rviz", "false", "show the arm in RViz"),
)


def _start(value: dict[str, str]) -> list[Node]:
    topics = [(name, value[name]) for name in ("joint_states", "robot_description")]
    chosen = non_empty(value, "urdf", "body", "calibration") | {"use_sim_time": True, "reliability": "reliable"}
    played = {
        "bag": value["bag"],
        "topics": f"{value['joint_states']},{value['robot_description']},/tf,/tf_static",
        "save": value["out"],
    }
    if value["rate"]:
        played["rate"] = float(value["rate"])
    return [
        ours("interval_identifier", value, [package_path(value["config"]), chosen], topics),
        ours("bag_player", value, [played]),
        *view("kinova.rviz", value),
    ]


def generate_launch_description() -> LaunchDescription:
    return launch_description(ARGUMENTS, _start, ("bag", "", "folder of the bag"))
