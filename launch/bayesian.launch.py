# SPDX-License-Identifier: Apache-2.0
"""The Bayesian identifier of a robot's constants; with simulated:=true, a leg with a four-bar linkage too.

Start the robot's drivers beside it, and what publishes its description and transforms: encoders do not tell where the
joints of a linkage are that have none.
"""

from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from sysid_nodes.ros.launching import argument_values, declare, non_empty, ours, package_path, switches, view

ARGUMENTS = (
    ("config", "fourbar_bayesian.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("joint_states", "joint_states", "topic of the joint states"),
    ("power", "power", "topic of the power meter; empty: none"),
    ("autostart", "true", "configure and activate without a lifecycle manager"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("namespace", "", "namespace of all nodes, for several robots at once"),
    ("frame_prefix", "", "what is put before the names of the robot's frames; empty leaves it to the parameter file"),
    ("simulated", "false", "start a simulated leg whose constants nobody is told of"),
    ("rviz", "false", "show the links in RViz"),
)


def _start(context: LaunchContext) -> list[Node]:
    value = argument_values(context, ARGUMENTS)
    true = switches(value, "autostart", "use_sim_time", "simulated")
    topics = [("joint_states", value["joint_states"])]
    clock = {name: true[name] for name in ("autostart", "use_sim_time")} | non_empty(value, "frame_prefix")
    power = {"power": value["power"]}
    nodes = [ours("bayesian_identifier", value, [package_path(value["config"]), power, clock], topics)]
    if true["simulated"]:
        nodes.append(ours("simulated_linkage", value, [power], topics))
    return [*nodes, *view("bayesian.rviz", value)]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([*declare(ARGUMENTS), OpaqueFunction(function=_start)])
