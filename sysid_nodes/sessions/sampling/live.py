# SPDX-License-Identifier: Apache-2.0
"""An identification by rollouts fed from subscriptions."""

from __future__ import annotations

from sysid_nodes.results.sampling import SamplingStatus
from sysid_nodes.sessions.live_session import Level, LiveSession, SessionHealth
from sysid_nodes.sessions.sampling.online import OnlineSampling, SamplingUpdate


class LiveSampling(LiveSession[OnlineSampling, SamplingUpdate]):
    """See LiveSession."""

    patience = 120.0

    def _judge(self, health: SessionHealth) -> tuple[Level, str]:
        name, sentence = self.words()
        if name == SamplingStatus.UNTRUSTED.name:
            return Level.ERROR, sentence
        return health.trouble() or (Level.OK, sentence)

    def _values(self) -> dict[str, str]:
        return {"identifications": str(self.session.update.number)}
