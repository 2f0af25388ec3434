# SPDX-License-Identifier: Apache-2.0
"""Shared by all live demos: seed, folder, hidden truth, time-outs, processor shares."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sysid_nodes.cli.demo.live_watch import IdentifyingWatch
from sysid_nodes.cli.demo.machine import Machine
from sysid_nodes.cli.demo.nodes import Nodes
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.exceptions import OverdueError

TICK = 0.2  # between two looks at the screen [s]
STARTING = 240.0  # longest wait for the first reading [s]
_STALLED = 60.0  # longest wait for anything new after it [s]
_SETTLED = 1.0  # after the end, for what is under way [s]
_CATCHING_UP = 120.0  # longest wait for an identifier that is behind [s]


def draw_seed(asked: int | None) -> int:
    """The seed that was asked for, or another one every time."""
    return int.from_bytes(os.urandom(3), "big") if asked is None else asked


@contextmanager
def output_and_work(out: Path) -> Iterator[tuple[Path, Path]]:
    """The folder that becomes `out` on leaving without an error, and one in it that is gone by then."""
    with OutputFolder(out) as folder:
        work = folder / ".live"
        work.mkdir()
        yield folder, work
        shutil.rmtree(work)


def hidden_truth(nodes: Nodes, file: Path) -> Mapping[str, Any]:
    """The simulated robot's hidden truth, once it has been written to a file.

    Raises:
        OverdueError: it does not within STARTING.
        SysidError: a process has ended.
    """
    deadline = time.monotonic() + STARTING
    while not file.exists():
        for _ in nodes.read(TICK):
            pass
        if time.monotonic() > deadline:
            raise OverdueError(f"the simulated robot did not start within {STARTING:g} s")
    found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def wait_until_heard(nodes: Nodes, status: str) -> None:
    """Waits until the recorder hears a node's diagnostics; it would miss the node's first messages otherwise.

    Args:
        status: the node's, in the diagnostics.

    Raises:
        OverdueError: it does not within STARTING.
        SysidError: a process has ended.
    """
    deadline = time.monotonic() + STARTING
    while time.monotonic() < deadline:
        if any(status in line.get("diagnostics", ()) for line in nodes.read(TICK)):
            return
    raise OverdueError(f"nothing was heard of {status.partition(':')[0]} within {STARTING:g} s")


def follow(nodes: Nodes, watch: IdentifyingWatch, show: Callable[[], None], machine: Machine) -> Mapping[str, float]:
    """Takes what the recorder tells until the motion is over and identified.

    Args:
        watch: takes every line.
        show: called with every look.
        machine: takes note of the motion.

    Returns:
        The processes' shares of a core during the motion.

    Raises:
        OverdueError: a reading has been waited for too long.
        SysidError: a process has ended.
    """
    arrivals, usage = Arrivals("reading"), ProcessorShares(nodes, machine)
    over, latest = math.inf, math.inf
    while True:
        for line in nodes.read(TICK):
            watch.take(line)
        now = time.monotonic()
        if watch.finished:
            latest = min(latest, now + _CATCHING_UP)
            behind = watch.waiting and now < latest
            over = math.inf if behind else min(over, now + _SETTLED)
        else:
            arrivals.check(watch.recorded, now)
            if watch.recorded:
                usage.look(now)
        show()
        if now > over:
            return usage.end()


class Arrivals:
    """Gives up where nothing new arrives.

    Args:
        noun: what is waited for, in the singular.
    """

    def __init__(self, noun: str) -> None:
        self._noun, self._count = noun, 0
        self._deadline = time.monotonic() + STARTING

    def check(self, count: int, now: float) -> None:
        """Takes the number that has arrived so far, at a monotonic time [s].

        Raises:
            OverdueError: the first, or another, has been waited for too long.
        """
        if count != self._count:
            self._count, self._deadline = count, now + _STALLED
        if now > self._deadline:
            raise OverdueError(
                f"nothing has arrived for {_STALLED:g} s, after {count} {self._noun}s"
                if count
                else f"no {self._noun} arrived within {STARTING:g} s"
            )


class ProcessorShares:
    """Processor time of every process, this one included, since the first look, with which the motion begins.

    Args:
        machine: takes note of the motion.

    Attributes:
        since: monotonic time of that look [s], or None.
        shares: of one core, by process; empty before the second look.
    """

    def __init__(self, nodes: Nodes, machine: Machine) -> None:
        self._nodes, self._machine = nodes, machine
        self._before: Mapping[str, float] = {}
        self.since: float | None = None
        self.shares: dict[str, float] = {}

    def look(self, now: float) -> None:
        """Takes note at a monotonic time [s]."""
        spent = self._nodes.processor_time() | {"terminal": time.process_time()}
        if self.since is None:
            self.since, self._before = now, spent
            self._machine.begin()
        elif now > self.since:
            self.shares = {name: (x - self._before.get(name, x)) / (now - self.since) for name, x in spent.items()}

    def end(self) -> dict[str, float]:
        """The shares, when the motion is over."""
        self._machine.end()
        return self.shares
