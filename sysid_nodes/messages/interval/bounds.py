# SPDX-License-Identifier: Apache-2.0
"""Fields of online_sysid/msg/ParameterBounds from a result, as plain values: for logs written without ROS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.logs.writer import stamp_fields
from sysid_nodes.results import Contradiction, IdentificationResult
from sysid_nodes.sessions.interval.news import Subject, sentence

TYPE = "online_sysid/msg/ParameterBounds"
TOPIC = "/interval_identifier/parameter_bounds"

_LATEST_STAMP = 2.0**31


def bounds_fields(result: IdentificationResult, subject: Subject, findings: Sequence[str] = ()) -> dict[str, Any]:
    """The message as nested plain values; see the message for the meaning of every field.

    Args:
        result: state of knowledge.
        subject: the identified body.
        findings: problems of the data, one line each.
    """
    reasons = sorted(result.samples_rejected)
    fields = {
        "header": {"stamp": _stamp(result.t), "frame_id": subject.frame},
        "robot": subject.robot,
        "body": subject.body,
        "target": subject.target,
        "method": subject.method,
        "status": int(result.status),
        "message": sentence(result, findings),
        "names": list(PARAMETER_NAMES),
        "nominal": result.nominal.tolist(),
        "lower": result.lower.tolist(),
        "upper": result.upper.tolist(),
        "condition_number": float(result.excitation.condition_number),
        "singular_values": [float(x) for x in result.excitation.singular_values],
        "blind_directions": list(result.excitation.blind),
        "window": int(result.window),
        "samples_used": int(result.samples_used),
        "samples_rejected": sum(result.samples_rejected.values()),
        "rejected_reasons": reasons,
        "rejected_counts": [result.samples_rejected[reason] for reason in reasons],
        "solve_time": float(result.solve_time),
    }
    return fields if result.contradiction is None else fields | _contradiction(result.contradiction)


def _contradiction(found: Contradiction) -> dict[str, Any]:
    return {
        "contradiction_assumption": found.assumption,
        "contradiction_factor": float(found.factors.get(found.assumption, math.inf)),
        "contradiction_windows": [int(window) for window in found.windows],
        "contradiction_start": [_stamp(float(start)) for start, _ in found.times],
        "contradiction_end": [_stamp(float(end)) for _, end in found.times],
        "payload_changed": bool(found.payload_changed),
        "change_time": _stamp(found.change_time if found.payload_changed else None),
    }


def _stamp(seconds: float | None) -> dict[str, int]:
    """A stamp; zero where there is none."""
    if seconds is None or not math.isfinite(seconds) or not 0.0 <= seconds < _LATEST_STAMP:
        return {"sec": 0, "nanosec": 0}
    return stamp_fields(seconds)
