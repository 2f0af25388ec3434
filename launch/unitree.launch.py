# SPDX-License-Identifier: Apache-2.0
"""A Unitree Go2 or G1: the estimator of motion, contact forces and inertia and, with rviz:=true, a view of them.

Start the robot's drivers and motion capture beside it, or let simulated:=true start a simulated robot.
"""

from pathlib import Path

from launch.actions import OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription
from sysid_nodes.data.config import load_yaml
from sysid_nodes.ros.launching import declared, given, packaged, switches
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.session import prime_robot

ARGUMENTS = (
    ("config", "go2.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("joint_states", "joint_states", "topic of the joint states"),
    ("imu", "imu/data", "topic of the inertial sensor"),
    ("pose", "mocap/pose", "topic of the motion capture pose"),
    ("velocity", "velocity", "topic of the base's velocity, where prime.sensors.base_velocity is enabled"),
    ("low_state", "false", "take joints and IMU from Unitree's LowState, whose message package must be installed"),
    ("autostart", "true", "configure and activate without a lifecycle manager"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("simulated", "false", "start a simulated robot with an unknown load"),
    ("rviz", "false", "show the robot and its contacts in RViz"),
    ("publish_description", "true", "publish the robot's description, posed by the smoothed joint states"),
)


def _start(context: LaunchContext) -> list[Node]:
    value = given(context, ARGUMENTS)
    true = switches(value, "low_state", "autostart", "use_sim_time", "simulated", "publish_description")
    config = packaged(value["config"])
    robot = prime_robot(load_yaml(PrimeSessionConfig, Path(config)))
    options = {name: true[name] for name in ("low_state", "autostart", "use_sim_time")}
    names = {"joint_states": "joint_states", "imu/data": "imu", "mocap/pose": "pose", "velocity": "velocity"}
    topics = [(topic, value[argument]) for topic, argument in names.items()]
    nodes = [
        Node(
            package="online_sysid",
            executable="prime_estimator",
            name="prime_estimator",
            output="screen",
            parameters=[config, options],
            remappings=topics,
        )
    ]
    if true["simulated"]:
        nodes.append(
            Node(
                package="online_sysid",
                executable="simulated_legged_robot",
                name="simulated_legged_robot",
                output="screen",
                parameters=[{"robot": robot.name, "low_state": true["low_state"]}],
                remappings=topics,
            )
        )
    if true["publish_description"]:
        nodes.append(
            Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                parameters=[{"robot_description": robot.urdf, "use_sim_time": true["use_sim_time"]}],
                remappings=[("joint_states", "joint_states_smoothed")],
            )
        )
    return nodes


def generate_launch_description() -> LaunchDescription:
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", PathJoinSubstitution([FindPackageShare("online_sysid"), "rviz", "unitree_contacts.rviz"])],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    return LaunchDescription([*declared(ARGUMENTS), OpaqueFunction(function=_start), rviz])
