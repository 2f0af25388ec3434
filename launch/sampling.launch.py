# SPDX-License-Identifier: Apache-2.0
"""Identifier by rollouts and exploration planner of a walking robot; with simulated:=true, a loaded Go2 that obeys too.

Start the robot's drivers, motion capture and a controller that publishes set-points beside it; RViz needs the transform
of the robot's base from one of them, from the frame world.
"""

from pathlib import Path

from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from sysid_nodes.cli.sampling.demo_config import simulated_robot
from sysid_nodes.data.config import load_yaml
from sysid_nodes.robots.visuals import visible_urdf
from sysid_nodes.ros.launching import (
    argument_values,
    declare,
    description_of,
    non_empty,
    ours,
    package_path,
    switches,
    view,
)
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig, sampling_robot

ARGUMENTS = (
    ("config", "go2_sampling.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("joint_states", "joint_states", "topic of the joint states"),
    ("command_type", "joint_state", "messages of set-points: joint_state (sensor_msgs/JointState) or trajectory"),
    ("autostart", "true", "configure and activate without a lifecycle manager"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("namespace", "", "namespace of all nodes, for several robots at once"),
    ("frame_prefix", "", "what is put before the names of the robot's frames; empty leaves it to the parameter file"),
    ("simulated", "false", "start a simulated Go2 with a load and motors that nobody is told of"),
    (
        "publish_description",
        "false",
        "publish description and transforms, where no driver does; of a simulated one with rviz",
    ),
    ("rviz", "false", "show base, payload and planned path in RViz"),
)


def _start(context: LaunchContext) -> list[Node]:
    value = argument_values(context, ARGUMENTS)
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
    return LaunchDescription([*declare(ARGUMENTS), OpaqueFunction(function=_start)])
