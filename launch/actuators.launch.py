# SPDX-License-Identifier: Apache-2.0
"""The identifier of a robot's actuators, from commands and encoders; with simulated:=true, a robot leg on a stand too.

Start the robot's drivers and whatever commands it beside it.
"""

from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from sysid_nodes.ros.launching import argument_values, declare, ours, package_path, switches, view
from sysid_nodes.simulation.actuators.config import SimulatedDrivesConfig

ARGUMENTS = (
    ("config", "go2_actuators.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("joint_states", "joint_states", "topic of the joint states"),
    ("commands", "joint_commands", "topic of the commands"),
    ("command_type", "joint_state", "messages on it: joint_state (sensor_msgs/JointState), trajectory or low_cmd"),
    ("autostart", "true", "configure and activate without a lifecycle manager"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("namespace", "", "namespace of all nodes, for several robots at once"),
    ("simulated", "false", "start a simulated leg with drives that nobody is told of"),
    ("rviz", "false", "show the drives in RViz"),
)


def _start(context: LaunchContext) -> list[Node]:
    value = argument_values(context, ARGUMENTS)
    true = switches(value, "autostart", "use_sim_time", "simulated")
    topics = [("joint_states", value["joint_states"])]
    chosen = {"commands": value["commands"], "command_type": value["command_type"]}
    if true["simulated"]:
        chosen["joints"] = SimulatedDrivesConfig().joints
    clock = {name: true[name] for name in ("autostart", "use_sim_time")}
    nodes = [ours("actuator_identifier", value, [package_path(value["config"]), chosen, clock], topics)]
    if true["simulated"]:
        nodes.append(ours("simulated_drives", value, [{"commands": value["commands"]}], topics))
    return [*nodes, *view("actuators.rviz", value)]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([*declare(ARGUMENTS), OpaqueFunction(function=_start)])
