# SPDX-License-Identifier: Apache-2.0
"""How the actuators' identifier is doing, for /diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticStatus

from sysid_nodes.messages.actuators.models import status
from sysid_nodes.results.actuators import ActuatorStatus
from sysid_nodes.ros.diagnostics import ERROR, OK, WARN, diagnostic_status
from sysid_nodes.sessions.actuators.session import ActuatorUpdate


@dataclass(frozen=True)
class ActuatorHealth:
    """The node between two diagnostics.

    Attributes:
        active: the node listens.
        received: messages of each topic since the start.
        silent: topics without a message since the last diagnostics.
        waiting: messages that wait for the identifier.
        overflowed: messages lost because too many waited.
        rejected: messages and stretches of motion not used since the start, by reason.
        rejected_now: reasons that grew since the last diagnostics.
        solve_time: of the newest window [s].
        update: what is known.
        fault: the last internal failure in one line, or empty.
    """

    active: bool
    received: Mapping[str, int]
    silent: tuple[str, ...]
    waiting: int
    overflowed: int
    rejected: Mapping[str, int]
    rejected_now: tuple[str, ...]
    solve_time: float
    update: ActuatorUpdate
    fault: str


def judge(health: ActuatorHealth) -> tuple[bytes, str]:
    """Level and one sentence: the worst thing first."""
    state = health.update.state
    if health.fault:
        return ERROR, f"internal failure: {health.fault}"
    if state.alarms:
        return ERROR, state.alarms[-1].sentence
    name, sentence = status(health.update)
    if name == ActuatorStatus.CONTRADICTION.name:
        return ERROR, sentence
    if not health.active:
        return OK, "inactive"
    if health.silent:
        return WARN, f"nothing on {' and '.join(health.silent)}"
    if health.rejected_now:
        return WARN, f"not used: {', '.join(health.rejected_now)}"
    if state.result is None or state.finding:
        return WARN, sentence if state.result is None else state.finding
    return OK, sentence


def actuator_diagnostic(node: str, health: ActuatorHealth) -> DiagnosticStatus:
    """The health of a node as a diagnostic status, numbers with their units in the keys."""
    level, message = judge(health)
    state = health.update.state
    joints = () if state.result is None else state.result.joints
    values = {
        "status": status(health.update)[0],
        "window": str(state.number),
        "windows in memory": str(len(state.windows)),
        **{f"received on {topic}": str(count) for topic, count in sorted(health.received.items())},
        "messages waiting": str(health.waiting),
        "messages lost to overload": str(health.overflowed),
        **{f"not used, {reason}": str(count) for reason, count in sorted(health.rejected.items())},
        "solve time [s]": f"{health.solve_time:.3f}",
        **{f"replay error of {joint.name} [mrad]": f"{1e3 * joint.replay.rmse:.3f}" for joint in joints},
        **{f"alarm {k}": alarm.sentence for k, alarm in enumerate(state.alarms)},
    }
    return diagnostic_status(f"{node}: identification", level, message, values, hardware=health.update.robot)
