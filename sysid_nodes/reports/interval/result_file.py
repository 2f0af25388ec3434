# SPDX-License-Identifier: Apache-2.0
"""result.json: what a run found, for programs. Strict JSON, written whole or not at all, checked when read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.data import PARAMETER_NAMES, PARAMETER_UNITS
from sysid_nodes.data.inertia import is_consistent, parameters_to_com
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.files import read_document
from sysid_nodes.reports.interval.schema import validate_interval
from sysid_nodes.reports.json_text import encode, number, numbers
from sysid_nodes.reports.schema import SCHEMA
from sysid_nodes.results import Contradiction, IdentificationResult, Status
from sysid_nodes.results.identification import LEVEL, Estimate
from sysid_nodes.sessions.interval.run import IntervalRun

# Keeps the file near a megabyte however long the run was.
_MAX_HISTORY = 2000


def build_document(run: IntervalRun) -> dict[str, Any]:
    """The run as the JSON object of schema 1; every number that is not finite becomes null."""
    result = run.result
    claimed = result.status is not Status.INCONSISTENT
    return {
        "schema": SCHEMA,
        "pipeline": run.pipeline,
        "method": run.method,
        "robot": run.robot,
        "body": run.body,
        "target": str(run.config.get("target", "body")),
        "frame": run.frame,
        "joints": list(run.joint_names),
        "source": run.source,
        "calibration": run.calibration or None,
        "status": result.status.name,
        "message": result.status.message,
        "findings": list(run.findings),
        "t": number(result.t),
        "window": int(result.window),
        "parameters": _parameters(result, claimed),
        "estimate": _estimate(result.estimate) if claimed else None,
        "truth": None if run.truth is None else numbers(run.truth),
        "nominal_body": _body(numbers(result.nominal)) if claimed else None,
        "samples": {
            "used": int(result.samples_used),
            "rejected": {reason: int(count) for reason, count in sorted(result.samples_rejected.items())},
        },
        "condition_number": number(result.excitation.condition_number),
        "excitation": {
            "singular_values": [float(x) for x in np.ravel(result.excitation.singular_values) if math.isfinite(x)],
            "blind": list(result.excitation.blind),
        },
        "solve_time_s": float(
            sum(step.solve_time for step in run.history) if run.solve_time is None else run.solve_time
        ),
        "contradiction": _contradiction(result.contradiction),
        "relaxed": [
            {"assumption": name, "options": list(keys), "factor": factor} for name, keys, factor in run.relaxed
        ],
        "costs": {name: [0.0 if x is None else x for x in numbers(share)] for name, share in result.costs.items()}
        if claimed
        else {},
        "assumptions": list(run.assumptions),
        "config": {name: _plain(value) for name, value in run.config.items()},
        "versions": dict(run.versions),
        "history": [_step(step) for step in thin(run.history)],
    }


def _parameters(result: IdentificationResult, claimed: bool) -> list[dict[str, Any]]:
    """One object a parameter; its numbers are null where nothing is claimed."""
    nothing = np.full(len(PARAMETER_NAMES), np.nan)
    likely = (nothing, nothing) if result.estimate is None else (result.estimate.lower, result.estimate.upper)
    values = (result.nominal, result.lower, result.upper, *likely)
    columns = [numbers(column if claimed else nothing) for column in values]
    names = ("name", "unit", "nominal", "lower", "upper", "likely_lower", "likely_upper")
    rows = zip(PARAMETER_NAMES, PARAMETER_UNITS, *columns, strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    joints = ("coulomb", "viscous", "offset", "load_friction", "torque_sigma")
    return {"confidence": LEVEL} | {name: getattr(found, name).tolist() for name in joints}


def thin(history: Sequence[IdentificationResult], most: int = _MAX_HISTORY) -> list[IdentificationResult]:
    """At most about `most` steps, evenly spread; the first, the last and every change of status stay."""
    if len(history) <= most:
        return list(history)
    keep = {int(i) for i in np.linspace(0, len(history) - 1, most)}
    keep |= {i for i in range(1, len(history)) if history[i].status is not history[i - 1].status}
    return [history[i] for i in sorted(keep)]


def write_result(path: Path, document: Mapping[str, Any]) -> None:
    """Validates and writes a document atomically.

    Raises:
        InputError: the document is not of schema 1 or the file cannot be written.
    """
    validate_interval(document, source=str(path))
    write_atomically(path, encode(document))


def read_result(path: Path) -> dict[str, Any]:
    """Reads and validates a result file, or the result.json of a folder.

    Raises:
        InputError: the file is absent, is not strict JSON or is not a result of schema 1.
    """
    return validate_interval(read_document(path), source=str(path))


def _step(step: IdentificationResult) -> dict[str, Any]:
    return {
        "t": number(step.t),
        "window": int(step.window),
        "status": step.status.name,
        "nominal": numbers(step.nominal),
        "lower": numbers(step.lower),
        "upper": numbers(step.upper),
        "condition_number": number(step.excitation.condition_number),
        "samples_used": int(step.samples_used),
        "solve_time_s": float(step.solve_time),
    }


def _body(nominal: list[float | None]) -> dict[str, Any] | None:
    """Mass, centre of mass and inertia about it; None for parameters that no body can have."""
    values = [x for x in nominal if x is not None]
    if len(values) != len(nominal) or not is_consistent(np.array(values)):
        return None
    mass, centre, inertia = parameters_to_com(np.array(values))
    order = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
    return {"mass": mass, "centre_of_mass": centre.tolist(), "inertia": [float(inertia[i, j]) for i, j in order]}


def _contradiction(found: Contradiction | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "sentence": found.sentence(),
        "windows": [int(w) for w in found.windows],
        "times": [numbers(row) for row in np.atleast_2d(found.times)],
        "assumption": found.assumption,
        "factors": {name: number(factor) for name, factor in found.factors.items()},
        "payload_changed": bool(found.payload_changed),
        "change_time": number(found.change_time),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(x) for x in value]
    return number(value) if isinstance(value, float) else value
