# SPDX-License-Identifier: Apache-2.0
"""A Bayesian identification fed from joint states and a power meter."""

from __future__ import annotations

from collections.abc import Mapping

from sysid_nodes.sessions.bayesian.online import BayesianUpdate, OnlineBayesian
from sysid_nodes.sessions.live_session import Level, LiveSession, SessionHealth


class LiveBayesian(LiveSession[OnlineBayesian, BayesianUpdate]):
    """See LiveSession."""

    patience = 60.0

    def _interrupt(self) -> None:
        self.session.interrupt()

    def _rejected_counts(self) -> Mapping[str, int]:
        return self.session.rejected

    def _judge(self, health: SessionHealth) -> tuple[Level, str]:
        result, (_, sentence) = self.session.update.result, self.words()
        if result is not None and not result.status.trusted:
            return Level.ERROR, sentence
        if trouble := health.trouble():
            return trouble
        return (Level.WARN if result is None else Level.OK), sentence

    def _values(self) -> dict[str, str]:
        update = self.session.update
        return {"window": str(update.window), "windows used": str(update.used)}
