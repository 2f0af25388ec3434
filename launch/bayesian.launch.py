# SPDX-License-Identifier: Apache-2.0
"""The Bayesian identifier of a robot's constants; with simulated:=true, a leg with a four-bar linkage too.

Start the robot's drivers beside it, and what publishes its description and transforms: encoders do not tell where the
joints of a linkage are that have none.
"""

from launch_ros.actions import Node

from launch import LaunchDescription
from sysid_nodes.ros.launching import (
    COMMON,
    JOINT_STATES,
    config_file,
    launch_description,
    non_empty,
    ours,
    package_path,
    switches,
    view,
)

ARGUMENTS = (
    config_file("fourbar_bayesian.yaml"),
    JOINT_STATES,
    ("power", "power", "topic of the power meter; empty: none"),
    *COMMON,
    ("simulated", "false", "start a simulated leg whose constants nobody is told of"),
    ("rviz", "false", "show the links in RViz"),
)


def _start(value: dict[str, str]) -> list[Node]:
    true = switches(value, "autostart", "use_sim_time", "simulated")
    topics = [("joint_states", value["joint_states"])]
    clock = {name: true[name] for name in ("autostart", "use_sim_time")} | non_empty(value, "frame_prefix")
    power = {"power": value["power"]}
    nodes = [ours("bayesian_identifier", value, [package_path(value["config"]), power, clock], topics)]
    if true["simulated"]:
        nodes.append(ours("simulated_linkage", value, [power], topics))
    return [*nodes, *view("bayesian.rviz", value)]


def generate_launch_description() -> LaunchDescription:
    return launch_description(ARGUMENTS, _start)
