# SPDX-License-Identifier: Apache-2.0
"""Fields of online_sysid/msg/ActuatorModels, as plain values: the node publishes and a replay logs the same."""

from __future__ import annotations

import math
from typing import Any

from sysid_nodes.data.digest import digest
from sysid_nodes.messages.geometry import header
from sysid_nodes.models.actuator import INDEX
from sysid_nodes.results.actuators import ActuatorEstimate, ActuatorStatus, JointActuator
from sysid_nodes.sessions.actuators.session import ActuatorUpdate
from sysid_nodes.systems.actuators.online import DriftAlarm

TYPE = "online_sysid/msg/ActuatorModels"
TOPIC = "/actuator_identifier/actuator_models"

WAITING = "WAITING"
"""Status before any window tells anything."""


def status(update: ActuatorUpdate) -> tuple[str, str]:
    """Name of the status, and one sentence."""
    result = update.state.result
    if result is None:
        return WAITING, f"nothing is identified: {update.state.finding}"
    if result.status is ActuatorStatus.CONTRADICTION:
        return result.status.name, f"{result.status.message}: {result.findings[0]}"
    return result.status.name, result.status.message


def models_fields(update: ActuatorUpdate) -> dict[str, Any]:
    """The message as nested plain values; see the message for the meaning of every field."""
    state, result = update.state, update.state.result
    name, sentence = status(update)
    findings = [state.finding] if state.finding else []
    told = {
        "robot": update.robot,
        "config_id": update.config_id,
        "status": name,
        "message": sentence,
        "findings": findings if result is None else [*findings, *result.findings],
        "windows": list(state.windows),
        "samples": 0 if result is None else result.samples,
        "duration": 0.0 if result is None else result.duration,
        "models": [] if result is None else [_model(joint) for joint in result.joints],
        "alarms": [_alarm(alarm) for alarm in state.alarms],
    }
    return {"header": header(update.t), "id": digest(told), "window": state.number, **told}


def _model(joint: JointActuator) -> dict[str, Any]:
    rows = {p.name: p for p in joint.parameters}
    delay = _number(rows["delay"].estimate) if "delay" in rows else float(joint.law[INDEX["delay"]])
    return {
        "joint": joint.name,
        "parameters": [_parameter(p) for p in joint.parameters],
        "delay": delay,
        "replay_rmse": joint.replay.rmse,
        "replay_worst": joint.replay.worst,
        "condition": float(joint.verdict.condition),
    }


def _parameter(found: ActuatorEstimate) -> dict[str, Any]:
    return {
        "name": found.name,
        "unit": found.unit,
        "identifiable": found.identifiable,
        "estimate": _number(found.estimate),
        "sigma": _number(found.sigma),
        "lower": float(found.lower),
        "upper": float(found.upper),
        "reason": found.reason,
    }


def _alarm(alarm: DriftAlarm) -> dict[str, Any]:
    return {
        "joint": alarm.joint,
        "kind": alarm.kind,
        "parameter": alarm.parameter,
        "unit": alarm.unit,
        "before": alarm.before,
        "after": alarm.after,
        "since": header(alarm.since)["stamp"],
        "message": alarm.sentence,
    }


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
