# SPDX-License-Identifier: Apache-2.0
"""The files of a run: what programs, people and a later report need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sysid_nodes.reports.drawing.moving_scene import MovingScene
from sysid_nodes.reports.files import REPORT_NAME, RESULT_NAME, SERIES_NAME, result_target
from sysid_nodes.reports.interval.report import write_report
from sysid_nodes.reports.interval.result_file import build_document, write_result
from sysid_nodes.reports.interval.series_file import write_series
from sysid_nodes.reports.page import NO_SCENE
from sysid_nodes.reports.scene_file import SCENE_NAME, write_scene
from sysid_nodes.sessions.interval.run import IntervalRun


def write_run(folder: Path, run: IntervalRun, scene: MovingScene | None = None) -> dict[str, Any]:
    """Writes series.npz, scene.json, report.html and, last, result.json into an existing folder; returns the result.

    Raises:
        InputError: a file cannot be written.
    """
    document = build_document(run)
    if run.torques is None:
        (folder / SERIES_NAME).unlink(missing_ok=True)  # of an earlier run
    else:
        write_series(folder / SERIES_NAME, run.torques)
    if scene is None:
        (folder / SCENE_NAME).unlink(missing_ok=True)  # likewise
    else:
        write_scene(folder, scene)
    drawn = NO_SCENE if scene is None else scene.markup()
    write_report(folder / REPORT_NAME, document, run.torques, drawn)
    write_result(folder / RESULT_NAME, document)
    return document


def save_run(path: str, run: IntervalRun) -> Path:
    """Writes the result alone into a .json file, or all files of `write_run` into a folder; makes missing folders.

    Args:
        path: what ends in .json is a file, anything else a folder; a leading ~ is the home folder.
        run: what was found.

    Returns:
        The result file's absolute path.

    Raises:
        InputError: the path is empty, or something cannot be written.
    """
    target, alone = result_target(path)
    if alone:
        write_result(target, build_document(run))
        return target
    write_run(target.parent, run)
    return target
