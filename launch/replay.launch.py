# SPDX-License-Identifier: Apache-2.0
"""Plays a bag at the pace it was recorded, by its own clock, into the identifier, and keeps what that finds.

The bag begins when the identifier listens, and the launch ends when the result is saved. `sysid replay` gives the same
numbers without waiting; this is for looking at them in RViz or a plot while they come.
"""

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from sysid_nodes.ros.launching import argument_values, declare, non_empty, ours, package_path, view

ARGUMENTS = (
    ("config", "kinova_gen3.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("urdf", "", "URDF file that replaces the robot's own; empty leaves it to the parameter file"),
    ("body", "", "link to identify; empty leaves it to the parameter file"),
    ("calibration", "", "calibration.json of this robot; empty leaves it to the parameter file"),
    ("joint_states", "/joint_states", "topic of the joint states in the bag"),
    ("robot_description", "/robot_description", "topic of the robot's description in the bag, if it is there"),
    ("rate", "", "how many times faster than recorded; empty: as recorded"),
    ("out", "replayed", "folder for the result; it is made, and older results in it are replaced"),
    ("use_sim_time", "true", "the bag's clock; there is no reason to change it"),
    ("namespace", "", "namespace of all nodes"),
    ("rviz", "false", "show the arm in RViz"),
)


def _start(context: LaunchContext) -> list[Node]:
    value = argument_values(context, ARGUMENTS)
    topics = [(name, value[name]) for name in ("joint_states", "robot_description")]
    chosen = non_empty(value, "urdf", "body", "calibration") | {"use_sim_time": True, "reliability": "reliable"}
    played = {
        "bag": str(LaunchConfiguration("bag").perform(context)),
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
    bag = DeclareLaunchArgument("bag", description="folder of the bag")
    return LaunchDescription([bag, *declare(ARGUMENTS), OpaqueFunction(function=_start)])
