# SPDX-License-Identifier: Apache-2.0
"""A session's knowledge as a finished run, and whether a replay of its input says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.messages.actuators.models import TOPIC, TYPE, models_fields
from sysid_nodes.reports.actuators.run import ActuatorRun
from sysid_nodes.reports.actuators.truth import true_torques
from sysid_nodes.reports.published import compare_published
from sysid_nodes.sessions.actuators.session import ActuatorSession, ActuatorUpdate


def session_run(
    session: ActuatorSession,
    source: str,
    wall_time: float,
    live: Mapping[str, Any] | None = None,
    truth: Mapping[str, Any] | None = None,
    start: float | None = None,
) -> ActuatorRun:
    """A session's present state of knowledge as a run.

    Args:
        wall_time: that it took [s].
        live: comparison with what a live node published, or None.
        truth: of simulated drives, see `truth.py`, or None.
        start: stamp of the simulated robot's first sample, for the true torques; None leaves them out [s].

    Raises:
        ExcitationError: nothing is identified yet.
    """
    update, motion = session.update, session.replayed_motion()
    state, told = update.state, models_fields(update)
    if state.result is None or motion is None:
        raise ExcitationError(f"nothing is identified: {state.finding}", source=source)
    online = {
        "id": told["id"],
        "config_id": update.config_id,
        "window": state.number,
        "windows": list(state.windows),
        "alarms": [{**asdict(alarm), "message": alarm.sentence} for alarm in state.alarms],
        "live": None if live is None else dict(live),
        "truth": None if truth is None else {name: value for name, value in truth.items() if name != "torque"},
    }
    return ActuatorRun(
        state.result,
        motion.t,
        motion.command,
        motion.measured,
        motion.replayed,
        session.robot,
        source,
        wall_time,
        session.config,
        online,
        methods=session.joint_methods(),
        true_torque=None if truth is None or start is None else true_torques(truth, motion.stamp - start),
    )


def compare_live(bag: Path, updates: Sequence[ActuatorUpdate]) -> dict[str, Any]:
    """Models that a live node published into a recording against those of a replay of it, as plain values.

    Raises:
        LogError: the recording cannot be read.
    """
    replayed = {update.state.number: str(models_fields(update)["id"]) for update in updates}
    return compare_published(bag, TOPIC, TYPE, replayed, "models").fields()
