# SPDX-License-Identifier: Apache-2.0
"""The files of a replayed motion: result.json, series.npz and report.html."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.data.config import from_flat
from sysid_nodes.data.versions import software_versions
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.files import REPORT_NAME, RESULT_NAME, SERIES_NAME
from sysid_nodes.reports.json_text import encode, number
from sysid_nodes.reports.prime.foot_check import FootCheck
from sysid_nodes.reports.prime.report import write_prime_report
from sysid_nodes.reports.prime.result import prime_document
from sysid_nodes.reports.prime.schema import validate_prime
from sysid_nodes.reports.prime.series import PrimeSeries, read_prime_series, write_prime_series
from sysid_nodes.reports.prime.truth import PrimeTruth, feet, score, sum_by_foot
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.session import PrimeSession, prime_robot


@dataclass(frozen=True)
class PrimeRun:
    """A replay.

    Attributes:
        series: what came out.
        mode: BATCH or HORIZON.
        source: where the data came from.
        wall_time: that it took [s].
        left_out: steps outside the longest connected stretch, which is all that a batch estimates.
        truth: where it is known.
        live: comparison with what a live node published, or None.
        checks: feet beside their own force sensors, by the feet's names.
        versions: of the software; looked up unless given.
    """

    session: PrimeSession
    series: PrimeSeries
    mode: str
    source: str
    wall_time: float
    left_out: int = 0
    truth: PrimeTruth | None = None
    live: Mapping[str, Any] | None = None
    checks: Mapping[str, FootCheck] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=lambda: software_versions())


def run_document(run: PrimeRun) -> dict[str, Any]:
    """result.json of a replay, see `schema`."""
    session, series = run.session, run.series
    total = np.maximum(series.count.sum(axis=0), 1.0)
    rms = np.sqrt((series.count * series.fit**2).sum(axis=0) / total)
    return prime_document(session) | {
        "run": {
            "mode": run.mode,
            "source": run.source,
            "start": float(series.t[0]),
            "end": float(series.t[-1]),
            "stages": len(series.t),
            "left_out": run.left_out,
            "wall_time_s": run.wall_time,
            "versions": dict(run.versions),
            "sensors": [
                {
                    "name": name,
                    "residuals": int(series.count[:, k].sum()),
                    "rms": number(rms[k]),
                    "worst": number(series.fit[:, k].max()),
                }
                for k, name in enumerate(series.sensors)
            ],
            "feet": _feet(series, session.robot, run.checks),
            "truth": None if run.truth is None else score(series, run.truth, session.robot),
            "live": None if run.live is None else dict(run.live),
        }
    }


def write_prime_run(folder: Path, run: PrimeRun) -> dict[str, Any]:
    """Writes series.npz, report.html and, last, result.json into an existing folder, and returns the result.

    Raises:
        InputError: a file cannot be written.
    """
    document = validate_prime(run_document(run), source=RESULT_NAME)
    write_prime_series(folder / SERIES_NAME, run.series, None if run.truth is None else run.truth.arrays())
    write_prime_report(folder / REPORT_NAME, document, run.series, run.truth, run.session.robot)
    write_atomically(folder / RESULT_NAME, encode(document))
    return document


def report_prime(page: Path, document: Mapping[str, Any], series: Path, *, source: str) -> None:
    """Renders the page of a stored result again.

    Args:
        page: file to write.
        series: the series.npz beside it.
        source: of the result, for errors.

    Raises:
        InputError: it is not a result of a whole run, the series cannot be read, or the page cannot be written.
        RobotError: the robot is not known here.
    """
    if "run" not in document:
        raise InputError("was saved by a live node, which keeps no series: there is nothing to draw", source=source)
    drawn, truth = read_prime_series(series)
    config = from_flat(PrimeSessionConfig, document["config"], source=source)
    known = None if truth is None else PrimeTruth.of(truth)
    write_prime_report(page, document, drawn, known, prime_robot(config))


def _feet(series: PrimeSeries, robot: Robot, checks: Mapping[str, FootCheck]) -> list[dict[str, Any]]:
    names, index = feet(robot)
    force = sum_by_foot(np.nan_to_num(series.force), index)[..., 2]
    rows, told = [], series.tells_forces
    for k, name in enumerate(names):
        down = np.asarray(series.on_ground[:, index == k].any(axis=1))
        rows.append(
            {
                "name": name,
                "points": [point for point, foot in zip(series.contacts, index, strict=True) if foot == k],
                "on_ground": float(down.mean()),
                "touchdowns": int(np.sum(~down[:-1] & down[1:])),
                "mean_force": float(force[down, k].mean()) if told and down.any() else None,
                "peak_force": number(force[:, k].max()) if told else None,
                "sensor": checks[name].document() if name in checks else None,
            }
        )
    return rows
