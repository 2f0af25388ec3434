# SPDX-License-Identifier: Apache-2.0
"""The interval identifier as the command line knows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.interval import export, replay
from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.system import Export, Replay, Report, System
from sysid_nodes.data.config import options
from sysid_nodes.reports.files import SERIES_NAME
from sysid_nodes.reports.interval.quantities import interval_quantities
from sysid_nodes.reports.interval.report import write_report
from sysid_nodes.reports.interval.schema import validate_interval
from sysid_nodes.reports.interval.series_file import read_series
from sysid_nodes.reports.scene_file import read_scene
from sysid_nodes.sessions.interval.node_config import IntervalNodeConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig


def parameters_page() -> str:
    """Markdown of docs/interval/parameters.md."""
    return page(
        "Parameters of the interval identifier",
        "## Identifier",
        "",
        "Read by the node `interval_identifier`, by `sysid replay` and by `sysid demo` alike, from a ROS parameter",
        "file (`/**: ros__parameters:`, see `config/`). An unknown key, a wrong type or a value out of range is",
        "an error.",
        "Where a list of numbers is asked for, one number stands for every joint. A whole number passes for a double.",
        "A running node takes what says *yes* under *may change*, at once and atomically; anything else may change",
        "only while the node is unconfigured. New error bounds hold for the windows to come; what earlier windows",
        "proved rests on the old ones until `~/reset`, and the assumptions in `result.json` and the report say so.",
        "",
        *table(options(IntervalIdentifierConfig)),
        "",
        "## Node only",
        "",
        "Set these on the node or through the launch files; they do not belong in the files of `config/`.",
        "",
        *table(options(IntervalNodeConfig)),
    )


def _is_ours(document: Mapping[str, Any], _folder: Path) -> bool:
    return bool(document["pipeline"] == "interval")


def _write(page: Path, document: dict[str, Any], folder: Path) -> None:
    series = folder / SERIES_NAME
    torques = read_series(series) if series.exists() else None
    write_report(page, validate_interval(document, source=str(folder)), torques, read_scene(folder))


INTERVAL = System(
    name="interval",
    subject="arms",
    configs=(IntervalIdentifierConfig, IntervalNodeConfig),
    page=parameters_page,
    replay=Replay(wanted=lambda _args: True, run=replay.run, add_arguments=replay.add_arguments),
    report=Report(_is_ours, _write, interval_quantities),
    export=Export("interval", export.run),
)
