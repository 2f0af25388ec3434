# SPDX-License-Identifier: Apache-2.0
"""A Bayesian identification fed from joint states and a power meter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sysid_nodes.messages.bayesian.posterior import status
from sysid_nodes.ros.diagnostics import ERROR, OK, WARN
from sysid_nodes.ros.live_session import Health, LiveSession
from sysid_nodes.sessions.bayesian.online import BayesianUpdate, OnlineBayesian


class LiveBayesian(LiveSession[OnlineBayesian, BayesianUpdate]):
    """See LiveSession."""

    patience = 60.0

    def words(self) -> tuple[str, str]:
        return status(self.session.update)

    def _interrupt(self) -> None:
        self.session.interrupt()

    def _rejected_counts(self) -> Mapping[str, int]:
        return self.session.rejected

    def _judge(self, health: Health) -> tuple[bytes, str]:
        result, (_, sentence) = self.session.update.result, self.words()
        if result is not None and not result.status.trusted:
            return ERROR, sentence
        if trouble := health.trouble():
            return trouble
        return (WARN if result is None else OK), sentence

    def _values(self) -> dict[str, str]:
        update = self.session.update
        return {"window": str(update.window), "windows used": str(update.used)}

    def _write(self, path: str, source: str, spent: float) -> Path:
        from sysid_nodes.reports.bayesian.live import save_session  # plots: two fifths of the node's start

        return save_session(path, self.session, source, spent)
