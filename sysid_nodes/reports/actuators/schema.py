# SPDX-License-Identifier: Apache-2.0
"""result.json of the pipeline `actuators`, an addition to schema 1: every field, once.

Tests and docs/actuators/result.md follow this table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sysid_nodes.reports.schema import KINDS, Field, check_estimates, check_fields, check_pipeline, is_member
from sysid_nodes.results.actuators import ActuatorStatus

PIPELINE = "actuators"

ACTUATOR_FIELDS = (
    Field("schema", "integer"),
    Field("pipeline", "string"),
    Field("robot", "string"),
    Field("source", "string"),
    Field("status", "actuator status"),
    Field("message", "string"),
    Field("findings", "strings"),
    Field("method", "string"),
    Field("joints", "list"),
    Field("joints[].name", "string"),
    Field("joints[].condition_before", "number or null"),
    Field("joints[].condition", "number or null"),
    Field("joints[].correlation", "list"),
    Field("joints[].parameters", "list"),
    Field("joints[].parameters[].name", "string"),
    Field("joints[].parameters[].unit", "string"),
    Field("joints[].parameters[].identifiable", "boolean"),
    Field("joints[].parameters[].estimate", "number or null"),
    Field("joints[].parameters[].sigma", "number or null"),
    Field("joints[].parameters[].lower", "number or null"),
    Field("joints[].parameters[].upper", "number or null"),
    Field("joints[].parameters[].reason", "string"),
    Field("joints[].parameters[].advice", "string"),
    Field("joints[].parameters[].between_runs", "object or null"),
    Field("joints[].replay", "object"),
    Field("joints[].replay.rmse", "number"),
    Field("joints[].replay.mae", "number"),
    Field("joints[].replay.worst", "number"),
    Field("joints[].motion", "number"),
    Field("joints[].converged", "boolean"),
    Field("joints[].method", "object or null"),
    Field("joints[].method.rmse", "number"),
    Field("joints[].method.mae", "number"),
    Field("joints[].method.worst", "number"),
    Field("joints[].method.outside", "number"),
    Field("joints[].method.network", "boolean"),
    Field("joints[].method.findings", "strings"),
    Field("joints[].oracle", "object or null"),
    Field("joints[].oracle.rms", "number"),
    Field("joints[].oracle.sigma", "number"),
    Field("joints[].oracle.encoder_noise", "number"),
    Field("joints[].oracle.error", "number or null", optional=True),
    Field("joints[].oracle.inside", "number or null", optional=True),
    Field("joints[].oracle.difference", "number"),
    Field("replay", "object"),
    Field("replay.rmse", "number"),
    Field("replay.mae", "number"),
    Field("online", "object or null"),
    Field("online.id", "string"),
    Field("online.config_id", "string"),
    Field("online.window", "integer"),
    Field("online.windows", "list"),
    Field("online.alarms", "list"),
    Field("online.alarms[].joint", "string"),
    Field("online.alarms[].kind", "string"),
    Field("online.alarms[].parameter", "string"),
    Field("online.alarms[].unit", "string"),
    Field("online.alarms[].before", "number"),
    Field("online.alarms[].after", "number"),
    Field("online.alarms[].since", "number"),
    Field("online.alarms[].message", "string"),
    Field("online.live", "object or null"),
    Field("online.truth", "object or null"),
    Field("samples", "integer"),
    Field("duration", "number"),
    Field("solve_time_s", "number"),
    Field("versions", "object"),
    Field("config", "object"),
)

ACTUATOR_KINDS: dict[str, Callable[[Any], bool]] = KINDS | {
    "actuator status": is_member(ActuatorStatus),
}


def validate_actuators(document: Any, *, source: str = "") -> dict[str, Any]:
    """Checks a parsed result.json of this pipeline; unknown fields are allowed.

    Raises:
        InputError: with the path of the first field that is absent or wrong, or a parameter that is not identifiable
            and has an estimate.
    """
    result = check_pipeline(document, PIPELINE, source=source)
    check_fields(result, ACTUATOR_FIELDS, ACTUATOR_KINDS, source=source)
    for joint in result["joints"]:
        check_estimates(joint["parameters"], f" of '{joint['name']}'", source=source)
    return result
