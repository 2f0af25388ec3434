# SPDX-License-Identifier: Apache-2.0
"""The interval identifier by itself, on whatever publishes joint_states."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription

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
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    config = Path(value["config"])
    if not config.is_file():
        config = Path(get_package_share_directory("online_sysid")) / "config" / config
    if not config.is_file():
        raise FileNotFoundError(f"no parameter file '{value['config']}', nor one of that name in {config.parent}")
    given = {name: value[name] for name in ("urdf", "body", "calibration", "reliability") if value[name]}
    switches = {name: value[name].lower() in ("true", "1") for name in ("autostart", "use_sim_time")}
    return [
        Node(
            package="online_sysid",
            executable="interval_identifier",
            name="interval_identifier",
            namespace=value["namespace"],
            output="screen",
            parameters=[str(config), given | switches],
            remappings=[(name, value[name]) for name in ("joint_states", "robot_description")],
        )
    ]


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=_start)])
