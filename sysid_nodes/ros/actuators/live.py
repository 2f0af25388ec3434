# SPDX-License-Identifier: Apache-2.0
"""An actuator session fed from two subscriptions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sysid_nodes.messages.actuators.models import status
from sysid_nodes.results.actuators import ActuatorStatus
from sysid_nodes.ros.diagnostics import ERROR, OK, WARN
from sysid_nodes.ros.live_session import Health, LiveSession
from sysid_nodes.sessions.actuators.session import ActuatorSession, ActuatorUpdate


class LiveActuators(LiveSession[ActuatorSession, ActuatorUpdate]):
    """See LiveSession."""

    def words(self) -> tuple[str, str]:
        return status(self.session.update)

    def _interrupt(self) -> None:
        self.session.interrupt()

    def _rejected_counts(self) -> Mapping[str, int]:
        return self.session.rejected

    def _judge(self, health: Health) -> tuple[bytes, str]:
        state, (name, sentence) = self.session.update.state, self.words()
        if state.alarms:
            return ERROR, state.alarms[-1].sentence
        if name == ActuatorStatus.CONTRADICTION.name:
            return ERROR, sentence
        if trouble := health.trouble():
            return trouble
        if state.result is None or state.finding:
            return WARN, sentence if state.result is None else state.finding
        return OK, sentence

    def _values(self) -> dict[str, str]:
        state = self.session.update.state
        joints = () if state.result is None else state.result.joints
        return {
            "window": str(state.number),
            "windows in memory": str(len(state.windows)),
            **{f"replay error of {joint.name} [mrad]": f"{1e3 * joint.replay.rmse:.3f}" for joint in joints},
            **{f"alarm {k}": alarm.sentence for k, alarm in enumerate(state.alarms)},
        }

    def _write(self, path: str, source: str, spent: float) -> Path:
        from sysid_nodes.reports.actuators.live import save_session  # plots: two fifths of the node's start

        return save_session(path, self.session, source, spent)
