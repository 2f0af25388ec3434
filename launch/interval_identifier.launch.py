# SPDX-License-Identifier: Apache-2.0
"""The interval identifier by itself, on whatever publishes joint_states."""

from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from sysid_nodes.ros.launching import declared, given, packaged, switches

ARGUMENTS = (
    ("config", "kinova_gen3.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("urdf", "", "URDF file that replaces the robot's own; empty leaves it to the parameter file"),
    ("body", "", "link to identify; empty leaves it to the parameter file"),
    ("calibration", "", "calibration.json of this robot; empty leaves it to the parameter file"),
    ("joint_states", "joint_states", "topic of the joint states"),
    ("robot_description", "robot_description", "topic of the robot's description, for robots that have no name"),
    ("reliability", "reliable", "reliable, or best_effort to hear best-effort drivers"),
    ("autostart", "true", "configure and activate without a lifecycle manager"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("namespace", "", "namespace of the node"),
)


def _start(context: LaunchContext) -> list[Node]:
    value = given(context, ARGUMENTS)
    chosen = {name: value[name] for name in ("urdf", "body", "calibration", "reliability") if value[name]}
    return [
        Node(
            package="online_sysid",
            executable="interval_identifier",
            name="interval_identifier",
            namespace=value["namespace"],
            output="screen",
            parameters=[packaged(value["config"]), chosen | switches(value, "autostart", "use_sim_time")],
            remappings=[(name, value[name]) for name in ("joint_states", "robot_description")],
        )
    ]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([*declared(ARGUMENTS), OpaqueFunction(function=_start)])
