# SPDX-License-Identifier: Apache-2.0
"""The interval identifier's result as a message."""

from __future__ import annotations

from collections.abc import Sequence

from online_sysid.msg import ParameterBounds

from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.interval.bounds import bounds_fields
from sysid_nodes.results import IdentificationResult
from sysid_nodes.sessions.interval.news import Subject


def to_parameter_bounds(
    result: IdentificationResult, subject: Subject, findings: Sequence[str] = ()
) -> ParameterBounds:
    """A result as a message, with the very fields that `sysid replay` logs."""
    return to_message(ParameterBounds, bounds_fields(result, subject, findings))
