# SPDX-License-Identifier: Apache-2.0
"""The identifier of a robot's actuators, from commands and encoders; with simulated:=true, a robot leg on a stand too.

Start the robot's drivers and whatever commands it beside it.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from sysid_nodes.simulation.actuators.config import SimulatedDrivesConfig

ARGUMENTS = (
    ("config", "go2_actuators.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("joint_states", "joint_states", "topic of the joint states"),
    ("commands", "joint_commands", "topic of the commands"),
    ("command_type", "joint_state", "messages on it: joint_state (sensor_msgs/JointState) or trajectory"),
    ("autostart", "true", "configure and activate without a lifecycle manager"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("simulated", "false", "start a simulated leg with drives that nobody is told of"),
)


def _start(context: LaunchContext) -> list[Node]:
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    true = {name: text.lower() in ("true", "1") for name, text in value.items()}
    config = Path(value["config"])
    if not config.is_file():
        config = Path(get_package_share_directory("online_sysid")) / "config" / config
    if not config.is_file():
        raise FileNotFoundError(f"no parameter file '{value['config']}', nor one of that name in {config.parent}")
    topics = [("joint_states", value["joint_states"])]
    chosen = {"commands": value["commands"], "command_type": value["command_type"]}
    if true["simulated"]:
        chosen["joints"] = SimulatedDrivesConfig().joints
    switches = {name: true[name] for name in ("autostart", "use_sim_time")}
    nodes = [
        Node(
            package="online_sysid",
            executable="actuator_identifier",
            name="actuator_identifier",
            output="screen",
            parameters=[str(config), chosen, switches],
            remappings=topics,
        )
    ]
    if true["simulated"]:
        nodes.append(
            Node(
                package="online_sysid",
                executable="simulated_drives",
                name="simulated_drives",
                output="screen",
                parameters=[{"commands": value["commands"]}],
                remappings=topics,
            )
        )
    return nodes


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=_start)])
