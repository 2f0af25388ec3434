# SPDX-License-Identifier: Apache-2.0
"""A Kinova Gen3: the identifier on the driver's joint states and, with rviz:=true, a view of the arm.

Start the vendor's driver beside it, or let simulated:=true start a simulated arm, which plays an exciting motion. With
certified:=true planner and robust controller move the arm, which needs one that takes torques. Each of these has a
parameter file of its own, which is taken where config names none.
"""

from launch_ros.actions import Node

from launch import LaunchDescription
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.visuals import visible_urdf
from sysid_nodes.ros.launching import (
    COMMON,
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

ARGUMENTS = (
    config_file(""),
    ("calibration", "", "calibration.json of this arm; empty leaves it to the parameter file"),
    ("joint_states", "joint_states", "topic of the driver's joint states"),
    *COMMON,
    ("rviz", "false", "show the arm in RViz"),
    PUBLISH_DESCRIPTION,
    ("simulated", "false", "start a simulated arm: under certified motion with certified:=true, or else playing one"),
    ("certified", "false", "start certified planner and robust controller"),
    ("scene", "", "obstacles: a path, or the name of a file in config/scenes; empty: none until they are published"),
)


def _start(value: dict[str, str]) -> list[Node]:
    true = switches(value, "publish_description", "simulated", "certified", "rviz")
    start = switches(value, "autostart")
    real = "kinova_gen3_certified.yaml" if true["certified"] else "kinova_gen3.yaml"
    config = package_path(value["config"] or ("kinova_gen3_simulated.yaml" if true["simulated"] else real))
    plays = {} if true["certified"] or value["config"] else {"simulated_arm.interface": "playback"}
    common = non_empty(value, "frame_prefix") | switches(value, "use_sim_time")
    scene = {"scene": value["scene"] and package_path(value["scene"], "config/scenes")}
    topics = [("joint_states", value["joint_states"])]
    nodes = [ours("interval_identifier", value, [config, non_empty(value, "calibration") | common | start], topics)]
    if true["simulated"]:
        nodes.append(ours("simulated_arm", value, [config, scene | common | plays], topics))
    if true["certified"]:
        nodes.append(ours("robust_controller", value, [config, scene | common | start], topics))
        nodes.append(ours("certified_planner", value, [config, scene | common | start], topics))
    if true["publish_description"] or (true["simulated"] and true["rviz"]):
        nodes.append(description_of(visible_urdf(load_robot("kinova_gen3")), value, value["joint_states"]))
    return [*nodes, *view("kinova.rviz", value)]


def generate_launch_description() -> LaunchDescription:
    return launch_description(ARGUMENTS, _start)
