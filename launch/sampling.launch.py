# SPDX-License-Identifier: Apache-2.0
"""Identifier by rollouts and exploration planner of a walking robot; with simulated:=true, a loaded Go2 that obeys too.

Start the robot's drivers, motion capture and a controller that publishes set-points beside it; RViz needs the transform
of the robot's base from one of them, from the frame world.
"""

from pathlib import Path

from launch_ros.actions import Node

from launch import LaunchDescription
from sysid_nodes.cli.sampling.demo_config import simulated_robot
from sysid_nodes.data.config import load_yaml
from sysid_nodes.robots.visuals import visible_urdf
from sysid_nodes.ros.launching import (
    COMMON,
    JOINT_STATES,
    PUBLISH_DESCRIPTION,
    config_file,
    description_of,
    launch_description,
    non_empty,
    ours,
    package_path,
    switches,
    view,
)
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig, sampling_robot

ARGUMENTS = (
    config_file("go2_sampling.yaml"),
    JOINT_STATES,
    ("command_type", "joint_state", "messages of set-points: joint_state (sensor_msgs/JointState) or trajectory"),
    *COMMON,
    ("simulated", "false", "start a simulated Go2 with a load and motors that nobody is told of"),
    PUBLISH_DESCRIPTION,
    ("rviz", "false", "show base, payload and planned path in RViz"),
)


def _start(value: dict[str, str]) -> list[Node]:
    clock, config = switches(value, "autostart", "use_sim_time"), package_path(value["config"])
    true, prefix = switches(value, "simulated", "publish_description", "rviz"), non_empty(value, "frame_prefix")
    topics = [("joint_states", value["joint_states"])]
    chosen = {"command_type": value["command_type"]}
    nodes = [
        ours("spi_identifier", value, [config, chosen, prefix | clock], topics),
        ours("exploration_planner", value, [config, clock]),
    ]
    if true["simulated"]:
        nodes.append(ours("simulated_legged_robot", value, [simulated_robot(), prefix | {"tf": true["rviz"]}], topics))
    if true["publish_description"] or (true["simulated"] and true["rviz"]):
        robot = sampling_robot(load_yaml(SamplingSessionConfig, Path(config)))
        nodes.append(description_of(visible_urdf(robot), value, value["joint_states"]))
    return [*nodes, *view("sampling.rviz", value)]


def generate_launch_description() -> LaunchDescription:
    return launch_description(ARGUMENTS, _start)
