# SPDX-License-Identifier: Apache-2.0
"""Shared by all live demos: seed, folder, hidden truth, time-outs, processor shares."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sysid_nodes.cli.demo.nodes import Nodes
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.exceptions import SysidError

TICK = 0.2  # between two looks at the screen [s]
STARTING = 90.0  # longest wait for the first reading [s]
_STALLED = 60.0  # longest wait for anything new after it [s]


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
        SysidError: it does not within STARTING.
    """
    deadline = time.monotonic() + STARTING
    while not file.exists():
        for _ in nodes.read(TICK):
            pass
        if time.monotonic() > deadline:
            raise SysidError(f"the simulated robot did not start within {STARTING:g} s")
    found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


class Arrivals:
    """Gives up where nothing new arrives.

    Args:
        noun: what is waited for, one of it.
    """

    def __init__(self, noun: str) -> None:
        self._noun, self._count = noun, 0
        self._deadline = time.monotonic() + STARTING

    def check(self, count: int, now: float) -> None:
        """Takes the number that has arrived so far, at a monotonic time [s].

        Raises:
            SysidError: the first, or another, has been waited for too long.
        """
        if count != self._count:
            self._count, self._deadline = count, now + _STALLED
        if now > self._deadline:
            raise SysidError(
                f"nothing has arrived for {_STALLED:g} s, after {count} {self._noun}s"
                if count
                else f"no {self._noun} arrived within {STARTING:g} s"
            )


class ProcessorShares:
    """Processor time of every process, this one included, since the first look.

    Attributes:
        since: monotonic time of that look [s], or None.
        shares: of one core, by process; empty before the second look.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._before: Mapping[str, float] = {}
        self.since: float | None = None
        self.shares: dict[str, float] = {}

    def look(self, now: float) -> None:
        """Takes note at a monotonic time [s]."""
        spent = self._nodes.processor_time() | {"terminal": time.process_time()}
        if self.since is None:
            self.since, self._before = now, spent
        elif now > self.since:
            self.shares = {name: (x - self._before.get(name, x)) / (now - self.since) for name, x in spent.items()}
