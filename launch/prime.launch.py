# SPDX-License-Identifier: Apache-2.0
"""A Unitree Go2 or G1: the estimator of motion, contact forces and inertia and, with rviz:=true, a view of them.

Start the robot's drivers and motion capture beside it, or let simulated:=true start a simulated robot.
"""

from pathlib import Path

from launch_ros.actions import Node

from launch import LaunchDescription
from sysid_nodes.data.config import load_yaml
from sysid_nodes.robots.visuals import visible_urdf
from sysid_nodes.ros.launching import (
    COMMON,
    JOINT_STATES,
    config_file,
    description_of,
    launch_description,
    non_empty,
    ours,
    package_path,
    switches,
    view,
)
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.session import prime_robot

ARGUMENTS = (
    config_file("go2.yaml"),
    JOINT_STATES,
    ("imu", "imu/data", "topic of the inertial sensor"),
    ("pose", "mocap/pose", "topic of the motion capture pose"),
    ("velocity", "velocity", "topic of the base's velocity, where prime.sensors.base_velocity is enabled"),
    ("low_state", "false", "take joints and IMU from Unitree's LowState, whose message package must be installed"),
    *COMMON,
    ("world_frame", "", "frame of the estimate; empty: that of the motion capture's messages"),
    ("tf", "false", "publish the base's transform; not where anybody else does"),
    ("simulated", "false", "start a simulated robot with an unknown load"),
    ("rviz", "false", "show the robot and its contacts in RViz"),
    ("publish_description", "true", "publish the robot's description, posed by the smoothed joint states"),
)


def _start(value: dict[str, str]) -> list[Node]:
    config = package_path(value["config"])
    robot = prime_robot(load_yaml(PrimeSessionConfig, Path(config)))
    frames = non_empty(value, "frame_prefix", "world_frame")
    chosen = switches(value, "low_state", "autostart", "use_sim_time", "tf") | frames
    names = {"joint_states": "joint_states", "imu/data": "imu", "mocap/pose": "pose", "velocity": "velocity"}
    topics = [(topic, value[argument]) for topic, argument in names.items()]
    nodes = [ours("prime_estimator", value, [config, chosen], topics)]
    true = switches(value, "low_state", "simulated", "publish_description")
    if true["simulated"]:
        simulated = {"robot": robot.name, "low_state": true["low_state"]}
        nodes.append(ours("simulated_legged_robot", value, [simulated], topics))
    if true["publish_description"]:
        nodes.append(description_of(visible_urdf(robot), value, "joint_states_smoothed"))
    return [*nodes, *view("prime.rviz", value)]


def generate_launch_description() -> LaunchDescription:
    return launch_description(ARGUMENTS, _start)
