# SPDX-License-Identifier: Apache-2.0
"""An actuator session fed from two subscriptions: the executor's thread puts messages, the worker's identifies."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.messages.actuators.models import status
from sysid_nodes.ros.actuators.diagnostics import ActuatorHealth, actuator_diagnostic
from sysid_nodes.sessions.actuators.session import ActuatorSession, ActuatorUpdate
from sysid_nodes.sessions.worker import LiveWorker

Take = Callable[[Any], ActuatorUpdate | None]
"""Hands a message to the session."""

_PATIENCE = 30.0
"""Longer than any window takes to solve, and as long as a service's caller may care to wait [s]."""


class LiveActuators:
    """Methods are for the executor's thread and do not wait for the messages that are queued.

    Args:
        session: identifies.
        capacity: messages that may wait.
        publish: called on the worker's thread with every update.
        complain: called on the worker's thread with the first failure that is not the message's fault.

    Attributes:
        session: as given; its methods are for the worker's thread.
    """

    def __init__(
        self,
        session: ActuatorSession,
        *,
        capacity: int,
        publish: Callable[[ActuatorUpdate], None],
        complain: Callable[[str], None],
    ) -> None:
        self.session = session
        self._publish = publish
        self._start()
        self._worker = LiveWorker(self._process, complain, capacity=capacity)

    def _start(self) -> None:
        self._lost = False
        self.received: Counter[str] = Counter()
        self._reported: Counter[str] = Counter()
        self._rejected: dict[str, int] = {}
        self._unusable: Counter[str] = Counter()
        self._solve_time = self._spent = 0.0

    def put(self, topic: str, take: Take, message: Any) -> None:
        """Queues a message of a topic; called a thousand times a second."""
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
            SysidError: the identifier is too busy to answer.
        """
        self._worker.call(lambda: self._publish(self.session.update), _PATIENCE)

    def reset(self) -> None:
        """Starts over: forgets all data, waiting messages included, and publishes that nothing is known.

        Raises:
            SysidError: the identifier is too busy to answer.
        """
        self._worker.start_over(lambda: self._publish(self.session.reset()), _PATIENCE)
        topics = tuple(self.received)
        self._start()
        self.expect(*topics)

    def save(self, path: str, source: str) -> tuple[Path, str]:
        """Writes the present state of knowledge; returns the file and the status in words.

        Raises:
            SysidError: nothing is identified, it cannot be written, or the identifier is too busy to answer.
        """
        from sysid_nodes.reports.actuators.live import save_session  # plots: two fifths of the node's start

        written = self._worker.call(lambda: save_session(path, self.session, source, self._spent), _PATIENCE)
        return written, status(self.session.update)[1]

    def status(self, node: str, *, active: bool) -> DiagnosticStatus:
        """How topics and identification are doing since the last call."""
        received, rejected = Counter(self.received), {**self.session.rejected, **self._unusable}
        before, self._reported = self._reported, received
        grown = tuple(reason for reason, count in rejected.items() if count > self._rejected.get(reason, 0))
        self._rejected = rejected
        health = ActuatorHealth(
            active=active,
            received=received,
            silent=tuple(topic for topic, count in received.items() if count == before[topic]),
            waiting=len(self._worker),
            overflowed=self._worker.overflowed,
            rejected=rejected,
            rejected_now=grown,
            solve_time=self._solve_time,
            update=self.session.update,
            fault=self._worker.fault,
        )
        return actuator_diagnostic(node, health)

    def stop(self) -> None:
        """Ends the worker's thread."""
        self._worker.stop()

    def _process(self, item: tuple[Take, Any]) -> None:
        """On the worker's thread."""
        take, message = item
        try:
            began = time.monotonic()
            if self._lost:
                self._lost = False
                self.session.interrupt()
            if (update := take(message)) is not None:
                self._solve_time = time.monotonic() - began
                self._spent += self._solve_time
                self._publish(update)
        except SamplesError as error:
            self._unusable[str(error)] += 1
