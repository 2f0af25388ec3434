# SPDX-License-Identifier: Apache-2.0
"""Actuator identification as the command line knows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.actuators import export, replay
from sysid_nodes.cli.actuators.configuration import wanted
from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.system import Export, Replay, Report, System
from sysid_nodes.data.config import options
from sysid_nodes.reports.actuators.quantities import actuator_quantities
from sysid_nodes.reports.actuators.run import report_actuators
from sysid_nodes.reports.actuators.schema import PIPELINE, validate_actuators
from sysid_nodes.reports.files import SERIES_NAME
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig
from sysid_nodes.sessions.actuators.node_config import ActuatorNodeConfig
from sysid_nodes.simulation.actuators.config import SimulatedDrivesConfig


def parameters_page() -> str:
    """Markdown of docs/actuators/parameters.md."""
    return page(
        "Parameters of actuator identification",
        "## Identification",
        "",
        "Read by the node `actuator_identifier`, by `sysid replay` of logs with commands and by `sysid demo actuators`",
        "alike, from a ROS parameter file (`config/go2_actuators.yaml` is one); `sysid replay` has `--set` too.",
        "An unknown key, a wrong type or a value out of range is an error. Where a list of numbers is asked for, one",
        "number stands for every joint.",
        "",
        *table(options(ActuatorSessionConfig)),
        "",
        "## Node only",
        "",
        *table(options(ActuatorNodeConfig)),
        "",
        "## Simulated leg",
        "",
        "Read by the node `simulated_drives`.",
        "",
        *table(options(SimulatedDrivesConfig)),
    )


def _made(document: Mapping[str, Any], _folder: Path) -> bool:
    return bool(document["pipeline"] == PIPELINE)


def _write(page: Path, document: dict[str, Any], folder: Path) -> None:
    validate_actuators(document, source=str(folder))
    report_actuators(page, document, folder / SERIES_NAME)


ACTUATORS = System(
    name="actuators",
    subject="logs with commands",
    configs=(ActuatorSessionConfig, ActuatorNodeConfig, SimulatedDrivesConfig),
    page=parameters_page,
    replay=Replay(wanted, replay.run, replay.add_arguments, online=True),
    report=Report(_made, _write, actuator_quantities),
    export=Export(PIPELINE, export.run),
)
