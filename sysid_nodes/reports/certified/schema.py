# SPDX-License-Identifier: Apache-2.0
"""The `certified` object that result.json has after a run of the certified loop: every field, once.

It is an addition to schema 1 that readers may ignore. Tests and docs/certified/result.md follow this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sysid_nodes.reports.schema import KINDS, Field, check_fields

CERTIFIED_FIELDS = (
    Field("certified", "object"),
    Field("certified.outcome", "string"),
    Field("certified.sentence", "string"),
    Field("certified.start", "number"),
    Field("certified.end", "number"),
    Field("certified.identified_at", "number or null"),
    Field("certified.goal", "numbers or null"),
    Field("certified.goal_error", "number or null"),
    Field("certified.near", "number"),
    Field("certified.prior_check", "object or null"),
    Field("certified.prior_check.certified", "boolean"),
    Field("certified.prior_check.verdict", "string"),
    Field("certified.prior_check.reason", "string"),
    Field("certified.prior_check.position_error", "number or null"),
    Field("certified.final_check", "object or null"),
    Field("certified.final_check.certified", "boolean"),
    Field("certified.final_check.verdict", "string"),
    Field("certified.final_check.reason", "string"),
    Field("certified.final_check.position_error", "number or null"),
    Field("certified.plans", "list"),
    Field("certified.plans[].id", "string"),
    Field("certified.plans[].phase", "string"),
    Field("certified.plans[].told", "number"),
    Field("certified.plans[].start", "number"),
    Field("certified.plans[].begun", "number or null"),
    Field("certified.plans[].ended", "number or null"),
    Field("certified.plans[].rest", "number"),
    Field("certified.plans[].verdict", "string"),
    Field("certified.plans[].binding", "string"),
    Field("certified.plans[].window", "integer"),
    Field("certified.plans[].torque", "numbers"),
    Field("certified.plans[].torque_margin", "number"),
    Field("certified.plans[].obstacle_margin", "number or null"),
    Field("certified.plans[].self_margin", "number or null"),
    Field("certified.events", "list"),
    Field("certified.events[].t", "number"),
    Field("certified.events[].mode", "string"),
    Field("certified.events[].reason", "string"),
    Field("certified.events[].text", "string"),
    Field("certified.events[].refused", "string"),
    Field("certified.events[].refused_text", "string"),
    Field("certified.margins", "list"),
    Field("certified.margins[].name", "string"),
    Field("certified.margins[].unit", "string"),
    Field("certified.margins[].certified", "number or null"),
    Field("certified.margins[].seen", "number or null"),
    Field("certified.margins[].kept", "boolean"),
    Field("certified.tracking_share", "number"),
    Field("certified.nearest_obstacle", "string"),
    Field("certified.real_time_factor", "number or null"),
    Field("certified.processor", "numbers by name"),
    Field("certified.scene", "object"),
    Field("certified.config", "object"),
)

CERTIFIED_KINDS: dict[str, Callable[[Any], bool]] = KINDS | {
    "numbers or null": lambda v: v is None or KINDS["numbers"](v),
    "numbers by name": lambda v: isinstance(v, dict) and KINDS["numbers"](list(v.values())),
}
"""Condition on a value of each kind."""


def validate_certified(document: Mapping[str, Any], *, source: str = "") -> None:
    """Checks the `certified` object of a document of schema 1.

    Raises:
        InputError: with the path of the first field that is absent or wrong.
    """
    check_fields(document, CERTIFIED_FIELDS, CERTIFIED_KINDS, source=source)
