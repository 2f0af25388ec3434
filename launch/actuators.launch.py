# SPDX-License-Identifier: Apache-2.0
"""The identifier of a robot's actuators, from commands and encoders; with simulated:=true, a robot leg on a stand too.

Start the robot's drivers and whatever commands it beside it.
"""

from dataclasses import replace
from pathlib import Path

from launch_ros.actions import Node

from launch import LaunchDescription
from sysid_nodes.data.config import load_yaml
from sysid_nodes.robots.visuals import held_urdf, visible_urdf
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
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig, actuator_robot
from sysid_nodes.simulation.actuators.config import SimulatedDrivesConfig

ARGUMENTS = (
    config_file("go2_actuators.yaml"),
    JOINT_STATES,
    ("commands", "joint_commands", "topic of the commands"),
    ("command_type", "joint_state", "messages on it: joint_state (sensor_msgs/JointState), trajectory or low_cmd"),
    *COMMON,
    ("simulated", "false", "start a simulated leg with drives that nobody is told of"),
    PUBLISH_DESCRIPTION,
    ("rviz", "false", "show the drives in RViz"),
)


def _start(value: dict[str, str]) -> list[Node]:
    true = switches(value, "autostart", "use_sim_time", "simulated", "publish_description", "rviz")
    topics = [("joint_states", value["joint_states"])]
    chosen = {"commands": value["commands"], "command_type": value["command_type"]}
    joints = {"joints": SimulatedDrivesConfig().joints} if true["simulated"] else {}
    chosen |= joints
    config = package_path(value["config"])
    common = {name: true[name] for name in ("autostart", "use_sim_time")} | non_empty(value, "frame_prefix")
    nodes = [ours("actuator_identifier", value, [config, chosen, common], topics)]
    if true["simulated"]:
        nodes.append(ours("simulated_drives", value, [{"commands": value["commands"]}], topics))
    if true["publish_description"] or (true["simulated"] and true["rviz"]):
        robot = actuator_robot(replace(load_yaml(ActuatorSessionConfig, Path(config)), **joints))
        nodes.append(description_of(held_urdf(visible_urdf(robot), robot.joint_names), value, value["joint_states"]))
    return [*nodes, *view("actuators.rviz", value)]


def generate_launch_description() -> LaunchDescription:
    return launch_description(ARGUMENTS, _start)
