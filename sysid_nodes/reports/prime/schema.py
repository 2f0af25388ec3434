# SPDX-License-Identifier: Apache-2.0
"""result.json of the pipeline `prime`, an addition to schema 1: every field, once.

Tests and docs/prime/result.md follow this table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sysid_nodes.reports.schema import KINDS, Field, check_fields, check_pipeline, is_member
from sysid_nodes.results.prime_status import PrimeStatus

PIPELINE = "prime"

PRIME_FIELDS = (
    Field("schema", "integer"),
    Field("pipeline", "string"),
    Field("robot", "string"),
    Field("status", "prime status"),
    Field("message", "string"),
    Field("stretches", "list"),
    Field("stretches[].status", "prime status"),
    Field("stretches[].start", "number"),
    Field("stretches[].end", "number"),
    Field("stretches[].why", "string"),
    Field("findings", "strings"),
    Field("assumptions", "strings", optional=True),
    Field("t", "number or null"),
    Field("bodies", "list"),
    Field("bodies[].link", "string"),
    Field("bodies[].parameters", "list"),
    Field("bodies[].parameters[].name", "string"),
    Field("bodies[].parameters[].unit", "string"),
    Field("bodies[].parameters[].nominal", "number"),
    Field("bodies[].parameters[].observed", "boolean"),
    Field("bodies[].parameters[].estimate", "number or null"),
    Field("bodies[].parameters[].sigma", "number or null"),
    Field("bodies[].centre_of_mass", "numbers or nulls"),
    Field("bodies[].centre_of_mass_sigma", "numbers or nulls"),
    Field("constants", "list"),
    Field("constants[].name", "string"),
    Field("constants[].unit", "string"),
    Field("constants[].estimate", "number or null"),
    Field("constants[].sigma", "number or null"),
    Field("constants[].observed", "boolean"),
    Field("samples", "object"),
    Field("samples.used", "integer"),
    Field("samples.rejected", "counts by stream"),
    Field("samples.unusable", "counts"),
    Field("steps_skipped", "integer"),
    Field("solves", "integer"),
    Field("solve_time_s", "number"),
    Field("history", "list"),
    Field("history[].t", "number"),
    Field("history[].estimate", "list"),
    Field("history[].sigma", "list"),
    Field("config", "object"),
)
"""Of every result."""

RUN_FIELDS = (
    Field("run", "object"),
    Field("run.mode", "string"),
    Field("run.source", "string"),
    Field("run.start", "number"),
    Field("run.end", "number"),
    Field("run.stages", "integer"),
    Field("run.left_out", "integer"),
    Field("run.wall_time_s", "number"),
    Field("run.versions", "object"),
    Field("run.sensors", "list"),
    Field("run.sensors[].name", "string"),
    Field("run.sensors[].residuals", "integer"),
    Field("run.sensors[].rms", "number or null"),
    Field("run.sensors[].worst", "number or null"),
    Field("run.feet", "list"),
    Field("run.feet[].name", "string"),
    Field("run.feet[].points", "strings"),
    Field("run.feet[].on_ground", "number or null"),
    Field("run.feet[].touchdowns", "integer"),
    Field("run.feet[].mean_force", "number or null"),
    Field("run.feet[].peak_force", "number or null"),
    Field("run.feet[].sensor", "object or null"),
    Field("run.feet[].sensor.topic", "string"),
    Field("run.feet[].sensor.compared", "integer"),
    Field("run.feet[].sensor.threshold", "number or null"),
    Field("run.feet[].sensor.f1", "number or null"),
    Field("run.feet[].sensor.correlation", "number or null"),
    Field("run.truth", "object or null"),
    Field("run.truth.force_error", "number or null"),
    Field("run.truth.force_rms", "number or null"),
    Field("run.truth.contact_f1", "number or null"),
    Field("run.truth.position_rms", "number or null"),
    Field("run.truth.angle_rms", "number or null"),
    Field("run.truth.total_mass", "number"),
    Field("run.truth.bodies", "list"),
    Field("run.truth.bodies[].link", "string"),
    Field("run.truth.bodies[].parameters", "numbers"),
    Field("run.truth.bodies[].centre_of_mass", "numbers"),
    Field("run.truth.bodies[].mass_error", "number"),
    Field("run.truth.bodies[].centre_of_mass_error", "number"),
    Field("run.live", "object or null"),
    Field("run.live.stages", "integer"),
    Field("run.live.compared", "integer"),
    Field("run.live.largest_force_difference", "number or null"),
    Field("run.live.force_difference_rms", "number or null"),
    Field("run.live.largest_position_difference", "number or null"),
    Field("run.live.mass_difference", "number or null"),
    Field("run.live.readings", "counts"),
    Field("run.live.sentence", "string"),
)
"""Of the results of a whole run; absent from what a live node saves."""

PRIME_KINDS: dict[str, Callable[[Any], bool]] = KINDS | {
    "prime status": is_member(PrimeStatus),
    "numbers or nulls": lambda v: isinstance(v, list) and all(map(KINDS["number or null"], v)),
    "counts by stream": lambda v: isinstance(v, dict) and all(map(KINDS["counts"], v.values())),
}
"""Condition on a value of each kind."""


def validate_prime(document: Any, *, source: str = "") -> dict[str, Any]:
    """Checks a parsed result.json of this pipeline; unknown fields are allowed.

    Raises:
        InputError: with the path of the first field that is absent or wrong.
    """
    result = check_pipeline(document, PIPELINE, source=source)
    check_fields(result, PRIME_FIELDS, PRIME_KINDS, source=source)
    if "run" in result:
        check_fields(result, RUN_FIELDS, PRIME_KINDS, source=source)
    return result
