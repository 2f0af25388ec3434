# SPDX-License-Identifier: Apache-2.0
"""A session fed from subscriptions: the executor's thread puts messages, the worker's identifies."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from sysid_nodes.exceptions import LogError, SamplesError
from sysid_nodes.sessions.diagnostic_keys import OVERLOAD, SOLVE_TIME, WAITING, not_used, received_on
from sysid_nodes.sessions.worker import LiveWorker

Update = TypeVar("Update")


class Session(Protocol[Update]):
    """A session of any system: gathers messages, and tells of it now and then."""

    update: Update

    def reset(self) -> Update:
        """Forgets everything."""
        ...


AnySession = TypeVar("AnySession", bound=Session[Any])


class Level(Enum):
    """How bad it is, as in diagnostics."""

    OK = auto()
    WARN = auto()
    ERROR = auto()


@dataclass(frozen=True)
class SessionReport:
    """State of topics and identification between two reports.

    Attributes:
        level: of the worst thing.
        sentence: that says it.
        values: details, numbers with their units in the keys.
        subject: a robot or a topic that it is about.
    """

    level: Level
    sentence: str
    values: Mapping[str, str]
    subject: str


@dataclass(frozen=True)
class SessionHealth:
    """A session between two diagnostics.

    Attributes:
        active: the node listens.
        received: messages of each topic since the start.
        silent: topics without a message since the last diagnostics.
        waiting: messages that wait for the session.
        overflowed: messages lost because too many waited.
        rejected: what was not used since the start, by reason.
        rejected_now: reasons that grew since the last diagnostics.
        solve_time: of the newest update [s].
        fault: the last internal failure in one line, or empty.
    """

    active: bool
    received: Mapping[str, int]
    silent: tuple[str, ...]
    waiting: int
    overflowed: int
    rejected: Mapping[str, int]
    rejected_now: tuple[str, ...]
    solve_time: float
    fault: str

    def values(self) -> dict[str, str]:
        """Numbers with their units in the keys."""
        return {
            **{received_on(topic): str(count) for topic, count in sorted(self.received.items())},
            WAITING: str(self.waiting),
            OVERLOAD: str(self.overflowed),
            **{not_used(reason): str(count) for reason, count in sorted(self.rejected.items())},
            SOLVE_TIME: f"{self.solve_time:.3f}",
        }

    def trouble(self) -> tuple[Level, str] | None:
        """Level and sentence of what is wrong with the messages, or that nobody listens; None where all is well."""
        if not self.active:
            return Level.OK, "inactive"
        if self.silent:
            return Level.WARN, f"nothing on {' and '.join(self.silent)}"
        return (Level.WARN, f"not used: {', '.join(self.rejected_now)}") if self.rejected_now else None


class LiveSession(ABC, Generic[AnySession, Update]):
    """Methods are for the executor's thread and do not wait for the messages that are queued.

    Args:
        capacity: messages that may wait.
        words: name of the status of an update, and one sentence.
        write: writes the session's present state of knowledge to a path, with the name of its source and the time spent
            on it [s]; called on the worker's thread; may raise SysidError.
        publish: called on the worker's thread with every update.
        complain: called on the worker's thread with the first failure that is not a message's fault.

    Attributes:
        session: as given; its methods are for the worker's thread.
        received: messages of each topic since the start.
    """

    patience = 30.0
    """Longer than an update takes, and as long as a service's caller may care to wait [s]."""

    def __init__(
        self,
        session: AnySession,
        *,
        capacity: int,
        words: Callable[[Update], tuple[str, str]],
        write: Callable[[AnySession, str, str, float], Path],
        publish: Callable[[Update], None],
        complain: Callable[[str], None],
    ) -> None:
        self.session = session
        self._words, self._write, self._publish = words, write, publish
        self._start()
        self._worker = LiveWorker(self._process, complain, capacity=capacity)

    # -- what each system gives

    @abstractmethod
    def _judge(self, health: SessionHealth) -> tuple[Level, str]:
        """Level and one sentence: the worst thing first, but for internal failures."""

    def _values(self) -> dict[str, str]:
        """Further values for the diagnostics."""
        return {}

    def _rejected_counts(self) -> Mapping[str, int]:
        """Number of messages that the session itself did not use, by reason."""
        return {}

    def _interrupt(self) -> None:
        """Messages may have been lost; on the worker's thread."""

    # --

    def words(self) -> tuple[str, str]:
        """Name of the session's status, and one sentence."""
        return self._words(self.session.update)

    def _start(self) -> None:
        self._lost = False
        self.received: Counter[str] = Counter()
        self._reported: Counter[str] = Counter()
        self._known: Mapping[str, int] = {}
        self._unusable: Counter[str] = Counter()
        self._solve_time = self._spent = 0.0

    def put(self, topic: str, take: Callable[[Any], Update | None], message: Any) -> None:
        """Queues a message of a topic, which `take` hands to the session; called a thousand times a second."""
        self.received[topic] += 1
        lost = self._worker.overflowed
        self._worker.put((take, message))
        self._lost |= self._worker.overflowed > lost

    def expect(self, *topics: str) -> None:
        """Topics whose silence is worth a warning."""
        for topic in topics:
            self.received[topic] += 0

    def clear(self) -> None:
        """Forgets the messages that wait."""
        self._worker.clear()
        self._lost = True

    def announce(self) -> None:
        """Publishes the present state of knowledge.

        Raises:
            SysidError: the session is too busy to answer.
        """
        self._worker.call(lambda: self._publish(self.session.update), self.patience)

    def reset(self) -> None:
        """Starts over: forgets all data, waiting messages included, and publishes that nothing is known.

        Raises:
            SysidError: the session is too busy to answer.
        """
        self._worker.start_over(lambda: self._publish(self.session.reset()), self.patience)
        topics = tuple(self.received)
        self._start()
        self.expect(*topics)

    def save(self, path: str, source: str) -> tuple[Path, str]:
        """Writes the present state of knowledge; returns the file and the status in words.

        Raises:
            SysidError: nothing is identified, it cannot be written, or the session is too busy to answer.
        """
        written = self._worker.call(lambda: self._write(self.session, path, source, self._spent), self.patience)
        return written, self.words()[1]

    def report(self, *, active: bool) -> SessionReport:
        """How topics and identification are doing since the last call."""
        received, rejected = Counter(self.received), {**self._rejected_counts(), **self._unusable}
        before, self._reported = self._reported, received
        grown = tuple(reason for reason, count in rejected.items() if count > self._known.get(reason, 0))
        self._known = rejected
        health = SessionHealth(
            active=active,
            received=received,
            silent=tuple(topic for topic, count in received.items() if count == before[topic]),
            waiting=len(self._worker),
            overflowed=self._worker.overflowed,
            rejected=rejected,
            rejected_now=grown,
            solve_time=self._solve_time,
            fault=self._worker.fault,
        )
        level, sentence = (Level.ERROR, f"internal failure: {health.fault}") if health.fault else self._judge(health)
        values = {"status": self.words()[0], **health.values(), **self._values()}
        return SessionReport(level, sentence, values, self.session.update.robot)

    def stop(self) -> None:
        """Ends the worker's thread."""
        self._worker.stop()

    def _process(self, item: tuple[Callable[[Any], Update | None], Any]) -> None:
        """On the worker's thread."""
        take, message = item
        try:
            began = time.monotonic()
            if self._lost:
                self._lost = False
                self._interrupt()
            if (update := take(message)) is not None:
                self._solve_time = time.monotonic() - began
                self._spent += self._solve_time
                self._publish(update)
        except (SamplesError, LogError) as error:
            self._unusable[str(error)] += 1
