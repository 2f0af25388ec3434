# SPDX-License-Identifier: Apache-2.0
"""The interval identifier's result as a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from builtin_interfaces.msg import Time
from online_sysid.msg import ParameterBounds

from sysid_nodes.messages.interval.bounds import bounds_fields
from sysid_nodes.results import IdentificationResult
from sysid_nodes.sessions.interval.news import Subject


def to_parameter_bounds(
    result: IdentificationResult, subject: Subject, findings: Sequence[str] = ()
) -> ParameterBounds:
    """A result as a message, with the very fields that `sysid replay` logs."""
    message = ParameterBounds()
    fields = bounds_fields(result, subject, findings)
    header = fields.pop("header")
    message.header.stamp = Time(**header["stamp"])
    message.header.frame_id = header["frame_id"]
    for name, value in fields.items():
        setattr(message, name, _stamps(value))
    return message


def _stamps(value: Any) -> Any:
    """The only nested messages are stamps."""
    if isinstance(value, dict):
        return Time(**value)
    return [_stamps(item) for item in value] if isinstance(value, list) else value
