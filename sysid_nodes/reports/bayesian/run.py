# SPDX-License-Identifier: Apache-2.0
"""A finished identification and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import to_flat
from sysid_nodes.data.versions import software_versions
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.bayesian.report import write_bayesian_report
from sysid_nodes.reports.bayesian.scene import mechanism_scene
from sysid_nodes.reports.bayesian.schema import PIPELINE, validate_bayesian
from sysid_nodes.reports.files import REPORT_NAME, RESULT_NAME, SERIES_NAME, read_arrays, write_arrays
from sysid_nodes.reports.json_text import encode, number
from sysid_nodes.reports.scene_file import read_scene, write_scene
from sysid_nodes.reports.schema import SCHEMA
from sysid_nodes.results.bayesian import BayesianResult, PosteriorParameter
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig

Array = npt.NDArray[np.float64]

_SERIES = ("t", "gap", "power")
_HELD_OUT = ("held_out_t", "measured", "nominal", "least_squares", "identified")
_CLAIMS = ("mean", "sigma", "lower", "upper", "narrowing")


@dataclass(frozen=True)
class BayesianRun:
    """An identification and its source.

    Attributes:
        result: of the identification.
        robot: whose constants they are.
        source: of the log.
        wall_time: that the identification took [s].
        config: that it was run with.
        truth: hidden values by the parameters' names; empty where nobody knows them.
        online: window by window: ids, windows, comparison with what a live node published; None for a whole log.
        versions: of the software; looked up unless given.
    """

    result: BayesianResult
    robot: Robot
    source: str
    wall_time: float
    config: BayesianSessionConfig
    truth: Mapping[str, float] = field(default_factory=dict)
    online: Mapping[str, Any] | None = None
    versions: Mapping[str, str] = field(default_factory=lambda: software_versions())


def bayesian_document(run: BayesianRun) -> dict[str, Any]:
    """result.json as plain values; what is not to be trusted has no posterior."""
    result, trusted = run.result, run.result.status.trusted
    held_out = result.held_out
    return {
        "schema": SCHEMA,
        "pipeline": PIPELINE,
        "robot": run.robot.name,
        "joints": list(run.robot.joint_names),
        "source": run.source,
        "status": result.status.name,
        "message": result.message,
        "findings": list(result.findings),
        "parameters": [_parameter(told, run.truth, trusted=trusted) for told in result.parameters],
        "blind": [
            {
                "narrowing": direction.narrowing,
                "names": [name for name, _ in direction.share],
                "shares": [share for _, share in direction.share],
            }
            for direction in result.blind
        ],
        "noise": [asdict(level) for level in result.noise],
        "friction": [_plain(asdict(curve)) for curve in result.curves] if trusted else [],
        "held_out": []
        if held_out is None
        else [
            {
                "joint": joint,
                "nominal": float(rms[0]),
                "least_squares": number(float(rms[1])),
                "identified": float(rms[2]),
            }
            for joint, rms in zip(held_out.joints, held_out.rms.T, strict=True)
        ],
        "coordinates": {
            "names": list(result.names),
            "mean": result.theta.tolist(),
            "covariance": result.covariance.tolist(),
        }
        if trusted
        else None,
        "iterations": result.iterations,
        "costs": [float(cost) for cost in result.costs],
        "loop_gap": result.loop_gap,
        "stages": result.stages,
        "step": run.config.bayesian.step,
        "solve_time_s": run.wall_time,
        "online": None if run.online is None else dict(run.online),
        "versions": dict(run.versions),
        "config": to_flat(run.config),
    }


def write_bayesian_run(folder: Path, run: BayesianRun) -> dict[str, Any]:
    """Writes series.npz, scene.json, report.html and, last, result.json into an existing folder; returns the result.

    Raises:
        InputError: a file cannot be written.
    """
    document = validate_bayesian(bayesian_document(run), source=RESULT_NAME)
    series = {name: np.asarray(getattr(run.result.series, name)) for name in _SERIES}
    if (held_out := run.result.held_out) is not None:
        series |= {name: np.asarray(getattr(held_out, name.removeprefix("held_out_"))) for name in _HELD_OUT}
    write_arrays(folder / SERIES_NAME, series)
    scene = mechanism_scene(run.robot, run.result.series, document["parameters"])
    write_scene(folder, scene)
    write_bayesian_report(folder / REPORT_NAME, document, series, scene.markup())
    write_atomically(folder / RESULT_NAME, encode(document))
    return document


def report_bayesian(page: Path, document: Mapping[str, Any], series: Path) -> None:
    """Renders the page of a stored result again.

    Raises:
        InputError: the series cannot be read, or the page cannot be written.
    """
    write_bayesian_report(page, document, read_arrays(series, _SERIES, _HELD_OUT), read_scene(series.parent))


def _parameter(told: PosteriorParameter, truth: Mapping[str, float], *, trusted: bool) -> dict[str, Any]:
    row = asdict(told) | {"truth": number(truth.get(told.name))}
    return row if trusted else row | dict.fromkeys(_CLAIMS, None) | {"verdict": "not observed", "active": False}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, str) else np.asarray(value).tolist() for name, value in values.items()}
