# SPDX-License-Identifier: Apache-2.0
"""Tests of a tree, in a process forked from this one: libraries are loaded once, the tree's own modules each time."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

_OWN = ("sysid_nodes", "benchmarks", "test", "shared", "conftest")
_IDLE = 10.0
"""A process that sleeps uses no processor: it may take this many times its limit of time by the clock."""
_MEMORY = 8 << 30
"""Of a process with a limit: more is a mistake [bytes]."""


class _Order:
    """Runs tests in the order of how long they took before, and writes down how long they take.

    Args:
        durations: file of seconds by test.
    """

    def __init__(self, durations: Path) -> None:
        self._file = durations
        self._known: dict[str, float] = json.loads(durations.read_text()) if durations.exists() else {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self._known.get(item.nodeid, 1.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._known[report.nodeid] = report.duration

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if not exitstatus:
            self._file.write_text(json.dumps(self._known))


def run(folder: Path, paths: Sequence[str], durations: Path, limit: float | None) -> bool:
    """Whether all tests pass.

    Args:
        folder: of the tree.
        paths: of the tests in it.
        durations: file of their times, read and, if they pass, written.
        limit: of the processor's time [s]; None: none.
    """
    words = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *paths]

    def tests() -> int:
        enter(folder)
        return int(pytest.main(words, plugins=[_Order(durations)]))

    return succeeds(tests, limit)


def succeeds(work: Callable[[], int], limit: float | None) -> bool:
    """Whether work returns 0 in a fork of this process.

    Args:
        work: silent, whatever it prints.
        limit: of the processor's time [s]; None: none.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
                resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            status = work()
        finally:
            os._exit(status)
    begun = time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        if limit is not None and time.monotonic() - begun > _IDLE * limit:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return False
        time.sleep(0.02)


def enter(folder: Path) -> None:
    """Makes the tree's own modules those that this process imports from now on."""
    os.chdir(folder)
    for name in [name for name in sys.modules if name.split(".")[0] in _OWN]:
        del sys.modules[name]
    sys.dont_write_bytecode = True
    sys.path[:] = [str(folder), *(path for path in sys.path if Path(path or ".").resolve() != folder)]
    os.environ["PYTHONPATH"] = str(folder)
