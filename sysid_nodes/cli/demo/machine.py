# SPDX-License-Identifier: Apache-2.0
"""How busy the machine is that a demo runs on, by the kernel's books."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

FULL = 0.9
"""Share of the cores' time from which on somebody waits for a core now and then."""

_IDLE = (3, 4)  # columns of /proc/stat: idle, and waiting for a disk
_COLUMNS = 8  # the others are parts of these


class Machine:
    """Processor time from the moment this is made.

    Args:
        books: as /proc/stat has it; of the cores on which this process may run.
    """

    def __init__(self, books: Path = Path("/proc/stat")) -> None:
        self._books = books
        self._began, self._own = _all_and_idle(books), _own_time()

    @property
    def busy(self) -> float | None:
        """Share of all cores' time that somebody computed; None where the kernel does not tell."""
        passed = self._passed()
        return 1.0 - passed[1] / passed[0] if passed else None

    @property
    def full(self) -> bool:
        """Whether next to nothing was left."""
        busy = self.busy
        return busy is not None and busy >= FULL

    @property
    def sentence(self) -> str:
        """The finding, to follow what went wrong."""
        busy, cores = self.busy, len(os.sched_getaffinity(0))
        if busy is None:
            return f"the machine is too slow, or something hangs; how busy its {cores} cores were is not known"
        told = f"{cores} core{'s were' if cores > 1 else ' was'}"
        if not self.full:
            return f"the machine's {told} only {100.0 * busy:.0f} % busy, so something hangs"
        shares = f"{100.0 * busy:.0f} % busy, {100.0 * self._others():.0f} % with others"
        return f"the machine is too slow: its {told} {shares}"

    def _passed(self) -> tuple[float, float] | None:
        """Time of all cores and their idle time since this was made [s]."""
        now = _all_and_idle(self._books)
        if now is None or self._began is None or now[0] <= self._began[0]:
            return None
        return now[0] - self._began[0], now[1] - self._began[1]

    def _others(self) -> float:
        """Share of all cores' time that went to processes that are not the demo's."""
        passed = self._passed()
        assert passed is not None
        return max(0.0, 1.0 - (passed[1] + _own_time() - self._own) / passed[0])


def _all_and_idle(books: Path) -> tuple[float, float] | None:
    try:
        lines = [line.split() for line in books.read_text(encoding="utf-8").split("\n") if line.startswith("cpu")]
        ours = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        ticks = [[int(word) for word in words[1 : 1 + _COLUMNS]] for words in lines if words[0] in ours]
    except (OSError, ValueError):
        return None
    if not ticks or min(map(len, ticks)) < _COLUMNS:
        return None
    each = 1.0 / os.sysconf("SC_CLK_TCK")
    return each * sum(map(sum, ticks)), each * sum(core[column] for core in ticks for column in _IDLE)


def _own_time() -> float:
    """Of this process and of its children that have ended [s]."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
