# SPDX-License-Identifier: Apache-2.0
"""An identification by rollouts fed from subscriptions: the executor's thread puts messages, the worker identifies."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus

from sysid_nodes.exceptions import LogError, SamplesError, SysidError
from sysid_nodes.messages.sampling.estimates import status
from sysid_nodes.results.sampling import SamplingStatus
from sysid_nodes.ros.diagnostics import ERROR, OK, WARN, diagnostic_status
from sysid_nodes.sessions.sampling.online import OnlineSampling, SamplingUpdate
from sysid_nodes.sessions.worker import LiveWorker

Take = Callable[[Any], SamplingUpdate | None]
"""Hands a message to the session."""

_PATIENCE = 120.0
"""Longer than an identification takes [s]."""


class LiveSampling:
    """Methods are for the executor's thread and do not wait for the messages that are queued.

    Args:
        online: gathers and identifies; its methods are for the worker's thread.
        capacity: messages that may wait.
        publish: called on the worker's thread with every update.
        complain: called on the worker's thread with the first failure that is not a message's fault.
    """

    def __init__(
        self,
        online: OnlineSampling,
        *,
        capacity: int,
        publish: Callable[[SamplingUpdate], None],
        complain: Callable[[str], None],
    ) -> None:
        self.online, self._publish = online, publish
        self._clear_counts()
        self._worker = LiveWorker(self._process, complain, capacity=capacity)

    def _clear_counts(self) -> None:
        self.received: Counter[str] = Counter()
        self._reported: Counter[str] = Counter()
        self._unusable: Counter[str] = Counter()
        self._solve_time = 0.0

    def expect(self, topic: str) -> None:
        """A topic whose silence is worth a warning."""
        self.received[topic] += 0

    def put(self, topic: str, take: Take, message: Any) -> None:
        """Queues a message of a topic; called a thousand times a second."""
        self.received[topic] += 1
        self._worker.put((take, message))

    def announce(self) -> None:
        """Publishes the present state of knowledge.

        Raises:
            SysidError: the identifier is too busy to answer.
        """
        self._worker.call(lambda: self._publish(self.online.update), _PATIENCE)

    def clear(self) -> None:
        """Forgets the messages that wait."""
        self._worker.clear()

    def reset(self) -> None:
        """Forgets everything, and publishes that nothing is known.

        Raises:
            SysidError: the identifier is too busy to answer.
        """
        self._worker.start_over(lambda: self._publish(self.online.reset()), _PATIENCE)
        topics = tuple(self.received)
        self._clear_counts()
        for topic in topics:
            self.expect(topic)

    def save(self, path: str, source: str) -> tuple[Path, str]:
        """Writes result, series and report into a folder; returns it and the status in words.

        Raises:
            SysidError: nothing is identified, or it cannot be written.
        """
        from sysid_nodes.reports.sampling.run import SamplingRun, write_sampling_run  # plots take their time

        def write() -> Path:
            update, folder = self.online.update, Path(path)
            if update.result is None:
                raise SysidError(status(update)[1])
            folder.mkdir(parents=True, exist_ok=True)
            run = SamplingRun(update.result, update.robot, source, self._solve_time, self.online.config)
            write_sampling_run(folder, run)
            return folder

        return self._worker.call(write, _PATIENCE), status(self.online.update)[1]

    def status(self, node: str, *, active: bool) -> DiagnosticStatus:
        """How topics and identification are doing since the last call."""
        received, update = Counter(self.received), self.online.update
        silent = [topic for topic, count in received.items() if count == self._reported[topic]]
        self._reported = received
        name, sentence = status(update)
        level, message = OK, sentence
        if self._worker.fault:
            level, message = ERROR, f"internal failure: {self._worker.fault}"
        elif name == SamplingStatus.UNTRUSTED.name:
            level = ERROR
        elif active and silent:
            level, message = WARN, f"nothing on {' and '.join(silent)}"
        values = {
            "status": name,
            "identifications": str(update.number),
            **{f"received on {topic}": str(count) for topic, count in sorted(received.items())},
            "messages waiting": str(len(self._worker)),
            "messages lost to overload": str(self._worker.overflowed),
            **{f"not used, {reason}": str(count) for reason, count in sorted(self._unusable.items())},
            "solve time [s]": f"{self._solve_time:.3f}",
        }
        return diagnostic_status(f"{node}: identification", level, message, values, hardware=update.robot)

    def stop(self) -> None:
        """Ends the worker's thread."""
        self._worker.stop()

    def _process(self, item: tuple[Take, Any]) -> None:
        """On the worker's thread."""
        take, message = item
        try:
            began = time.monotonic()
            if (update := take(message)) is not None:
                self._solve_time = time.monotonic() - began
                self._publish(update)
        except (SamplesError, LogError) as error:
            self._unusable[str(error)] += 1
