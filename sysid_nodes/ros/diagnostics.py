# SPDX-License-Identifier: Apache-2.0
"""Statuses for /diagnostics."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from rclpy.time import Time

from sysid_nodes.sessions.live_session import Level, SessionReport

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


_LEVELS = {Level.OK: OK, Level.WARN: WARN, Level.ERROR: ERROR}


def component(node: Node) -> str:
    """Name of a node in diagnostics: its full one, for there may be several robots."""
    return str(node.get_fully_qualified_name()).lstrip("/")


def diagnostic_status(
    name: str, level: bytes, message: str, values: Mapping[str, str], *, hardware: str = ""
) -> DiagnosticStatus:
    """State of one component.

    Args:
        name: `NODE: COMPONENT`.
        level: OK, WARN or ERROR.
        message: one sentence, the worst thing first.
        values: details by name, numbers with their units in the names.
        hardware: that it is about, a topic or a robot.
    """
    pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
    return DiagnosticStatus(level=level, name=name, hardware_id=hardware, message=message, values=pairs)


def report_status(name: str, report: SessionReport) -> DiagnosticStatus:
    """A session's report as the status of that name."""
    return diagnostic_status(name, _LEVELS[report.level], report.sentence, report.values, hardware=report.subject)


def diagnostic_array(status: DiagnosticStatus, now: Time) -> DiagnosticArray:
    """A status with the time of the report, by the node's clock."""
    message = DiagnosticArray(status=[status])
    message.header.stamp = now.to_msg()
    return message
