# SPDX-License-Identifier: Apache-2.0
"""result.json of the pipeline `bayesian`, an addition to schema 1: every field, once.

Tests and docs/bayesian/result.md follow this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sysid_nodes.reports.schema import KINDS, Field, check_fields, check_pipeline, is_member
from sysid_nodes.results.bayesian import BayesianStatus

PIPELINE = "bayesian"

BAYESIAN_FIELDS = (
    Field("schema", "integer"),
    Field("pipeline", "string"),
    Field("robot", "string"),
    Field("joints", "strings"),
    Field("source", "string"),
    Field("status", "bayesian status"),
    Field("message", "string"),
    Field("findings", "strings"),
    Field("parameters", "list"),
    Field("parameters[].name", "string"),
    Field("parameters[].unit", "string"),
    Field("parameters[].group", "string"),
    Field("parameters[].prior_mean", "number"),
    Field("parameters[].prior_sigma", "number"),
    Field("parameters[].prior_lower", "number"),
    Field("parameters[].prior_upper", "number"),
    Field("parameters[].mean", "number or null"),
    Field("parameters[].sigma", "number or null"),
    Field("parameters[].lower", "number or null"),
    Field("parameters[].upper", "number or null"),
    Field("parameters[].narrowing", "number or null"),
    Field("parameters[].verdict", "string"),
    Field("parameters[].active", "boolean"),
    Field("parameters[].truth", "number or null"),
    Field("blind", "list"),
    Field("blind[].narrowing", "number"),
    Field("blind[].names", "strings"),
    Field("blind[].shares", "numbers"),
    Field("noise", "list"),
    Field("noise[].name", "string"),
    Field("noise[].unit", "string"),
    Field("noise[].stated", "number"),
    Field("noise[].estimated", "number"),
    Field("noise[].correlation", "number"),
    Field("friction", "list"),
    Field("friction[].joint", "string"),
    Field("friction[].speed", "numbers"),
    Field("friction[].median", "numbers"),
    Field("friction[].lower", "numbers"),
    Field("friction[].upper", "numbers"),
    Field("friction[].covered", "numbers"),
    Field("held_out", "list"),
    Field("held_out[].joint", "string"),
    Field("held_out[].nominal", "number"),
    Field("held_out[].least_squares", "number or null"),
    Field("held_out[].identified", "number"),
    Field("coordinates", "object or null"),
    Field("coordinates.names", "strings"),
    Field("coordinates.mean", "numbers"),
    Field("coordinates.covariance", "list"),
    Field("iterations", "integer"),
    Field("costs", "numbers"),
    Field("loop_gap", "number"),
    Field("stages", "integer"),
    Field("step", "number"),
    Field("solve_time_s", "number"),
    Field("online", "object or null"),
    Field("online.id", "string"),
    Field("online.config_id", "string"),
    Field("online.window", "integer"),
    Field("online.used", "integer"),
    Field("online.rejected", "object"),
    Field("online.live", "object or null"),
    Field("online.live.published", "integer"),
    Field("online.live.compared", "integer"),
    Field("online.live.equal", "integer"),
    Field("online.live.sentence", "string"),
    Field("versions", "object"),
    Field("config", "object"),
)

BAYESIAN_KINDS: Mapping[str, Callable[[Any], bool]] = {**KINDS, "bayesian status": is_member(BayesianStatus)}


def validate_bayesian(document: Any, *, source: str = "") -> dict[str, Any]:
    """Checks a parsed result.json of this pipeline.

    Raises:
        InputError: with the path of the first field that is absent or wrong.
    """
    result = check_pipeline(document, PIPELINE, source=source)
    check_fields(result, BAYESIAN_FIELDS, BAYESIAN_KINDS, source=source)
    return result
