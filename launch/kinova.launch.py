"""A Kinova Gen3: the identifier on the driver's joint states and, with rviz:=true, a view of the arm.

Start the vendor's driver, or the simulated robot, beside it.
"""

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription
from sysid_nodes.robots import load_robot

ARGUMENTS = (
    ("config", "kinova_gen3.yaml", "parameter file: a path, or the name of a file in the package's config folder"),
    ("calibration", "", "calibration.json of this arm; empty takes none"),
    ("joint_states", "joint_states", "topic of the driver's joint states"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("rviz", "false", "show the arm in RViz"),
    ("publish_description", "false", "publish the arm's description, where no driver does"),
)


def _state_publisher(context: LaunchContext) -> list[Node]:
    if LaunchConfiguration("publish_description").perform(context).lower() not in ("true", "1"):
        return []
    simulated = LaunchConfiguration("use_sim_time").perform(context).lower() in ("true", "1")
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[{"robot_description": load_robot("kinova_gen3").urdf, "use_sim_time": simulated}],
            remappings=[("joint_states", LaunchConfiguration("joint_states"))],
        )
    ]


def generate_launch_description() -> LaunchDescription:
    share = FindPackageShare("online_sysid")
    passed = ("config", "calibration", "joint_states", "use_sim_time")
    identifier = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([share, "launch", "interval_identifier.launch.py"])),
        launch_arguments=[(name, LaunchConfiguration(name)) for name in passed],
    )
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", PathJoinSubstitution([share, "rviz", "kinova.rviz"])],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS
    ]
    return LaunchDescription([*arguments, identifier, OpaqueFunction(function=_state_publisher), rviz])
