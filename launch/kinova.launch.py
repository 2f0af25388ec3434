# SPDX-License-Identifier: Apache-2.0
"""A Kinova Gen3: the identifier on the driver's joint states and, with rviz:=true, a view of the arm.

Start the vendor's driver beside it, or let simulated:=true start a simulated arm that takes torques. With
certified:=true planner and robust controller move the arm, which needs one that takes torques, and a parameter file for
it: config:=kinova_gen3_certified.yaml.
"""

from launch.actions import IncludeLaunchDescription, OpaqueFunction
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription
from sysid_nodes.robots import load_robot
from sysid_nodes.ros.launching import declared, given, is_true, packaged, switches

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


def _state_publisher(context: LaunchContext) -> list[Node]:
    value = given(context, ARGUMENTS)
    if not is_true(value["publish_description"]):
        return []
    description = {"robot_description": load_robot("kinova_gen3").urdf}
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[description | switches(value, "use_sim_time")],
            remappings=[("joint_states", value["joint_states"])],
        )
    ]


def _certified_motion(context: LaunchContext) -> list[Node]:
    value = given(context, ARGUMENTS)
    scene = {"scene": value["scene"] and packaged(value["scene"], "config/scenes")}
    parameters = [packaged(value["config"]), scene | switches(value, "use_sim_time")]
    common = {
        "package": "online_sysid",
        "output": "screen",
        "parameters": parameters,
        "remappings": [("joint_states", value["joint_states"])],
    }
    nodes = []
    if is_true(value["simulated"]):
        nodes.append(Node(executable="simulated_arm", name="simulated_arm", **common))
    if is_true(value["certified"]):
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
    functions = [OpaqueFunction(function=_state_publisher), OpaqueFunction(function=_certified_motion)]
    return LaunchDescription([*declared(ARGUMENTS), identifier, *functions, rviz])
