# SPDX-License-Identifier: Apache-2.0
"""State of a live interval identification, for diagnostics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sysid_nodes.results import IdentificationResult, Status
from sysid_nodes.sessions.diagnostic_keys import (
    FINDING,
    LAG,
    OVERLOAD,
    REJECTED,
    SOLVE_TIME,
    WAITING,
    not_used,
    received_on,
)
from sysid_nodes.sessions.interval.news import sentence
from sysid_nodes.sessions.interval.session import IntervalSession
from sysid_nodes.sessions.live_session import Level, SessionReport
from sysid_nodes.systems.interval.stream_watch import Judgement

_OVERLOAD = "overload"
"""Messages lost because the identifier could not keep up."""

LOST = "lost on the way"
"""Messages that the middleware knows of and could not deliver."""


@dataclass(frozen=True)
class IntervalHealth:
    """The node between two diagnostics.

    Attributes:
        topic: where the joint states come from.
        active: the node listens.
        received: messages taken from the middleware since activation.
        received_now: of these, since the last diagnostics.
        rate: of the messages processed since then, by their sensor's clock [Hz].
        longest_step: longest step between two sensor stamps since then [s].
        queue: messages that wait for the identifier.
        lag: how far the identifier is behind the newest message, by the sensor's clock [s].
        rejected: messages or samples not used since the start, by reason.
        rejected_now: of these, since the last diagnostics.
        fault: the last internal failure in one line, or empty.
        judgement: what is wrong with the data themselves.
        result: present state of knowledge.
    """

    topic: str
    active: bool
    received: int
    received_now: int
    rate: float
    longest_step: float
    queue: int
    lag: float
    rejected: Mapping[str, int]
    rejected_now: Mapping[str, int]
    fault: str
    judgement: Judgement
    result: IdentificationResult


def judge(health: IntervalHealth) -> tuple[Level, str]:
    """Level and one sentence: the worst thing first."""
    if health.fault:
        return Level.ERROR, f"internal failure: {health.fault}"
    if health.result.status.speaks_against_assumptions:
        return Level.ERROR, sentence(health.result, health.judgement.lines)
    if not health.active:
        return Level.OK, "inactive"
    if not health.received_now:
        return Level.WARN, f"no joint states on {health.topic}"
    if health.judgement.faults:
        return Level.ERROR, health.judgement.faults[0].message
    if health.judgement.doubts:
        return Level.WARN, health.judgement.doubts[0].message
    if health.rejected_now:
        worst = max(health.rejected_now, key=lambda reason: health.rejected_now[reason])
        return Level.WARN, f"{sum(health.rejected_now.values())} samples not used, most for: {worst}"
    if health.result.status is Status.NOT_EXCITED:
        blind = ", ".join(health.result.excitation.blind)
        return Level.WARN, health.result.status.message + (f": {blind}" if blind else "")
    return Level.OK, health.result.status.message


def interval_report(health: IntervalHealth) -> SessionReport:
    """Level, sentence and values, numbers with their units in the keys."""
    level, message = judge(health)
    result = health.result
    values = {
        "status": result.status.name,
        FINDING: "; ".join(health.judgement.lines),
        "rate [Hz]": f"{health.rate:.1f}",
        "longest step between stamps [s]": f"{health.longest_step:.6f}",
        received_on(health.topic): str(health.received),
        OVERLOAD: str(health.rejected.get(_OVERLOAD, 0)),
        WAITING: str(health.queue),
        LAG: f"{health.lag:.3f}",
        "samples used": str(result.samples_used),
        REJECTED: str(sum(health.rejected.values())),
        **{not_used(reason): str(n) for reason, n in sorted(health.rejected.items()) if reason != _OVERLOAD},
        "window": str(result.window),
        "condition number": f"{result.excitation.condition_number:.4g}",
        "blind directions": ", ".join(result.excitation.blind),
        SOLVE_TIME: f"{result.solve_time:.4f}",
    }
    return SessionReport(level, message, values, health.topic)


class Pace:
    """Steps between sensor stamps; one thread may add while another reads and starts anew.

    Attributes:
        last: the newest stamp [s], or None.
        steps: stamps that lie after their predecessor.
        span: time those steps cover [s].
        longest: longest of them [s].
    """

    def __init__(self) -> None:
        self.last: float | None = None
        self._lock = Lock()
        self._start()

    def _start(self) -> None:
        self.steps = 0
        self.span = 0.0
        self.longest = 0.0

    def add(self, stamp: float) -> None:
        """Takes the next stamp [s]."""
        with self._lock:
            if self.last is not None and stamp > self.last:
                self.steps += 1
                self.span += stamp - self.last
                self.longest = max(self.longest, stamp - self.last)
            self.last = stamp

    def renew(self) -> Pace:
        """The steps since the last call; those after it are counted from zero, the first from the newest stamp."""
        with self._lock:
            past = copy(self)
            self._start()
        return past

    @property
    def rate(self) -> float:
        """Mean rate by the sensor's clock [Hz]; 0 without a step."""
        return self.steps / self.span if self.span > 0.0 else 0.0


class Monitor:
    """Counts what arrives, and tells what changed from one report to the next.

    Args:
        topic: resolved name of the joint states' topic.
        stamp: of a message [s].
    """

    def __init__(self, topic: str, stamp: Callable[[Any], float]) -> None:
        self.topic, self._stamp = topic, stamp
        self.reset()

    def reset(self) -> None:
        """Starts counting from zero."""
        self._received = self._received_before = self._lost = 0
        self._rejected_before: Counter[str] = Counter()
        self._newest: Any = None
        self._pace = Pace()

    def take(self, message: Any) -> None:
        """Notes an arrival; called a thousand times a second."""
        self._received += 1
        self._newest = message

    def lose(self, count: int) -> None:
        """Notes messages that never arrived."""
        self._lost += count

    def note_processed(self, stamp: float) -> None:
        """Notes the stamp of a message that the identifier takes [s]; on the worker's thread."""
        self._pace.add(stamp)

    def report(
        self, session: IntervalSession, *, active: bool, waiting: int, overflowed: int, fault: str
    ) -> SessionReport:
        """The session since the last report."""
        pace = self._pace.renew()
        newest = self._stamp(self._newest) if self._newest is not None else None
        rejected = Counter(session.rejected)
        rejected += Counter({_OVERLOAD: overflowed, LOST: self._lost})  # only what is more than 0
        health = IntervalHealth(
            topic=self.topic,
            active=active,
            received=self._received,
            received_now=self._received - self._received_before,
            rate=pace.rate,
            longest_step=pace.longest,
            queue=waiting,
            lag=0.0 if newest is None or pace.last is None else max(0.0, newest - pace.last),
            rejected=rejected,
            rejected_now=rejected - self._rejected_before,
            fault=fault,
            judgement=session.judgement,
            result=session.result,
        )
        self._received_before, self._rejected_before = self._received, rejected
        return interval_report(health)
