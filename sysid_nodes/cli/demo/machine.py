# SPDX-License-Identifier: Apache-2.0
"""Load of the machine that a demo runs on, by the kernel's books: until now, and over the motion alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FULL = 0.9
"""Share of the cores' time from which on somebody waits for a core now and then."""

_IDLE = (3, 4)  # columns of /proc/stat: idle, and waiting for a disk
_COLUMNS = 8  # the others are parts of these
_PARENT, _TIMES = 1, slice(11, 15)  # of /proc/PID/stat, behind the name; the times: its own and its ended children's


class Load(NamedTuple):
    """Of the cores on which this process may run, over some time.

    Attributes:
        busy: share of all cores' time that somebody computed; None where the kernel does not tell.
        others: share that went to processes that are not the demo's.
        cores: how many.
    """

    busy: float | None
    others: float
    cores: int

    @property
    def full(self) -> bool:
        """Whether next to nothing was left."""
        return self.busy is not None and self.busy >= FULL

    @property
    def sentence(self) -> str:
        """The finding, to follow what went wrong."""
        if self.busy is None:
            return f"the machine is too slow, or something hangs; how busy its {self.cores} cores were is not known"
        told = f"{self.cores} core{'s were' if self.cores > 1 else ' was'}"
        if not self.full:
            return f"the machine's {told} only {100.0 * self.busy:.0f} % busy, so something hangs"
        shares = f"{100.0 * self.busy:.0f} % busy, {100.0 * self.others:.0f} % with others"
        return f"the machine is too slow: its {told} {shares}"


class _Spent(NamedTuple):
    """Processor time so far [s]: all cores' and their idle time, and that of the demo's own processes."""

    cores: float
    idle: float
    own: float


class Machine:
    """Takes note of processor time, from the moment this is made.

    Args:
        books: as /proc/stat has it.
    """

    def __init__(self, books: Path = Path("/proc/stat")) -> None:
        self._books = books
        self._made = self._cpu_times()
        self._motion = [self._made]

    def begin(self) -> None:
        """Takes note that the motion begins."""
        self._motion = [self._cpu_times()]

    def end(self) -> None:
        """Takes note that it is over."""
        self._motion[1:] = [self._cpu_times()]

    @property
    def motion(self) -> Load:
        """Of the motion alone: the report that follows keeps any machine busy. Of one that never began, all before."""
        return _load(self._motion)

    @property
    def so_far(self) -> Load:
        """Since this was made."""
        return _load([self._made, self._cpu_times()])

    def _cpu_times(self) -> _Spent | None:
        try:
            lines = [line.split() for line in self._books.read_text(encoding="utf-8").split("\n")]
            ours = {f"cpu{core}" for core in os.sched_getaffinity(0)}
            ticks = [[int(word) for word in words[1 : 1 + _COLUMNS]] for words in lines if words and words[0] in ours]
        except (OSError, ValueError):
            return None
        if not ticks or min(map(len, ticks)) < _COLUMNS:
            return None
        each = 1.0 / os.sysconf("SC_CLK_TCK")
        return _Spent(each * sum(map(sum, ticks)), each * sum(core[i] for core in ticks for i in _IDLE), _own_time())


def _load(notes: Sequence[_Spent | None]) -> Load:
    cores = len(os.sched_getaffinity(0))
    first, last = notes if len(notes) == 2 else (None, None)
    if first is None or last is None or last.cores <= first.cores:
        return Load(None, 0.0, cores)
    cores_time, idle, own = (after - before for before, after in zip(first, last, strict=True))
    return Load(1.0 - idle / cores_time, max(0.0, 1.0 - (idle + own) / cores_time), cores)


def _own_time() -> float:
    """Of this process, its children, theirs, and those of them that have ended [s]."""
    fields = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields[file.parent.name] = file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
    ours = {str(os.getpid())}
    while more := {process for process, its in fields.items() if its[_PARENT] in ours} - ours:
        ours |= more
    ticks = sum(int(word) for process in ours for word in fields.get(process, ())[_TIMES])
    return ticks / os.sysconf("SC_CLK_TCK")
