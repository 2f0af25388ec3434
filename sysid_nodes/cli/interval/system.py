# SPDX-License-Identifier: Apache-2.0
"""The interval identifier as the command line knows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sysid_nodes.cli.interval import export, predict, replay
from sysid_nodes.cli.system import Report, System
from sysid_nodes.reports.files import SERIES_NAME
from sysid_nodes.reports.interval.quantities import interval_quantities
from sysid_nodes.reports.interval.report import write_report
from sysid_nodes.reports.interval.schema import validate_interval
from sysid_nodes.reports.interval.series_file import read_series
from sysid_nodes.reports.scene_file import read_scene


def _write(page: Path, document: dict[str, Any], folder: Path) -> None:
    series = folder / SERIES_NAME
    torques = read_series(series) if series.exists() else None
    write_report(page, validate_interval(document, source=str(folder)), torques, read_scene(folder))


SYSTEM = System(
    replay=replay.run,
    report=Report(_write, interval_quantities),
    export=export.run,
    predict=predict.run,
)
