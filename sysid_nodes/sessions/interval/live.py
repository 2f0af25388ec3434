# SPDX-License-Identifier: Apache-2.0
"""A session fed from a subscription: the executor's thread puts messages, the worker's thread identifies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.results import IdentificationResult
from sysid_nodes.robots.robot import Robot
from sysid_nodes.sessions.interval.health import Monitor
from sysid_nodes.sessions.interval.run import IntervalRun
from sysid_nodes.sessions.interval.session import IntervalSession
from sysid_nodes.sessions.live_session import SessionReport
from sysid_nodes.sessions.worker import LiveWorker
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

# Longer than any window takes to solve, shorter than a service's caller cares to wait [s].
_PATIENCE = 10.0

# The data are judged by the last part of the stream, so that a fault which begins after an hour shows [s].
_MEMORY = 20.0

# While messages wait the data are judged once in so many: that takes as long as a window, and would delay them further.
_LAGGING = 1000


class LiveInterval:
    """Methods are for the executor's thread and do not wait for the messages that are queued.

    Args:
        robot: carries the body to identify.
        stated: names of the options that somebody stated.
        capacity: messages that may wait.
        convert: a message to plain data, on the worker's thread.
        monitor: counts for the diagnostics.
        publish: called on the worker's thread with every result that is news, and what is wrong with the data.
        judged: called on the worker's thread with what is wrong with the data, whenever that was looked at.
        complain: called on the worker's thread with the first failure that is not the message's fault.

    Raises:
        InputError: configuration and robot do not fit one another.
    """

    def __init__(
        self,
        robot: Robot,
        config: IntervalIdentifierConfig,
        *,
        stated: Collection[str],
        capacity: int,
        convert: Callable[[Any], RawJointState],
        monitor: Monitor,
        publish: Callable[[IdentificationResult, Sequence[str]], None],
        judged: Callable[[Sequence[str]], None],
        complain: Callable[[str], None],
    ) -> None:
        self._session = IntervalSession(robot, config, stated=stated, memory=_MEMORY)
        self.subject = self._session.subject
        self._due = self._lost = False
        self._unjudged = 0
        self._capacity = capacity
        self._convert, self._monitor = convert, monitor
        self._publish = publish
        self._judged = judged
        self._worker = LiveWorker(self._process, complain, capacity=capacity)

    def put(self, message: Any) -> None:
        """Queues a message; called a thousand times a second."""
        self._monitor.take(message)
        lost = self._lost or len(self._worker) >= self._capacity  # then those that wait are dropped
        self._lost = False
        self._worker.put((message, lost))

    def lose(self, count: int) -> None:
        """Notes messages that the middleware lost: the next message tells the session, in its turn."""
        self._monitor.lose(count)
        self._lost = True

    def clear(self) -> None:
        """Forgets the messages that wait."""
        self._worker.clear()
        self._lost = True

    def announce(self) -> None:
        """Publishes the present state of knowledge.

        Raises:
            SysidError: the identifier is too busy to answer.
        """
        self._worker.call(lambda: self._tell(self._session.result), _PATIENCE)

    def reset(self) -> None:
        """Starts over: forgets all data, waiting messages included, and publishes the prior.

        Raises:
            SysidError: the identifier is too busy to answer.
        """
        self._worker.start_over(lambda: self._tell(self._session.reset()), _PATIENCE)
        self._monitor.reset()

    def reconfigure(self, config: IntervalIdentifierConfig) -> None:
        """Takes over live options.

        Raises:
            SysidError: they do not fit the robot, or the identifier is too busy to answer.
        """
        self._worker.call(lambda: self._session.reconfigure(config), _PATIENCE)

    def run(self) -> IntervalRun:
        """All that was found so far.

        Raises:
            SysidError: the identifier is too busy to answer.
        """
        return self._worker.call(lambda: self._session.snapshot(self._monitor.topic), _PATIENCE)

    @property
    def findings(self) -> Sequence[str]:
        """Faults and doubts last found in the data, one line each."""
        return self._session.judgement.lines

    @property
    def overflowed(self) -> int:
        """Messages lost to overload since the start or the last reset."""
        return self._worker.overflowed

    def report(self, *, active: bool) -> SessionReport:
        """How the stream and the identification are doing since the last call.

        The data are judged with the next message that none waits behind, for the call after this one.
        """
        self._due = True
        return self._monitor.report(
            self._session,
            active=active,
            waiting=len(self._worker),
            overflowed=self.overflowed,
            fault=self._worker.fault,
        )

    def stop(self) -> None:
        """Ends the worker's thread."""
        self._worker.stop()

    def _tell(self, result: IdentificationResult) -> None:
        self._publish(result, self.findings)

    def _process(self, item: tuple[Any, bool]) -> None:
        message, lost = item
        if lost:
            self._session.interrupt()
        state = self._convert(message)
        self._monitor.note_processed(state.stamp)
        if (result := self._session.process(state)) is not None:
            self._tell(result)
        self._unjudged += 1
        if self._due and (not len(self._worker) or self._unjudged >= _LAGGING):
            self._due, self._unjudged = False, 0
            self._judged(self._session.judge().lines)
