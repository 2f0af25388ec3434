# SPDX-License-Identifier: Apache-2.0
"""Stretches of one status, and the status of the whole."""

from __future__ import annotations

from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sessions.prime.stretches import MOST, Stretch, extend_stretches, status_of_whole
from sysid_nodes.sessions.prime.trust import PrimeJudgement


def test_equal_judgements_are_one_stretch_and_the_worst_is_the_whole() -> None:
    found: list[Stretch] = []
    told = [PrimeStatus.GOOD] * 3 + [PrimeStatus.DOUBTFUL] * 2 + [PrimeStatus.GOOD]
    for t, status in enumerate(told):
        extend_stretches(found, PrimeJudgement(status), float(t))
    assert [(entry.status, entry.start, entry.end) for entry in found] == [
        (PrimeStatus.GOOD, 0.0, 2.0),
        (PrimeStatus.DOUBTFUL, 2.0, 4.0),
        (PrimeStatus.GOOD, 4.0, 5.0),
    ]
    assert status_of_whole(found, PrimeStatus.GOOD) is PrimeStatus.DOUBTFUL
    assert status_of_whole([], PrimeStatus.STARTING) is PrimeStatus.STARTING


def test_a_session_of_weeks_keeps_few_and_the_worst() -> None:
    found: list[Stretch] = []
    extend_stretches(found, PrimeJudgement(PrimeStatus.LOST), 0.0)
    for t in range(3 * MOST):
        status = PrimeStatus.DEGRADED if t % 2 else PrimeStatus.GOOD
        extend_stretches(found, PrimeJudgement(status), t + 1.0)
    assert len(found) == MOST
    assert found[0].status is PrimeStatus.LOST
