# SPDX-License-Identifier: Apache-2.0
"""Plays a bag at the pace it was recorded, by its own clock, into the identifier.

`sysid replay` gives the same numbers without waiting; this is for looking at them in RViz or a plot while they come.
"""

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    IncludeLaunchDescription,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription
from sysid_nodes.ros.launching import declared

ARGUMENTS = (
    ("config", "kinova_gen3.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("urdf", "", "URDF file that replaces the robot's own; empty leaves it to the parameter file"),
    ("body", "", "link to identify; empty leaves it to the parameter file"),
    ("calibration", "", "calibration.json of this robot; empty takes none"),
    ("joint_states", "joint_states", "topic of the joint states in the bag"),
    ("reliability", "reliable", "best_effort where the bag was recorded so"),
)


def generate_launch_description() -> LaunchDescription:
    identifier = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare("online_sysid"), "launch", "interval_identifier.launch.py"])
        ),
        launch_arguments=[
            ("use_sim_time", "true"),
            *((name, LaunchConfiguration(name)) for name, _, _ in ARGUMENTS),
        ],
    )
    player = ExecuteProcess(
        cmd=["ros2", "bag", "play", LaunchConfiguration("bag"), "--clock", "--disable-keyboard-controls"],
        output="screen",
    )
    end = RegisterEventHandler(
        OnProcessExit(target_action=player, on_exit=[EmitEvent(event=Shutdown(reason="the bag is over"))])
    )
    bag = DeclareLaunchArgument("bag", description="folder of the bag")
    return LaunchDescription([bag, *declared(ARGUMENTS), identifier, player, end])
