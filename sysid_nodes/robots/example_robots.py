# SPDX-License-Identifier: Apache-2.0
"""URDFs that come with the package example-robot-data; no mesh is needed."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

from sysid_nodes.exceptions import RobotError

_SHARE = Path("share/example-robot-data/robots")


def _prefixes() -> list[Path]:
    """Places of example-robot-data: its wheel, ROS workspaces, the interpreter's prefix, the system."""
    prefixes = [Path(entry) for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    try:
        installed = metadata.distribution("example-robot-data")
        prefixes.insert(0, Path(str(installed.locate_file("cmeel.prefix"))))
    except metadata.PackageNotFoundError:
        pass
    return [*prefixes, Path(sys.prefix), Path("/usr"), Path("/opt/openrobots")]


def example_file(relative: str) -> Path | None:
    """A file of example-robot-data, given by its path below ``robots``; None where it is not installed."""
    found = (prefix / _SHARE / relative for prefix in _prefixes())
    return next((path for path in found if path.is_file()), None)


def example_urdf(relative: str) -> str:
    """Text of a URDF of example-robot-data, given by its path below ``robots``.

    Raises:
        RobotError: the package is not installed.
    """
    if (path := example_file(relative)) is not None:
        return path.read_text(encoding="utf-8")
    raise RobotError(f"{relative} not found: install example-robot-data")
