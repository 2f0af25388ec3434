# SPDX-License-Identifier: Apache-2.0
"""Stretches of one status, and the status of the whole."""

from __future__ import annotations

from sysid_nodes.results.motion_status import MotionStatus
from sysid_nodes.sessions.prime.stretches import MOST, Stretch, extend_stretches, status_of_whole
from sysid_nodes.sessions.prime.trust import PrimeJudgement


def test_equal_judgements_are_one_stretch_and_the_worst_is_the_whole() -> None:
    found: list[Stretch] = []
    told = [MotionStatus.GOOD] * 3 + [MotionStatus.DOUBTFUL] * 2 + [MotionStatus.GOOD]
    for t, status in enumerate(told):
        extend_stretches(found, PrimeJudgement(status), float(t))
    assert [(entry.status, entry.start, entry.end) for entry in found] == [
        (MotionStatus.GOOD, 0.0, 2.0),
        (MotionStatus.DOUBTFUL, 2.0, 4.0),
        (MotionStatus.GOOD, 4.0, 5.0),
    ]
    assert status_of_whole(found, MotionStatus.GOOD) is MotionStatus.DOUBTFUL
    assert status_of_whole([], MotionStatus.STARTING) is MotionStatus.STARTING


def test_a_session_of_weeks_keeps_few_and_the_worst() -> None:
    found: list[Stretch] = []
    extend_stretches(found, PrimeJudgement(MotionStatus.LOST), 0.0)
    for t in range(3 * MOST):
        status = MotionStatus.DEGRADED if t % 2 else MotionStatus.GOOD
        extend_stretches(found, PrimeJudgement(status), t + 1.0)
    assert len(found) == MOST
    assert found[0].status is MotionStatus.LOST
