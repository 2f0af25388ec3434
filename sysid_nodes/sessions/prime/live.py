# SPDX-License-Identifier: Apache-2.0
"""A PRIME session fed from subscriptions: the executor's thread puts messages, the worker's thread estimates."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sysid_nodes.data.readings import Readings
from sysid_nodes.exceptions import SamplesError
from sysid_nodes.sessions.live_session import SessionReport
from sysid_nodes.sessions.prime.health import PrimeHealth, prime_report
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.sessions.prime.trust import PrimeJudgement
from sysid_nodes.sessions.prime.update import PrimeUpdate
from sysid_nodes.sessions.worker import LiveWorker

Convert = Callable[[Any], Sequence[Readings]]
"""Readings of a message; may raise SamplesError."""

_PATIENCE = 10.0
"""Longer than any window takes to solve, shorter than a service's caller cares to wait [s]."""

_PERIOD = 0.01
"""The worker looks for messages this often [s], about a stage: shorter costs processor time, longer adds to the lag."""

_LOOK = 0.1
"""Silence after which streams are judged without a message [s]."""


class LivePrime:
    """Methods are for the executor's thread and do not wait for the messages that are queued.

    Args:
        capacity: messages that may wait.
        write: writes the session's state of knowledge to a path and returns the file; on the worker's thread.
        publish: called on the worker's thread with every update.
        judged: called on the worker's thread when the status changes or the robot falls, with old and new judgement.
        complain: called on the worker's thread with the first failure that is not the message's fault.
    """

    def __init__(
        self,
        session: PrimeSession,
        *,
        capacity: int,
        write: Callable[[str, PrimeSession], Path],
        publish: Callable[[PrimeUpdate], None],
        judged: Callable[[PrimeJudgement, PrimeJudgement], None],
        complain: Callable[[str], None],
    ) -> None:
        self._session = session
        self._write, self._publish, self._judged = write, publish, judged
        self._start()
        self._worker = LiveWorker(self._process, complain, capacity=capacity, period=_PERIOD)

    def _start(self) -> None:
        self.received: Counter[str] = Counter()
        self._update: PrimeUpdate | None = None
        self._told = PrimeJudgement()
        self._heard = -math.inf
        self._longest_lag = self._longest_solve = 0.0
        self._reported = time.monotonic(), time.process_time(), Counter[str]()

    def put(self, stream: str, convert: Convert, message: Any) -> None:
        """Queues a message of a stream; called a thousand times a second."""
        self.received[stream] += 1
        self._worker.put((convert, message, time.monotonic()))

    def look(self) -> None:
        """Has streams and estimate judged if nothing has come for a while."""
        if not len(self._worker) and time.monotonic() - self._heard > _LOOK:
            self._worker.put(None)

    def clear(self) -> None:
        """Forgets the messages that wait."""
        self._worker.clear()

    def reset(self) -> None:
        """Starts over from the prior, waiting messages forgotten.

        Raises:
            SysidError: the estimator is too busy to answer.
        """

        def start_over() -> None:
            self._session.reset()
            self._start()

        self._worker.start_over(start_over, _PATIENCE)

    def save(self, path: str) -> tuple[Path, str]:
        """Writes the present state of knowledge; returns the file and the status in words.

        Raises:
            SysidError: it cannot be written, or the estimator is too busy to answer.
        """
        written = self._worker.call(lambda: self._write(path, self._session), _PATIENCE)
        return written, self._session.judgement.sentence

    def report(self, *, active: bool) -> SessionReport:
        """How streams and estimation are doing since the last call."""
        session, update = self._session, self._update
        wall, processor, before = self._reported
        self._reported = now, used, received = time.monotonic(), time.process_time(), Counter(self.received)
        span = max(now - wall, 1e-6)
        longest_lag, self._longest_lag = self._longest_lag, 0.0
        longest_solve, self._longest_solve = self._longest_solve, 0.0
        estimate = None if update is None else update.estimate
        bodies = () if estimate is None else estimate.bodies
        health = PrimeHealth(
            active=active,
            received=received,
            rates={name: (count - before[name]) / span for name, count in received.items()},
            waiting=len(self._worker),
            overflowed=self._worker.overflowed,
            unusable=Counter(session.unusable),
            rejected=session.rejected,
            lag=0.0 if update is None else update.lag,
            longest_lag=longest_lag,
            solve_time=session.pacer.solve_time,
            longest_solve=longest_solve,
            load=session.pacer.load,
            pace=session.pacer.pace,
            solves=session.solves,
            skipped=session.skipped,
            processor=(used - processor) / span,
            judgement=session.judgement,
            masses={body.link: f"{body.mass:.4f}, sigma {body.mass_sigma:.4f}" for body in bodies},
            fault=self._worker.fault,
        )
        return prime_report(health)

    def stop(self) -> None:
        """Ends the worker's thread."""
        self._worker.stop()

    # -- on the worker's thread

    def _process(self, item: tuple[Convert, Any, float] | None) -> None:
        if item is None:
            self._look()
        else:
            self._take(*item)

    def _take(self, convert: Convert, message: Any, put: float) -> None:
        try:
            heard = convert(message)
        except SamplesError as error:
            self._session.unusable[str(error)] += 1
            return
        self._heard = time.monotonic()
        # Sensors go on while a message waits: the time it has waited counts as lag.
        self._session.waited = self._heard - put
        updates = [update for readings in heard if (update := self._session.take(readings)) is not None]
        if updates:
            self._tell(updates[-1])
        elif self._session.judgement.status is not self._told.status:
            self._tell_judgement()

    def _look(self) -> None:
        if math.isfinite(self._heard):
            self._session.look(self._session.time + time.monotonic() - self._heard)
            if self._session.judgement.status is not self._told.status:
                self._tell_judgement()

    def _tell(self, update: PrimeUpdate) -> None:
        self._update = update
        self._longest_lag = max(self._longest_lag, update.lag)
        self._longest_solve = max(self._longest_solve, self._session.pacer.solve_time)
        self._note(update.judgement)
        self._publish(update)

    def _tell_judgement(self) -> None:
        """The last estimate again, with what it is worth now."""
        judgement = self._session.judgement
        self._note(judgement)
        if self._update is not None:
            self._publish(self._update.with_judgement(judgement))

    def _note(self, judgement: PrimeJudgement) -> None:
        if (judgement.status, judgement.fallen) != (self._told.status, self._told.fallen):
            self._judged(self._told, judgement)
        self._told = judgement
