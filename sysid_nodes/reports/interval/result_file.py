# SPDX-License-Identifier: Apache-2.0
"""result.json: what a run found, for programs. Strict JSON, written whole or not at all, checked when read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.data import PARAMETER_NAMES, PARAMETER_UNITS
from sysid_nodes.data.inertia import is_consistent, parameters_to_com
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.prime.schema import PIPELINE as PRIME
from sysid_nodes.reports.prime.schema import validate_motion
from sysid_nodes.reports.schema import SCHEMA, check_result, validate
from sysid_nodes.results import Contradiction, IdentificationResult, Status
from sysid_nodes.results.identification import LEVEL, Estimate
from sysid_nodes.sessions.interval.run import IntervalRun

RESULT_NAME = "result.json"

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
        "t": _number(result.t),
        "window": int(result.window),
        "parameters": _parameters(result, claimed),
        "estimate": _estimate(result.estimate) if claimed else None,
        "truth": None if run.truth is None else _numbers(run.truth),
        "nominal_body": _body(_numbers(result.nominal)) if claimed else None,
        "samples": {
            "used": int(result.samples_used),
            "rejected": {reason: int(count) for reason, count in sorted(result.samples_rejected.items())},
        },
        "condition_number": _number(result.excitation.condition_number),
        "excitation": {
            "singular_values": [float(x) for x in np.ravel(result.excitation.singular_values) if math.isfinite(x)],
            "blind": list(result.excitation.blind),
        },
        "solve_time_s": float(
            sum(step.solve_time for step in run.history) if run.solve_time is None else run.solve_time
        ),
        "contradiction": _contradiction(result.contradiction),
        "costs": {name: [0.0 if x is None else x for x in _numbers(share)] for name, share in result.costs.items()}
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
    columns = [_numbers(column if claimed else nothing) for column in values]
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
    validate(document, source=str(path))
    write_atomically(path, encode(document))


def read_result(path: Path) -> dict[str, Any]:
    """Reads and validates a result file, or the result.json of a folder; its fields are those of its pipeline.

    Raises:
        InputError: the file is absent, is not strict JSON or is not a result of schema 1.
    """
    document = read_document(path)
    return (validate_motion if document["pipeline"] == PRIME else validate)(document, source=str(path))


def read_document(path: Path) -> dict[str, Any]:
    """Reads a result file, or the result.json of a folder, of any pipeline; its own fields are not checked.

    Raises:
        InputError: the file is absent, is not strict JSON or is not a result of schema 1.
    """
    path = path / RESULT_NAME if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text, parse_constant=_reject_constant)
    except OSError as error:
        raise InputError(error.strerror or str(error), source=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}", source=str(path)) from None
    return check_result(document, source=str(path))


def encode(document: Mapping[str, Any]) -> str:
    """JSON text with a line for each field and for each entry of a list of objects: small, and diff-friendly."""
    lines = []
    for name, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            entries = ",\n".join("    " + json.dumps(item, allow_nan=False) for item in value)
            text = f"[\n{entries}\n  ]"
        else:
            text = json.dumps(value, allow_nan=False)
        lines.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _step(step: IdentificationResult) -> dict[str, Any]:
    return {
        "t": _number(step.t),
        "window": int(step.window),
        "status": step.status.name,
        "nominal": _numbers(step.nominal),
        "lower": _numbers(step.lower),
        "upper": _numbers(step.upper),
        "condition_number": _number(step.excitation.condition_number),
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
        "times": [_numbers(row) for row in np.atleast_2d(found.times)],
        "assumption": found.assumption,
        "factors": {name: _number(factor) for name, factor in found.factors.items()},
        "payload_changed": bool(found.payload_changed),
        "change_time": _number(found.change_time),
    }


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _numbers(values: Any) -> list[float | None]:
    return [_number(float(x)) for x in np.ravel(values)]


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(x) for x in value]
    return _number(value) if isinstance(value, float) else value


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
