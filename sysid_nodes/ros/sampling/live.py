# SPDX-License-Identifier: Apache-2.0
"""An identification by rollouts fed from subscriptions."""

from __future__ import annotations

from pathlib import Path

from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.messages.sampling.estimates import status
from sysid_nodes.results.sampling import SamplingStatus
from sysid_nodes.ros.diagnostics import ERROR, OK
from sysid_nodes.ros.live_session import Health, LiveSession
from sysid_nodes.sessions.sampling.online import OnlineSampling, SamplingUpdate


class LiveSampling(LiveSession[OnlineSampling, SamplingUpdate]):
    """See LiveSession."""

    patience = 120.0

    def words(self) -> tuple[str, str]:
        return status(self.session.update)

    def _judge(self, health: Health) -> tuple[bytes, str]:
        name, sentence = self.words()
        if name == SamplingStatus.UNTRUSTED.name:
            return ERROR, sentence
        return health.trouble() or (OK, sentence)

    def _values(self) -> dict[str, str]:
        return {"identifications": str(self.session.update.number)}

    def _write(self, path: str, source: str, spent: float) -> Path:
        from sysid_nodes.reports.sampling.run import SamplingRun, save_sampling_run  # plots take their time

        result = self.session.update.result
        if result is None:
            raise ExcitationError(self.words()[1])
        return save_sampling_run(path, SamplingRun(result, self.session.robot, source, spent, self.session.config))
