# SPDX-License-Identifier: Apache-2.0
"""Arguments of the package's launch files, which cannot import one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration

from launch import LaunchContext

Argument = tuple[str, str, str]
"""Name, default, description."""


def declared(arguments: Sequence[Argument]) -> list[DeclareLaunchArgument]:
    """The actions that declare arguments."""
    return [DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in arguments]


def given(context: LaunchContext, arguments: Sequence[Argument]) -> dict[str, str]:
    """Values of arguments by name."""
    return {name: str(LaunchConfiguration(name).perform(context)) for name, _, _ in arguments}


def is_true(text: str) -> bool:
    """Whether a switch is on."""
    return text.lower() in ("true", "1")


def switches(values: Mapping[str, str], *names: str) -> dict[str, bool]:
    """Whether those arguments that are switches are on."""
    return {name: is_true(values[name]) for name in names}


def packaged(name: str, folder: str = "config") -> str:
    """Path of a file given by its path or by its name in a folder of the package.

    Raises:
        FileNotFoundError: there is neither.
    """
    shared = Path(get_package_share_directory("online_sysid")) / folder / name
    found = next((str(path) for path in (Path(name), shared) if path.is_file()), None)
    if found is None:
        raise FileNotFoundError(f"no file '{name}', nor one of that name in {shared.parent}")
    return found
