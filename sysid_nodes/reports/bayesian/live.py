# SPDX-License-Identifier: Apache-2.0
"""A session's posterior as a finished run, and whether a replay of its input says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.messages.bayesian.posterior import TOPIC, TYPE, posterior_fields, status
from sysid_nodes.reports.bayesian.run import BayesianRun
from sysid_nodes.reports.published import Comparison, compare_published
from sysid_nodes.sessions.bayesian.online import BayesianUpdate, OnlineBayesian


def session_run(
    session: OnlineBayesian,
    source: str,
    wall_time: float,
    truth: Mapping[str, float] | None = None,
    live: Comparison | None = None,
) -> BayesianRun:
    """A session's present posterior as a run.

    Args:
        wall_time: that it took [s].
        truth: hidden values by the parameters' names, if somebody knows them.
        live: comparison with what a live node published, or None.

    Raises:
        ExcitationError: nothing is identified yet.
    """
    update = session.update
    if update.result is None:
        raise ExcitationError(status(update)[1], source=source)
    online = {
        "id": posterior_fields(update)["id"],
        "config_id": update.config_id,
        "window": update.window,
        "used": update.used,
        "rejected": dict(session.rejected),
        "live": None if live is None else live.fields(),
    }
    return BayesianRun(update.result, session.robot, source, wall_time, session.config, truth or {}, online)


def compare_live(bag: Path, updates: Sequence[BayesianUpdate]) -> Comparison:
    """Posteriors that a live node published into a recording against those of a replay of it.

    Raises:
        LogError: the recording cannot be read.
    """
    replayed = {update.window: str(posterior_fields(update)["id"]) for update in updates}
    return compare_published(bag, TOPIC, TYPE, replayed, "posteriors")
