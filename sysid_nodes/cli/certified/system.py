# SPDX-License-Identifier: Apache-2.0
"""Certified motion as the command line knows it: it runs live alone, so that there is nothing to replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sysid_nodes.cli.certified.entry import BAG_NAME, FORMER
from sysid_nodes.cli.system import Report, System
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.certified.report import write_certified_report
from sysid_nodes.reports.certified.result import load_certified_run
from sysid_nodes.reports.certified.schema import validate_certified
from sysid_nodes.reports.files import SERIES_NAME
from sysid_nodes.reports.interval.quantities import interval_quantities
from sysid_nodes.reports.interval.series_file import read_series


def _write(page: Path, document: dict[str, Any], folder: Path) -> None:
    if FORMER in document:
        line = f"is of a version that wrote '{FORMER}' for 'certified'; rename that object in result.json"
        raise InputError(line, source=str(folder))
    validate_certified(document, source=str(folder))
    series = folder / SERIES_NAME
    torques = read_series(series) if series.exists() else None
    write_certified_report(page, document, load_certified_run(document, folder / BAG_NAME), torques)


SYSTEM = System(
    report=Report(_write, interval_quantities),
)
