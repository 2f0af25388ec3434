# SPDX-License-Identifier: Apache-2.0
"""Schema 1 of an interval identification's result.json: every field, once.

Validation, tests and docs/interval/result.md follow this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.schema import KINDS, Field, check_fields, check_result, is_member
from sysid_nodes.results import Status

INTERVAL_FIELDS = (
    Field("schema", "integer"),
    Field("pipeline", "string"),
    Field("method", "string"),
    Field("robot", "string"),
    Field("body", "string"),
    Field("target", "string"),
    Field("frame", "string"),
    Field("joints", "strings"),
    Field("source", "string"),
    Field("calibration", "string or null"),
    Field("status", "status"),
    Field("message", "string"),
    Field("findings", "strings"),
    Field("t", "number or null"),
    Field("window", "integer"),
    Field("parameters", "list"),
    Field("parameters[].name", "string"),
    Field("parameters[].unit", "string"),
    Field("parameters[].nominal", "number or null"),
    Field("parameters[].lower", "number or null"),
    Field("parameters[].upper", "number or null"),
    Field("parameters[].likely_lower", "number or null", optional=True),
    Field("parameters[].likely_upper", "number or null", optional=True),
    Field("estimate", "object or null", optional=True),
    Field("estimate.confidence", "number", optional=True),
    Field("estimate.coulomb", "numbers", optional=True),
    Field("estimate.viscous", "numbers", optional=True),
    Field("estimate.offset", "numbers", optional=True),
    Field("estimate.load_friction", "numbers", optional=True),
    Field("estimate.torque_sigma", "numbers", optional=True),
    Field("truth", "ten numbers or null"),
    Field("nominal_body", "object or null"),
    Field("nominal_body.mass", "number"),
    Field("nominal_body.centre_of_mass", "numbers"),
    Field("nominal_body.inertia", "numbers"),
    Field("samples", "object"),
    Field("samples.used", "integer"),
    Field("samples.rejected", "counts"),
    Field("condition_number", "number or null"),
    Field("excitation", "object"),
    Field("excitation.singular_values", "numbers"),
    Field("excitation.blind", "strings"),
    Field("solve_time_s", "number"),
    Field("contradiction", "object or null"),
    Field("contradiction.sentence", "string"),
    Field("contradiction.windows", "list"),
    Field("contradiction.times", "list"),
    Field("contradiction.assumption", "string"),
    Field("contradiction.factors", "object"),
    Field("contradiction.payload_changed", "boolean"),
    Field("contradiction.change_time", "number or null"),
    Field("relaxed", "list", optional=True),
    Field("relaxed[].assumption", "string", optional=True),
    Field("relaxed[].options", "strings", optional=True),
    Field("relaxed[].factor", "number", optional=True),
    Field("costs", "ten numbers each"),
    Field("assumptions", "strings"),
    Field("config", "object"),
    Field("versions", "object"),
    Field("history", "list"),
    Field("history[].t", "number or null"),
    Field("history[].window", "integer"),
    Field("history[].status", "status"),
    Field("history[].nominal", "ten numbers or nulls"),
    Field("history[].lower", "ten numbers or nulls"),
    Field("history[].upper", "ten numbers or nulls"),
    Field("history[].condition_number", "number or null"),
    Field("history[].samples_used", "integer"),
    Field("history[].solve_time_s", "number"),
)


def _is_ten(item: str) -> Callable[[Any], bool]:
    """Condition on a value: as many entries as there are parameters, each of a kind."""
    return lambda value: isinstance(value, list) and len(value) == len(PARAMETER_NAMES) and all(map(KINDS[item], value))


INTERVAL_KINDS: dict[str, Callable[[Any], bool]] = KINDS | {
    "status": is_member(Status),
    "ten numbers or null": lambda v: v is None or _is_ten("number")(v),
    "ten numbers or nulls": _is_ten("number or null"),
    "ten numbers each": lambda v: isinstance(v, dict) and all(map(_is_ten("number"), v.values())),
}
"""Condition on a value of each kind."""


def validate_interval(document: Any, *, source: str = "") -> dict[str, Any]:
    """Checks a parsed result.json against schema 1; unknown fields are allowed, the schema grows by addition.

    Raises:
        InputError: with the path of the first field that is absent or wrong.
    """
    result = check_result(document, source=source)
    check_fields(result, INTERVAL_FIELDS, INTERVAL_KINDS, source=source)
    _check_parameters(result, source)
    return result


def _check_parameters(document: Mapping[str, Any], source: str) -> None:
    names = tuple(row["name"] for row in document["parameters"])
    if names != PARAMETER_NAMES:
        raise InputError(f"'parameters' must name {', '.join(PARAMETER_NAMES)} in this order", source=source)
    for row in document["parameters"]:
        lower, upper = row["lower"], row["upper"]
        if lower is not None and upper is not None and lower > upper:
            raise InputError(
                f"impossible bounds: {row['name']} has lower {lower:g} above upper {upper:g}", source=source
            )
        if document["status"] == Status.INCONSISTENT.name and (lower is not None or upper is not None):
            raise InputError(f"{row['name']} has a bound although the status is INCONSISTENT", source=source)
