# SPDX-License-Identifier: Apache-2.0
"""The identifier's log for its operator: one line for an event, none for a window without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sysid_nodes.results import IdentificationResult, Status
from sysid_nodes.sessions.interval.news import sentence


class Log(Protocol):
    """The part of rclpy's logger that is used."""

    def info(self, message: str, /) -> object: ...

    def warning(self, message: str, /) -> object: ...

    def error(self, message: str, /) -> object: ...


class Journal:
    """Logs what changed, once per change.

    `result` and `findings` are for one thread, `overload` for one that may be another.

    Args:
        log: where the lines go.
        open_: whether the log can still be written; after a shutdown rclpy's complains instead.
    """

    def __init__(self, log: Log, open_: Callable[[], bool]) -> None:
        self._log = log
        self._open = open_
        self._status, self._changed = Status.WAITING, False
        self._told: frozenset[str] = frozenset()
        self._lost, self._losing = 0, False

    def result(self, result: IdentificationResult, findings: Sequence[str]) -> None:
        """Takes a result; a new status is an event, and so is a changed payload."""
        changed = result.contradiction is not None and result.contradiction.payload_changed
        before, self._status = self._status, result.status
        known, self._changed = self._changed, changed
        if result.status is Status.WAITING:  # a start or a reset, which are logged already
            self._told = frozenset()
        elif not self._open() or (result.status is before and changed == known):
            return
        elif result.status.speaks_against_assumptions:
            self._told = frozenset(findings)  # the sentence has them
            self._log.error(f"{before.name} -> {result.status.name}: {sentence(result, findings)}")
        else:
            mass = f"mass in [{result.lower[0]:.4g}, {result.upper[0]:.4g}] kg"
            self._log.info(f"{before.name} -> {result.status.name} at t = {result.t:.3f} s: {mass}; {sentence(result)}")

    def findings(self, findings: Sequence[str]) -> None:
        """Takes the present findings about the data; one that is new is an event."""
        new = [finding for finding in findings if finding not in self._told]
        self._told = frozenset(findings)
        for finding in new if self._open() else ():
            self._log.warning(f"suspicious data: {finding}")

    def overload(self, lost: int) -> None:
        """Takes the number of messages lost so far; the first loss after a time without is an event."""
        more, self._lost = lost - self._lost, lost
        begins = more > 0 and not self._losing
        self._losing = more > 0
        if begins and self._open():
            self._log.warning(f"overload: {more} messages lost, for the identifier cannot keep up")
