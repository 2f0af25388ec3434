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
from sysid_nodes.reports.actuators.methods import TORQUE, TRUE_TORQUE, method_fields, torque_series, write_weights
from sysid_nodes.reports.actuators.report import render_actuator_report
from sysid_nodes.reports.actuators.scene import motion_scene
from sysid_nodes.reports.actuators.schema import PIPELINE, validate_actuators
from sysid_nodes.reports.files import read_document
from sysid_nodes.reports.json_text import number
from sysid_nodes.reports.run_files import RunFiles
from sysid_nodes.reports.schema import SCHEMA
from sysid_nodes.results.actuator_methods import JointMethod
from sysid_nodes.results.actuators import ActuatorEstimate, ActuatorResult, JointActuator
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ActuatorRun:
    """An identification and its source.

    Attributes:
        t: (S,) of the samples [s].
        command, measured, replayed: (S, n) positions [rad]; not a number where nothing was measured.
        robot: whose joints they are.
        wall_time: that the identification took [s].
        config: that it was run with.
        online: what a session adds: its alarms, the windows that it rests on, and digests; None for a whole log.
        versions: of the software; looked up unless given.
        methods: what the configured method makes of each joint; `replayed` is theirs then.
        true_torque: (S, n) that the bodies took, of a simulated robot [N m].
    """

    result: ActuatorResult
    t: Array
    command: Array
    measured: Array
    replayed: Array
    robot: Robot
    source: str
    wall_time: float
    config: ActuatorSessionConfig
    online: Mapping[str, Any] | None = None
    versions: Mapping[str, str] = field(default_factory=lambda: software_versions())
    methods: tuple[JointMethod, ...] = ()
    true_torque: Array | None = None


def actuator_document(run: ActuatorRun) -> dict[str, Any]:
    """result.json as plain values."""
    result = run.result
    methods = run.methods or (None,) * len(result.joints)
    true = (None,) * len(result.joints) if run.true_torque is None else tuple(run.true_torque.T)
    own = [method_fields(*pair) for pair in zip(methods, true, strict=True)]
    return {
        "schema": SCHEMA,
        "pipeline": PIPELINE,
        "robot": run.robot.name,
        "source": run.source,
        "status": result.status.name,
        "message": result.status.message,
        "findings": list(result.findings),
        "method": run.config.actuators.method,
        "joints": [_joint(joint) | fields for joint, fields in zip(result.joints, own, strict=True)],
        "replay": {"rmse": result.rmse, "mae": result.mae},
        "online": None if run.online is None else dict(run.online),
        "samples": result.samples,
        "duration": result.duration,
        "solve_time_s": run.wall_time,
        "versions": dict(run.versions),
        "config": to_flat(run.config),
    }


FILES = RunFiles(
    validate_actuators,
    render_actuator_report,
    ("t", "command", "measured", "replayed"),
    optional=(*TORQUE, TRUE_TORQUE),
)


def write_actuator_run(folder: Path, run: ActuatorRun) -> dict[str, Any]:
    """Writes all files of a run into an existing folder, with what networks have learnt; returns the result.

    Raises:
        InputError: a file cannot be written.
    """
    arrays = {name: np.asarray(getattr(run, name), dtype=float) for name in FILES.series}
    arrays |= {name: np.asarray(values, dtype=float) for name, values in torque_series(run.methods).items()}
    if run.true_torque is not None:
        arrays[TRUE_TORQUE] = run.true_torque
    write_weights(folder, run.methods, onnx=run.config.actuators.network.onnx)
    scene = motion_scene(run.robot, run.t - run.t[0], run.command, run.measured, run.replayed)
    return FILES.write(folder, actuator_document(run), arrays, scene)


def read_known(path: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """Estimate and sigma by joint and parameter of a stored result.

    Raises:
        InputError: the file cannot be read or is no result of this pipeline.
    """
    document = validate_actuators(read_document(path), source=str(path))
    return {
        (joint["name"], row["name"]): (float(row["estimate"]), float(row["sigma"]))
        for joint in document["joints"]
        for row in joint["parameters"]
        if row["identifiable"] and row["sigma"]
    }


def _joint(joint: JointActuator) -> dict[str, Any]:
    return {
        "name": joint.name,
        "condition_before": number(joint.before.condition),
        "condition": number(joint.verdict.condition),
        "correlation": [[number(value) for value in row] for row in joint.verdict.correlation],
        "parameters": [_parameter(parameter) for parameter in joint.parameters],
        "replay": {"rmse": joint.replay.rmse, "mae": joint.replay.mae, "worst": joint.replay.worst},
        "motion": joint.motion,
        "converged": joint.converged,
    }


def _parameter(parameter: ActuatorEstimate) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "unit": parameter.unit,
        "identifiable": parameter.identifiable,
        "estimate": number(parameter.estimate),
        "sigma": number(parameter.sigma),
        "lower": number(parameter.lower),
        "upper": number(parameter.upper),
        "reason": parameter.reason,
        "advice": parameter.advice,
        "between_runs": None if parameter.between_runs is None else asdict(parameter.between_runs),
    }
