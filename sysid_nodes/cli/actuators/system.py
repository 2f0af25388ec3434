# SPDX-License-Identifier: Apache-2.0
"""Actuator identification as the command line knows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.actuators import replay
from sysid_nodes.cli.actuators.configuration import wanted
from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.system import Replay, Report, System
from sysid_nodes.data.config import options
from sysid_nodes.reports.actuators.run import report_actuators
from sysid_nodes.reports.actuators.schema import PIPELINE, validate_actuators
from sysid_nodes.reports.interval.series_file import SERIES_NAME
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig


def parameters_page() -> str:
    """Markdown of docs/actuators/parameters.md."""
    return page(
        "Parameters of actuator identification",
        "Read by `sysid replay` of logs with commands, from a ROS parameter file (`/**: ros__parameters:`) or `--set`.",
        "An unknown key, a wrong type or a value out of range is an error. Where a list of numbers is asked for, one",
        "number stands for every joint.",
        "",
        *table(options(ActuatorSessionConfig)),
    )


def _made(document: Mapping[str, Any], _folder: Path) -> bool:
    return bool(document["pipeline"] == PIPELINE)


def _write(page: Path, document: dict[str, Any], folder: Path) -> None:
    validate_actuators(document, source=str(folder))
    report_actuators(page, document, folder / SERIES_NAME)


ACTUATORS = System(
    name="actuators",
    subject="logs with commands",
    configs=(ActuatorSessionConfig,),
    page=parameters_page,
    replay=Replay(wanted, replay.run, replay.add_arguments),
    report=Report(_made, _write),
)
