# SPDX-License-Identifier: Apache-2.0
"""The interval identifier by itself, on whatever publishes joint_states."""

from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from sysid_nodes.ros.launching import argument_values, declare, non_empty, ours, package_path, switches

ARGUMENTS = (
    ("config", "kinova_gen3.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("urdf", "", "URDF file that replaces the robot's own; empty leaves it to the parameter file"),
    ("body", "", "link to identify; empty leaves it to the parameter file"),
    ("calibration", "", "calibration.json of this robot; empty leaves it to the parameter file"),
    ("joint_states", "joint_states", "topic of the joint states"),
    ("robot_description", "robot_description", "topic of the robot's description, for robots that have no name"),
    ("reliability", "", "best_effort or reliable; empty leaves it to the parameter file"),
    ("autostart", "true", "configure and activate without a lifecycle manager"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("namespace", "", "namespace of all nodes, for several robots at once"),
    ("frame_prefix", "", "what is put before the names of the robot's frames; empty leaves it to the parameter file"),
)


def _start(context: LaunchContext) -> list[Node]:
    value = argument_values(context, ARGUMENTS)
    chosen = non_empty(value, "urdf", "body", "calibration", "reliability", "frame_prefix")
    parameters = [package_path(value["config"]), chosen | switches(value, "autostart", "use_sim_time")]
    topics = [(name, value[name]) for name in ("joint_states", "robot_description")]
    return [ours("interval_identifier", value, parameters, topics)]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([*declare(ARGUMENTS), OpaqueFunction(function=_start)])
