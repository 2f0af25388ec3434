# SPDX-License-Identifier: Apache-2.0
"""Arguments, nodes and files of the package's launch files, which cannot import one another."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.events.process import ProcessExited
from launch.logging import get_logger, launch_config
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from sysid_nodes.data.joint_vector import did_you_mean
from sysid_nodes.messages.geometry import WORLD

Argument = tuple[str, str, str]
"""Name, default, description; a default of true or false makes it a switch."""

_ENDED_WITH_PARENT = "setpriv --pdeathsig TERM"

JOINT_STATES: Argument = ("joint_states", "joint_states", "topic of the joint states")

PUBLISH_DESCRIPTION: Argument = (
    "publish_description",
    "false",
    "publish description and transforms, where no driver does; of a simulated one with rviz",
)

IDENTIFIED_BODY: tuple[Argument, ...] = (
    ("urdf", "", "URDF file that replaces the robot's own; empty leaves it to the parameter file"),
    ("body", "", "link to identify; empty leaves it to the parameter file"),
    ("calibration", "", "calibration.json of this robot; empty leaves it to the parameter file"),
)

COMMON: tuple[Argument, ...] = (
    ("autostart", "true", "configure and activate without a lifecycle manager"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("namespace", "", "namespace of all nodes, for several robots at once"),
    ("frame_prefix", "", "what is put before the names of the robot's frames; empty leaves it to the parameter file"),
)

_SWITCH = ["true", "false", "True", "False"]


def config_file(default: str) -> Argument:
    """The argument that chooses the parameter file."""
    text = "parameter file: a path, or the name of a file in the package's config folder"
    return "config", default, text if default else f"{text}; empty: the one for what is started"


def launch_description(
    arguments: Sequence[Argument], start: Callable[[dict[str, str]], list[Node]], *required: Argument
) -> LaunchDescription:
    """A launch file's arguments, and the nodes that `start` makes of their values by name.

    Arguments that are required have no default, whatever they state.
    """

    def launch(context: LaunchContext) -> list[Node]:
        names = [name for name, _, _ in (*arguments, *required)]
        warn_of_misspelt(context.launch_configurations, names)
        return start({name: str(LaunchConfiguration(name).perform(context)) for name in names})

    declared = [
        *(DeclareLaunchArgument(name, description=text) for name, _, text in required),
        *(
            DeclareLaunchArgument(
                name, default_value=default, description=text, choices=_SWITCH if default in _SWITCH else None
            )
            for name, default, text in arguments
        ),
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=launch)])


def warn_of_misspelt(given: Iterable[str], names: Sequence[str]) -> None:
    """Warns of an argument that is none but nearly one: launch passes over it.

    Others may be those of a launch file that includes this one.
    """
    for name in given:
        if name not in names and (near := did_you_mean(name, names)):
            get_logger("launch").warning(f"there is no argument '{name}'{near}")


def is_true(text: str) -> bool:
    """Whether a switch is on."""
    return text.lower() == "true"


def switches(values: Mapping[str, str], *names: str) -> dict[str, bool]:
    """Whether those arguments that are switches are on."""
    return {name: is_true(values[name]) for name in names}


def non_empty(values: Mapping[str, str], *names: str) -> dict[str, str]:
    """Those of the arguments that are not empty: what is leaves it to the parameter file."""
    return {name: values[name] for name in names if values[name]}


def ours(executable: str, value: Mapping[str, str], parameters: Sequence[Any], topics: Sequence[Any] = ()) -> Node:
    """A node of this package, in the namespace of the launch, which ends with it.

    Args:
        executable: whose name the node bears.
        value: arguments, ``namespace`` among them.
        parameters: files and values.
        topics: pairs of names, from and to.
    """
    return Node(
        package="online_sysid",
        executable=executable,
        exec_name=executable,
        name=executable,
        namespace=value["namespace"],
        output="screen",
        parameters=list(parameters),
        remappings=list(topics),
        prefix=with_launch(),
        on_exit=end_with,
    )


def with_launch() -> list[Any]:
    """Prefix of a command that Linux ends with the launch, however that ends: on SIGTERM launch leaves what it started.

    After it comes launch's own ``launch-prefix``; that alone where there is no setpriv (of util-linux).
    """
    given = LaunchConfiguration("launch-prefix", default="")
    return [f"{_ENDED_WITH_PARENT} ", given] if shutil.which("setpriv") else [given]


def end_with(event: ProcessExited, context: LaunchContext) -> list[Shutdown]:
    """Ends the launch with a process on which it rests: without error if that had none.

    Raises:
        RuntimeError: it had one, and nobody had asked for an end.
    """
    if context.is_shutdown:
        return []
    if event.returncode:
        raise RuntimeError(f"{event.process_name} has ended with status {event.returncode}, and so does the launch")
    return [Shutdown(reason=f"{event.process_name} has ended")]


def description_of(urdf: str, value: Mapping[str, str], joint_states: str) -> Node:
    """robot_state_publisher with a URDF, on a topic of joint states."""
    clock = switches(value, "use_sim_time")
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        exec_name="robot_state_publisher",
        namespace=value["namespace"],
        parameters=[{"robot_description": urdf, "frame_prefix": value["frame_prefix"], **clock}],
        remappings=[("joint_states", joint_states)],
        prefix=with_launch(),
    )


def view(name: str, value: Mapping[str, str]) -> list[Node]:
    """RViz with a file of the package's rviz folder; nothing unless it is wanted.

    Its topics are moved to the namespace, its frames get the launch's ``frame_prefix`` and, where there is one,
    ``world_frame``.

    Raises:
        ValueError: see `with_frames`.
    """
    if not is_true(value["rviz"]):
        return []
    path = package_path(name, "rviz")
    tree = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    frames = value.get("frame_prefix", ""), value.get("world_frame", "")
    if any(frames):
        path = str(Path(launch_config.log_dir) / f"{value['namespace'].strip('/').replace('/', '_')}_{name}")
        Path(path).write_text(yaml.safe_dump(with_frames(tree, *frames), sort_keys=False), encoding="utf-8")
    displays = tree["Visualization Manager"]["Displays"]
    topics = {display[key]["Value"] for display in displays for key in ("Topic", "Description Topic") if key in display}
    moved = [(topic, topic.lstrip("/")) for topic in sorted(topics)]
    return [
        Node(
            package="rviz2",
            executable="rviz2",
            exec_name="rviz2",
            namespace=value["namespace"],
            arguments=["-d", path],
            parameters=[switches(value, "use_sim_time")],
            remappings=moved,
            prefix=with_launch(),
        )
    ]


def with_frames(tree: Mapping[str, Any], prefix: str, world: str) -> dict[str, Any]:
    """A view of RViz with the frames of a robot among several.

    Args:
        prefix: of the robot's frames, as robot_state_publisher has it.
        world: frame that a robot without a fixed base moves in; empty: as in the file.

    Raises:
        ValueError: RViz, which puts a slash between prefix and link, cannot show such a prefix.
    """
    if prefix and not prefix.endswith("/"):
        raise ValueError(f"RViz shows robots whose frame_prefix ends in '/', got '{prefix}'")
    changed: dict[str, Any] = copy.deepcopy(dict(tree))
    manager = changed["Visualization Manager"]
    fixed = manager["Global Options"]["Fixed Frame"]
    manager["Global Options"]["Fixed Frame"] = (world or fixed) if fixed == WORLD else prefix + fixed
    for display in manager["Displays"]:
        if "TF Prefix" in display:
            display["TF Prefix"] = prefix.removesuffix("/")
    return changed


def package_path(name: str, folder: str = "config") -> str:
    """Path of a file given by its path or by its name in a folder of the package.

    Raises:
        FileNotFoundError: there is neither.
    """
    shared = Path(get_package_share_directory("online_sysid")) / folder / name
    found = next((str(path) for path in (Path(name), shared) if path.is_file()), None)
    if found is None:
        raise FileNotFoundError(f"no file '{name}', nor one of that name in {shared.parent}")
    return found
