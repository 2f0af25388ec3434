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
from sysid_nodes.reports.bayesian.report import render_bayesian_report
from sysid_nodes.reports.bayesian.scene import mechanism_scene
from sysid_nodes.reports.bayesian.schema import PIPELINE, validate_bayesian
from sysid_nodes.reports.json_text import number
from sysid_nodes.reports.run_files import RunFiles
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
        robot: whose constants they are.
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


FILES = RunFiles(validate_bayesian, render_bayesian_report, _SERIES, _HELD_OUT)


def write_bayesian_run(folder: Path, run: BayesianRun) -> dict[str, Any]:
    """Writes all files of a run into an existing folder; returns the result.

    Raises:
        InputError: a file cannot be written.
    """
    document = bayesian_document(run)
    series = {name: np.asarray(getattr(run.result.series, name)) for name in _SERIES}
    if (held_out := run.result.held_out) is not None:
        series |= {name: np.asarray(getattr(held_out, name.removeprefix("held_out_"))) for name in _HELD_OUT}
    scene = mechanism_scene(run.robot, run.result.series, document["parameters"])
    return FILES.write(folder, document, series, scene)


def _parameter(told: PosteriorParameter, truth: Mapping[str, float], *, trusted: bool) -> dict[str, Any]:
    row = asdict(told) | {"truth": number(truth.get(told.name))}
    return row if trusted else row | dict.fromkeys(_CLAIMS, None) | {"verdict": "not observed", "active": False}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, str) else np.asarray(value).tolist() for name, value in values.items()}
