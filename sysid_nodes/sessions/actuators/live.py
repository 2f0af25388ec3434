# SPDX-License-Identifier: Apache-2.0
"""An actuator session fed from two subscriptions."""

from __future__ import annotations

from collections.abc import Mapping

from sysid_nodes.results.actuators import ActuatorStatus
from sysid_nodes.sessions.actuators.session import ActuatorSession, ActuatorUpdate
from sysid_nodes.sessions.live_session import Level, LiveSession, SessionHealth


class LiveActuators(LiveSession[ActuatorSession, ActuatorUpdate]):
    """See LiveSession."""

    def _interrupt(self) -> None:
        self.session.interrupt()

    def _rejected_counts(self) -> Mapping[str, int]:
        return self.session.rejected

    def _judge(self, health: SessionHealth) -> tuple[Level, str]:
        state, (name, sentence) = self.session.update.state, self.words()
        if state.alarms:
            return Level.ERROR, state.alarms[-1].sentence
        if name == ActuatorStatus.CONTRADICTION.name:
            return Level.ERROR, sentence
        if trouble := health.trouble():
            return trouble
        if state.result is None or state.finding:
            return Level.WARN, sentence if state.result is None else state.finding
        return Level.OK, sentence

    def _values(self) -> dict[str, str]:
        state = self.session.update.state
        joints = () if state.result is None else state.result.joints
        return {
            "window": str(state.number),
            "windows in memory": str(len(state.windows)),
            **{f"replay error of {joint.name} [mrad]": f"{1e3 * joint.replay.rmse:.3f}" for joint in joints},
            **{f"alarm {k}": alarm.sentence for k, alarm in enumerate(state.alarms)},
        }
