# SPDX-License-Identifier: Apache-2.0
"""result.json of the pipeline `sampling`, an addition to schema 1: every field, once.

Tests and docs/sampling/result.md follow this table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sysid_nodes.reports.schema import KINDS, Field, check_estimates, check_fields, check_pipeline, is_member
from sysid_nodes.results.sampling import SamplingStatus

PIPELINE = "sampling"

SAMPLING_FIELDS = (
    Field("schema", "integer"),
    Field("pipeline", "string"),
    Field("method", "string"),
    Field("robot", "string"),
    Field("source", "string"),
    Field("status", "sampling status"),
    Field("message", "string"),
    Field("findings", "strings"),
    Field("parameters", "list"),
    Field("parameters[].name", "string"),
    Field("parameters[].unit", "string"),
    Field("parameters[].group", "string"),
    Field("parameters[].nominal", "number"),
    Field("parameters[].identifiable", "boolean"),
    Field("parameters[].estimate", "number or null"),
    Field("parameters[].sigma", "number or null"),
    Field("parameters[].lower", "number or null"),
    Field("parameters[].upper", "number or null"),
    Field("parameters[].bound", "string"),
    Field("parameters[].reason", "string"),
    Field("bodies", "list"),
    Field("bodies[].link", "string"),
    Field("bodies[].parameters", "numbers"),
    Field("bodies[].covariance", "list"),
    Field("weakness", "numbers"),
    Field("gain", "numbers"),
    Field("misfit", "number"),
    Field("misfit_before", "number"),
    Field("clips", "integer"),
    Field("left_out", "integer"),
    Field("steps", "integer"),
    Field("levels", "list"),
    Field("levels[].length", "number"),
    Field("levels[].estimates", "list"),
    Field("levels[].sigmas", "list"),
    Field("duration", "number"),
    Field("solve_time_s", "number"),
    Field("versions", "object"),
    Field("config", "object"),
)

SAMPLING_KINDS: dict[str, Callable[[Any], bool]] = KINDS | {
    "sampling status": is_member(SamplingStatus),
}


def validate_sampling(document: Any, *, source: str = "") -> dict[str, Any]:
    """Checks a parsed result.json of this pipeline; unknown fields are allowed.

    Raises:
        InputError: with the path of the first field that is absent or wrong, or a parameter that is not identifiable
            and has an estimate.
    """
    result = check_pipeline(document, PIPELINE, source=source)
    check_fields(result, SAMPLING_FIELDS, SAMPLING_KINDS, source=source)
    check_estimates(result["parameters"], source=source)
    return result
