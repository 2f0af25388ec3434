# SPDX-License-Identifier: Apache-2.0
"""A Kinova Gen3: the identifier on the driver's joint states and, with rviz:=true, a view of the arm.

Start the vendor's driver beside it, or let simulated:=true start a simulated arm that takes torques. With
certified:=true planner and robust controller move the arm, which needs one that takes torques, and a parameter file for
it: config:=kinova_gen3_certified.yaml.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription
from sysid_nodes.robots import load_robot

ARGUMENTS = (
    ("config", "kinova_gen3.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("calibration", "", "calibration.json of this arm; empty takes none"),
    ("joint_states", "joint_states", "topic of the driver's joint states"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("rviz", "false", "show the arm in RViz"),
    ("publish_description", "false", "publish the arm's description, where no driver does"),
    ("simulated", "false", "start the simulated arm; choose its parameter file as well, see config/"),
    ("certified", "false", "start certified planner and robust controller"),
    ("scene", "", "obstacles: a path, or the name of a file in config/scenes; empty: none until they are published"),
)


def _is_true(context: LaunchContext, name: str) -> bool:
    return LaunchConfiguration(name).perform(context).lower() in ("true", "1")


def _file(context: LaunchContext, name: str, folder: str) -> str:
    """Path of a file given by its path or by its name in a folder of the package."""
    given = LaunchConfiguration(name).perform(context)
    shared = Path(get_package_share_directory("online_sysid")) / folder / given
    if given and not Path(given).is_file() and not shared.is_file():
        raise FileNotFoundError(f"no file '{given}', nor one of that name in {shared.parent}")
    return given if not given or Path(given).is_file() else str(shared)


def _state_publisher(context: LaunchContext) -> list[Node]:
    if not _is_true(context, "publish_description"):
        return []
    description = {"robot_description": load_robot("kinova_gen3").urdf}
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[description | {"use_sim_time": _is_true(context, "use_sim_time")}],
            remappings=[("joint_states", LaunchConfiguration("joint_states"))],
        )
    ]


def _certified_motion(context: LaunchContext) -> list[Node]:
    parameters = [
        _file(context, "config", "config"),
        {"scene": _file(context, "scene", "config/scenes"), "use_sim_time": _is_true(context, "use_sim_time")},
    ]
    common = {
        "package": "online_sysid",
        "output": "screen",
        "parameters": parameters,
        "remappings": [("joint_states", LaunchConfiguration("joint_states"))],
    }
    nodes = []
    if _is_true(context, "simulated"):
        nodes.append(Node(executable="simulated_arm", name="simulated_arm", **common))
    if _is_true(context, "certified"):
        nodes.append(Node(executable="robust_controller", name="robust_controller", **common))
        nodes.append(Node(executable="certified_planner", name="certified_planner", **common))
    return nodes


def generate_launch_description() -> LaunchDescription:
    share = FindPackageShare("online_sysid")
    passed = ("config", "calibration", "joint_states", "use_sim_time")
    identifier = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([share, "launch", "interval_identifier.launch.py"])),
        launch_arguments=[(name, LaunchConfiguration(name)) for name in passed],
    )
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", PathJoinSubstitution([share, "rviz", "kinova.rviz"])],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS
    ]
    functions = [OpaqueFunction(function=_state_publisher), OpaqueFunction(function=_certified_motion)]
    return LaunchDescription([*arguments, identifier, *functions, rviz])
