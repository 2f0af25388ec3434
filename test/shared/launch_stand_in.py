# SPDX-License-Identifier: Apache-2.0
"""As much of ROS's launch as the package's launch files use, so that they run where it is not installed."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LAUNCHING = "sysid_nodes.ros.launching"

WARNINGS: list[str] = []
"""Of the last launch."""


class Recorded:
    """Anything that keeps what it was made with."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.given, self.named = given, named


class Context(dict[str, str]):
    """Values of arguments by name."""

    @property
    def launch_configurations(self) -> dict[str, str]:
        return self


class Configured(Recorded):
    """The value of an argument."""

    def perform(self, context: dict[str, str]) -> str:
        return context[self.given[0]]


MODULES: dict[str, dict[str, Any]] = {
    "launch": {"LaunchContext": Context, "LaunchDescription": Recorded},
    "launch.actions": dict.fromkeys(("DeclareLaunchArgument", "OpaqueFunction", "Shutdown"), Recorded),
    "launch.events": {},
    "launch.events.process": {"ProcessExited": Recorded},
    "launch.logging": {},
    "launch.substitutions": {"LaunchConfiguration": Configured},
    "launch_ros": {},
    "launch_ros.actions": {"Node": Recorded},
    "ament_index_python": {},
    "ament_index_python.packages": {"get_package_share_directory": lambda _: str(ROOT)},
}


def run_launch(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, **values: str
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Declared arguments of a file by name, and its nodes with those values, each as what it was made with.

    Args:
        path: the launch file.
        folder: for logs and what a launch writes beside them.
        monkeypatch: puts the stand-ins in place.
        values: of arguments that do not have their default.
    """
    for name, members in MODULES.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    WARNINGS.clear()
    vars(sys.modules["launch.logging"]).update(
        launch_config=SimpleNamespace(log_dir=str(folder)),
        get_logger=lambda _: SimpleNamespace(warning=WARNINGS.append),
    )
    monkeypatch.delitem(sys.modules, LAUNCHING, raising=False)
    try:
        (entities,) = runpy.run_path(str(path))["generate_launch_description"]().given
    finally:
        sys.modules.pop(LAUNCHING, None)
    *declared, opaque = entities
    arguments = {argument.given[0]: argument.named for argument in declared}
    context = Context({name: told.get("default_value", "given") for name, told in arguments.items()} | values)
    return arguments, [node.named for node in opaque.named["function"](context)]
