"""The files of a run in one folder: what programs, people and a later report need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sysid_nodes.reports.interval_report import REPORT_NAME, write_report
from sysid_nodes.reports.result_file import RESULT_NAME, build_document, write_result
from sysid_nodes.reports.run import IdentificationRun
from sysid_nodes.reports.series_file import SERIES_NAME, write_series


def write_run(folder: Path, run: IdentificationRun) -> dict[str, Any]:
    """Writes series.npz, report.html and, last, result.json into an existing folder, and returns the result.

    Raises:
        InputError: a file cannot be written.
    """
    document = build_document(run)
    if run.torques is None:
        (folder / SERIES_NAME).unlink(missing_ok=True)  # of an earlier run
    else:
        write_series(folder / SERIES_NAME, run.torques)
    write_report(folder / REPORT_NAME, document, run.torques)
    write_result(folder / RESULT_NAME, document)
    return document
