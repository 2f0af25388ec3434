# SPDX-License-Identifier: Apache-2.0
"""The `loop` object that result.json has after a run of the certified loop: every field, once.

It is an addition to schema 1 that readers may ignore. Tests and docs/certified/result.md follow this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sysid_nodes.reports.schema import KINDS, Field, check_fields

LOOP_FIELDS = (
    Field("loop", "object"),
    Field("loop.outcome", "string"),
    Field("loop.sentence", "string"),
    Field("loop.start", "number"),
    Field("loop.end", "number"),
    Field("loop.identified_at", "number or null"),
    Field("loop.goal", "numbers or null"),
    Field("loop.goal_error", "number or null"),
    Field("loop.near", "number"),
    Field("loop.prior_check", "object or null"),
    Field("loop.prior_check.certified", "boolean"),
    Field("loop.prior_check.verdict", "string"),
    Field("loop.prior_check.reason", "string"),
    Field("loop.prior_check.position_error", "number or null"),
    Field("loop.final_check", "object or null"),
    Field("loop.final_check.certified", "boolean"),
    Field("loop.final_check.verdict", "string"),
    Field("loop.final_check.reason", "string"),
    Field("loop.final_check.position_error", "number or null"),
    Field("loop.plans", "list"),
    Field("loop.plans[].id", "string"),
    Field("loop.plans[].phase", "string"),
    Field("loop.plans[].told", "number"),
    Field("loop.plans[].start", "number"),
    Field("loop.plans[].begun", "number or null"),
    Field("loop.plans[].ended", "number or null"),
    Field("loop.plans[].rest", "number"),
    Field("loop.plans[].verdict", "string"),
    Field("loop.plans[].binding", "string"),
    Field("loop.plans[].window", "integer"),
    Field("loop.plans[].torque", "numbers"),
    Field("loop.plans[].torque_margin", "number"),
    Field("loop.plans[].obstacle_margin", "number or null"),
    Field("loop.plans[].self_margin", "number or null"),
    Field("loop.events", "list"),
    Field("loop.events[].t", "number"),
    Field("loop.events[].mode", "string"),
    Field("loop.events[].reason", "string"),
    Field("loop.events[].text", "string"),
    Field("loop.events[].refused", "string"),
    Field("loop.events[].refused_text", "string"),
    Field("loop.margins", "list"),
    Field("loop.margins[].name", "string"),
    Field("loop.margins[].unit", "string"),
    Field("loop.margins[].certified", "number or null"),
    Field("loop.margins[].seen", "number or null"),
    Field("loop.margins[].kept", "boolean"),
    Field("loop.tracking_share", "number"),
    Field("loop.nearest_obstacle", "string"),
    Field("loop.real_time_factor", "number or null"),
    Field("loop.processor", "numbers by name"),
    Field("loop.scene", "object"),
    Field("loop.config", "object"),
)

LOOP_KINDS: dict[str, Callable[[Any], bool]] = KINDS | {
    "numbers or null": lambda v: v is None or KINDS["numbers"](v),
    "numbers by name": lambda v: isinstance(v, dict) and KINDS["numbers"](list(v.values())),
}
"""Condition on a value of each kind."""


def validate_loop(document: Mapping[str, Any], *, source: str = "") -> None:
    """Checks the `loop` object of a document of schema 1.

    Raises:
        InputError: with the path of the first field that is absent or wrong.
    """
    check_fields(document, LOOP_FIELDS, LOOP_KINDS, source=source)
