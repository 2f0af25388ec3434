# SPDX-License-Identifier: Apache-2.0
"""Certified motion as the command line knows it: it runs live alone, so that there is nothing to replay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.system import Report, System
from sysid_nodes.data.config import Option, options
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.certified.report import write_certified_report
from sysid_nodes.reports.certified.result import load_certified_run
from sysid_nodes.reports.certified.schema import validate_certified
from sysid_nodes.reports.files import SERIES_NAME
from sysid_nodes.reports.interval.quantities import interval_quantities
from sysid_nodes.reports.interval.series_file import read_series
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, RobustControllerConfig
from sysid_nodes.simulation.arm.config import SimulatedArmConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

BAG_NAME = "bag"

_FORMER = "loop"
"""Name of the run's object in results of earlier versions, whose page would else lose the run without a word."""

CONFIGS = (CertifiedPlannerConfig, RobustControllerConfig, SimulatedArmConfig)


def parameters_page() -> str:
    """Markdown of docs/certified/parameters.md."""
    return page(
        "Parameters of certified motion",
        "Read by the nodes named; a key that several of them have means the same for all. One parameter file may serve",
        "them and the identifier: each node takes the keys it has. Keys that these nodes share with the identifier",
        "(`robot`, `variant`, `body`, `target`, `known_robot`, `prior`) are on [its page](../interval/parameters.md).",
        "",
        *table(_certified_options()),
    )


def _certified_options() -> list[Option]:
    """Options of the nodes of certified motion that the identifier lacks, once each."""
    known = {item.name for item in options(IntervalIdentifierConfig)}
    found: dict[str, Option] = {}
    for config in CONFIGS:
        found |= {item.name: item for item in options(config) if item.name not in known and item.name not in found}
    return list(found.values())


def _is_ours(document: Mapping[str, Any], folder: Path) -> bool:
    """The identifier's result, with the loop in it; without the bag only the identifier's own page can be made."""
    return not {"certified", _FORMER}.isdisjoint(document) and (folder / BAG_NAME).exists()


def _write(page: Path, document: dict[str, Any], folder: Path) -> None:
    if _FORMER in document:
        line = f"is of a version that wrote '{_FORMER}' for 'certified'; rename that object in result.json"
        raise InputError(line, source=str(folder))
    validate_certified(document, source=str(folder))
    series = folder / SERIES_NAME
    torques = read_series(series) if series.exists() else None
    write_certified_report(page, document, load_certified_run(document, folder / BAG_NAME), torques)


CERTIFIED = System(
    name="certified",
    subject="certified motion",
    configs=CONFIGS,
    page=parameters_page,
    report=Report(_is_ours, _write, interval_quantities),
)
