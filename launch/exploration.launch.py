# SPDX-License-Identifier: Apache-2.0
"""Identifier by rollouts and exploration planner of a walking robot; with simulated:=true, a loaded Go2 that obeys too.

Start the robot's drivers, motion capture and a controller that publishes set-points beside it.
"""

from launch.actions import OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription
from sysid_nodes.cli.sampling.demo_config import simulated_robot
from sysid_nodes.ros.launching import declared, given, packaged, switches

ARGUMENTS = (
    ("config", "go2_sampling.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("joint_states", "joint_states", "topic of the joint states"),
    ("command_type", "joint_state", "messages of set-points: joint_state (sensor_msgs/JointState) or trajectory"),
    ("autostart", "true", "configure and activate without a lifecycle manager"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("simulated", "false", "start a simulated Go2 with a load and motors that nobody is told of"),
    ("rviz", "false", "show the planned path in RViz"),
)


def _start(context: LaunchContext) -> list[Node]:
    value = given(context, ARGUMENTS)
    true = switches(value, "autostart", "use_sim_time", "simulated")
    clock = {name: true[name] for name in ("autostart", "use_sim_time")}
    config = packaged(value["config"])
    nodes = [
        Node(
            package="online_sysid",
            executable="spi_identifier",
            name="spi_identifier",
            output="screen",
            parameters=[config, {"command_type": value["command_type"]}, clock],
            remappings=[("joint_states", value["joint_states"])],
        ),
        Node(
            package="online_sysid",
            executable="exploration_planner",
            name="exploration_planner",
            output="screen",
            parameters=[config, clock],
        ),
    ]
    if true["simulated"]:
        nodes.append(
            Node(
                package="online_sysid",
                executable="simulated_legged_robot",
                name="simulated_legged_robot",
                output="screen",
                parameters=[simulated_robot()],
                remappings=[("joint_states", value["joint_states"])],
            )
        )
    return nodes


def generate_launch_description() -> LaunchDescription:
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", PathJoinSubstitution([FindPackageShare("online_sysid"), "rviz", "exploration.rviz"])],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    return LaunchDescription([*declared(ARGUMENTS), OpaqueFunction(function=_start), rviz])
