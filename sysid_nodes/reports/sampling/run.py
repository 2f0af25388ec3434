# SPDX-License-Identifier: Apache-2.0
"""A finished identification and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import to_flat
from sysid_nodes.data.versions import software_versions
from sysid_nodes.messages.sampling.posterior import posterior_fields
from sysid_nodes.reports.json_text import number, numbers
from sysid_nodes.reports.run_files import RunFiles
from sysid_nodes.reports.sampling.report import render_sampling_report
from sysid_nodes.reports.sampling.scene import clips_scene
from sysid_nodes.reports.sampling.schema import PIPELINE, validate_sampling
from sysid_nodes.reports.schema import SCHEMA
from sysid_nodes.results.sampling import SamplingEstimate, SamplingLevel, SamplingResult
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SamplingRun:
    """An identification and its source.

    Attributes:
        robot: whose log it is.
        wall_time: that the identification took [s].
        config: that it was run with.
        exploration: of its two stages (`stages`), where there were.
        versions: of the software; looked up unless given.
    """

    result: SamplingResult
    robot: Robot
    source: str
    wall_time: float
    config: SamplingSessionConfig
    exploration: Mapping[str, Any] | None = None
    versions: Mapping[str, str] = field(default_factory=lambda: software_versions())


def sampling_document(run: SamplingRun) -> dict[str, Any]:
    """result.json as plain values."""
    result = run.result
    bodies = zip(result.bodies, result.inertia, result.covariance, strict=True)
    return {
        "schema": SCHEMA,
        "pipeline": PIPELINE,
        "method": result.method,
        "robot": run.robot.name,
        "source": run.source,
        "status": result.status.name,
        "message": result.status.message,
        "findings": list(result.findings),
        "parameters": [_parameter(parameter) for parameter in result.parameters],
        "bodies": [
            {"link": link, "parameters": theta.tolist(), "covariance": [numbers(row) for row in covariance]}
            for link, theta, covariance in bodies
        ],
        "weakness": result.weakness.tolist(),
        "gain": result.gain.tolist(),
        "misfit": float(result.misfit),
        "misfit_before": float(result.misfit_before),
        "clips": result.clips,
        "left_out": result.left_out,
        "steps": result.steps,
        "levels": [_level(level) for level in result.levels],
        "duration": result.duration,
        "exploration": None if run.exploration is None else dict(run.exploration),
        "posterior": None if result.posterior is None else posterior_fields(result.posterior),
        "solve_time_s": run.wall_time,
        "versions": dict(run.versions),
        "config": to_flat(run.config),
    }


FILES = RunFiles(validate_sampling, render_sampling_report, ("t", "measured", "nominal", "identified"), ("joints",))


def write_sampling_run(folder: Path, run: SamplingRun) -> dict[str, Any]:
    """Writes all files of a run into an existing folder; returns the result.

    Raises:
        InputError: a file cannot be written.
    """
    series = {name: np.asarray(getattr(run.result.replay, name)) for name in FILES.series}
    series["joints"] = np.asarray(run.robot.joint_names)
    return FILES.write(folder, sampling_document(run), series, clips_scene(run.robot, run.result.replay))


def _parameter(parameter: SamplingEstimate) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "unit": parameter.unit,
        "group": parameter.group,
        "nominal": parameter.nominal,
        "identifiable": parameter.identifiable,
        "estimate": number(parameter.estimate),
        "sigma": number(parameter.sigma),
        "lower": number(parameter.lower),
        "upper": number(parameter.upper),
        "bound": parameter.bound,
        "reason": parameter.reason,
    }


def _level(level: SamplingLevel) -> dict[str, Any]:
    return {"length": level.length, "estimates": numbers(level.estimates), "sigmas": numbers(level.sigmas)}
