"""Robots whose URDF comes with the package example-robot-data; only the URDF is read, no mesh is needed."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.description import RobotDescription

_SHARE = Path("share/example-robot-data/robots")


def _prefixes() -> list[Path]:
    """Where example-robot-data may be installed: its wheel, ROS workspaces, the interpreter's prefix, the system."""
    prefixes = [Path(entry) for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    try:
        installed = metadata.distribution("example-robot-data")
        prefixes.insert(0, Path(str(installed.locate_file("cmeel.prefix"))))
    except metadata.PackageNotFoundError:
        pass
    return [*prefixes, Path(sys.prefix), Path("/usr"), Path("/opt/openrobots")]


def example_urdf(relative: str) -> str:
    """Text of a URDF of example-robot-data, given by its path below ``robots``.

    Raises:
        RobotError: the package is not installed.
    """
    for prefix in _prefixes():
        if (path := prefix / _SHARE / relative).is_file():
            return path.read_text(encoding="utf-8")
    raise RobotError(f"{relative} not found: install example-robot-data")


def _example(name: str, relative: str, body: str, *, locked: tuple[str, ...] = ()) -> RobotDescription:
    return RobotDescription(name=name, urdf=lambda _variant: example_urdf(relative), body=body, locked=locked)


UR10 = _example("ur10", "ur_description/urdf/ur10_robot.urdf", "wrist_3_link")
PANDA = _example(
    "panda",
    "panda_description/urdf/panda.urdf",
    "panda_link7",
    locked=("panda_finger_joint1", "panda_finger_joint2"),
)
Z1 = _example("z1", "z1_description/urdf/z1.urdf", "link06", locked=("jointGripper",))
