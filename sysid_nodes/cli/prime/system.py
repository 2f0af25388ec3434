# SPDX-License-Identifier: Apache-2.0
"""PRIME as the command line knows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.prime import replay
from sysid_nodes.cli.prime.configuration import is_wanted
from sysid_nodes.cli.system import Replay, Report, System
from sysid_nodes.data.config import options
from sysid_nodes.reports.files import SERIES_NAME
from sysid_nodes.reports.prime.quantities import prime_quantities
from sysid_nodes.reports.prime.run import report_prime
from sysid_nodes.reports.prime.schema import PIPELINE, validate_prime
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.node_config import PrimeNodeConfig
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.node_config import SimulatedLeggedRobotConfig


def parameters_page() -> str:
    """Markdown of docs/prime/parameters.md."""
    return page(
        "Parameters of PRIME",
        "## Estimator",
        "",
        "Read by the node `prime_estimator`, by `sysid replay` and by `sysid demo go2` and `g1` alike, from a ROS",
        "parameter file; `config/go2.yaml` and `config/g1.yaml` name what differs from here.",
        "An unknown key, a wrong type or a value out of range is an error.",
        "",
        *table(options(PrimeSessionConfig)),
        "",
        "## Node only",
        "",
        *table(options(PrimeNodeConfig)),
        "",
        "## Simulated robot",
        "",
        "Read by the node `simulated_legged_robot`.",
        "",
        *table([*options(SimulatedLeggedRobotConfig), *options(LeggedSimulationConfig)]),
    )


def _is_ours(document: Mapping[str, Any], _folder: Path) -> bool:
    return bool(document["pipeline"] == PIPELINE)


def _write(page: Path, document: dict[str, Any], folder: Path) -> None:
    validate_prime(document, source=str(folder))
    report_prime(page, document, folder / SERIES_NAME, source=str(folder))


PRIME = System(
    name="prime",
    subject="legged robots",
    configs=(PrimeSessionConfig, PrimeNodeConfig, SimulatedLeggedRobotConfig, LeggedSimulationConfig),
    page=parameters_page,
    replay=Replay(is_wanted, replay.run, replay.add_arguments),
    report=Report(_is_ours, _write, prime_quantities),
)
