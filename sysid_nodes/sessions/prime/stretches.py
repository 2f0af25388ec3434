# SPDX-License-Identifier: Apache-2.0
"""Status of a session over time: stretches of one status, and one status for the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sessions.prime.trust import PrimeJudgement

MOST = 200
"""Stretches that are kept: a session may last for weeks."""


@dataclass(frozen=True)
class Stretch:
    """Time of one status.

    Attributes:
        status: throughout.
        start, end: stamps [s].
        why: its first finding, empty for none.
        fallen: whether the robot lay.
    """

    status: PrimeStatus
    start: float
    end: float
    why: str
    fallen: bool = False

    @property
    def sentence(self) -> str:
        """In a few words."""
        return f"{self.status.name} from {self.start:.2f} to {self.end:.2f} s{f' ({self.why})' if self.why else ''}"


def extend_stretches(stretches: list[Stretch], judgement: PrimeJudgement, t: float) -> None:
    """Adds a judgement of a time to stretches in order; of too many, the shortest of the best status goes.

    Args:
        stretches: changed.
        judgement: of an estimate.
        t: its newest stage [s].
    """
    last = stretches[-1] if stretches else None
    same = last is not None and (last.status, last.fallen) == (judgement.status, judgement.fallen)
    if last is not None and same and t >= last.start:
        stretches[-1] = replace(last, end=t)
        return
    why = judgement.findings[0].message if judgement.findings else ""
    begun = t if last is None or t < last.end else last.end
    stretches.append(Stretch(judgement.status, begun, t, why, judgement.fallen))
    if len(stretches) > MOST:
        stretches.remove(min(stretches[:-1], key=lambda entry: (entry.status, entry.end - entry.start)))


def status_of_whole(stretches: Sequence[Stretch], now: PrimeStatus) -> PrimeStatus:
    """The worst status of any stretch; `now` where there is none."""
    return max((entry.status for entry in stretches), default=now)
