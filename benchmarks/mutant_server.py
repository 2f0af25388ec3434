# SPDX-License-Identifier: Apache-2.0
"""A process that has collected all tests and judges each mutant in a fork of itself: nothing is imported again.

A mutant's functions take the place of the original's (mutant_patch.py). Where that is not the same as importing it, as
it changes what happens on import, or a function that ran while tests were collected, the server says that it cannot
tell. Before, each test is run by itself in a fork, which tells its time and the functions that it calls: a mutant is
shown to those alone that call what it changes, the quickest first, until one fails.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing as mp
import sys
import time
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest

from benchmarks.mutant_patch import Key, changes, functions, key, only_functions, patch
from benchmarks.mutant_run import enter, succeeds

GRACE, PATIENCE = 10.0, 3.0
"""A mutant may take so much [s], and this many times the processor of the original, before it counts as killed."""

_LONGEST = 4.0 * 3600.0
"""Of an answer, of which the first takes as long as all tests by themselves [s]."""


class Trees(NamedTuple):
    """Work of a server.

    Attributes:
        folder: copy of the working tree.
        files: that are mutated, below sysid_nodes/.
        tests: files, below test/.
        traces: file that keeps those of tests from run to run; None: none.
    """

    folder: Path
    files: Sequence[str]
    tests: Sequence[str]
    traces: Path | None


class Trace(NamedTuple):
    """Of a test by itself: the processor's time that it takes [s], and the mutated files' functions that it calls."""

    duration: float
    calls: frozenset[Key]


class Server:
    """Judges mutants.

    Args:
        trees: of what.

    Attributes:
        durations: of the tests as they are, by name, of a processor [s].

    Raises:
        RuntimeError: a test fails as it is.
    """

    def __init__(self, trees: Trees) -> None:
        self._pipe, theirs = mp.Pipe()
        self._process = mp.get_context("fork").Process(target=_serve, args=(self._pipe, theirs, trees))
        self._process.start()
        theirs.close()
        answer = self._answer()
        if isinstance(answer, str):
            raise RuntimeError(answer)
        self.durations: dict[str, float] = answer

    def judge(self, file: str, source: str, mutated: str, tests: Sequence[str], most: float = np.inf) -> str | None:
        """`killed`, `survived`, or None where only an import can tell, or more tests.

        Args:
            file: below sysid_nodes/.
            source, mutated: its text.
            tests: files below test/ that may be run.
            most: time of a processor that tests take together, as they are; of more the quickest are run [s].
        """
        self._pipe.send((file, source, mutated, tuple(tests), most))
        fate: str | None = self._answer()
        return fate

    def close(self) -> None:
        """Ends the process."""
        self._pipe.close()
        self._process.join(GRACE)
        self._process.kill()

    def _answer(self) -> Any:
        try:
            if not self._pipe.poll(_LONGEST):
                raise RuntimeError(f"the process that runs the tests has not answered within {_LONGEST:.0f} s")
            return self._pipe.recv()
        except EOFError:
            raise RuntimeError("the process that runs the tests has ended") from None


def _serve(theirs: Connection, pipe: Connection, trees: Trees) -> None:
    theirs.close()
    enter(trees.folder)
    plugin = _Plugin(pipe, trees)
    sys.setprofile(plugin.see)
    words = ["-x", "-s", "-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist"]
    pytest.main([*words, *(f"test/{name}" for name in trees.tests)], plugins=[plugin])


class _Plugin:
    """Takes over where pytest would run what it has collected."""

    def __init__(self, pipe: Connection, trees: Trees) -> None:
        self._pipe, self._trees = pipe, trees
        self._called = set[CodeType]()
        self._imported: set[Key] = set()
        self._live: dict[Key, list[FunctionType]] = {}
        self._traces: dict[str, Trace] = {}

    def see(self, frame: FrameType, event: str, _: object) -> None:
        """Notes what is called."""
        if event == "call":
            self._called.add(frame.f_code)

    def _calls(self) -> set[Key]:
        """Of the mutated files' functions since the last time."""
        found = {key(code) for code in self._called}
        self._called = set()
        return {one for one in found if one[0] in self._trees.files}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Shrinking what makes a test fail is for people."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate, Phase.target)
        settings.register_profile("mutants", settings(), phases=phases)
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serves until nobody asks any more."""
        sys.setprofile(None)
        self._imported, self._live = self._calls(), functions(self._trees.files)
        error = self._trace_all(session)
        self._pipe.send(error or {name: trace.duration for name, trace in self._traces.items()})
        while not error:
            try:
                mutant = self._pipe.recv()
            except EOFError:
                break
            self._pipe.send(self._judge(session, *mutant))
        return True

    def _judge(
        self, session: pytest.Session, file: str, source: str, mutated: str, tests: Sequence[str], most: float
    ) -> str | None:
        try:
            found = changes(source, mutated, str(self._trees.folder / "sysid_nodes" / file))
        except SyntaxError:
            return "killed"
        changed = {key(one.old) for one in found if one.own}
        if changed & self._imported or not only_functions(found):
            return None
        calling = [
            (self._traces[item.nodeid].duration, k, item)
            for k, item in enumerate(session.items)
            if changed & self._traces[item.nodeid].calls and _file(item) in tests
        ]
        took = list(accumulate(duration for duration, _, _ in sorted(calling)))
        count = bisect_right(took, most)

        def run() -> int:
            patch(found, self._live)
            return _run(session, [item for _, _, item in sorted(calling)[:count]])

        if count and not succeeds(run, GRACE + PATIENCE * took[count - 1]):
            return "killed"
        return "survived" if count == len(calling) else None

    def _trace_all(self, session: pytest.Session) -> str:
        """Traces every test but those that are known; returns what is wrong, empty if nothing is."""
        path, digests = self._trees.traces, _digests(self._trees)
        known = json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else {}
        for item in session.items:
            if known.get(item.nodeid, {}).get("of") != digests[_file(item)]:
                if (record := self._trace(session, item)) is None:
                    return f"{item.nodeid} fails as it is"
                known[item.nodeid] = {**record, "of": digests[_file(item)]}
                if path is not None:
                    path.write_text(json.dumps(known), encoding="utf-8")
            record = known[item.nodeid]
            calls = frozenset((str(file), str(name), int(line)) for file, name, line in record["calls"])
            self._traces[item.nodeid] = Trace(record["duration"], calls)
        return ""

    def _trace(self, session: pytest.Session, item: pytest.Item) -> dict[str, Any] | None:
        """A test's trace for JSON; None if it fails."""
        told = self._trees.folder / "trace.json"

        def run() -> int:
            sys.setprofile(self.see)
            status = _run(session, [item])
            sys.setprofile(None)
            told.write_text(json.dumps({"duration": time.process_time(), "calls": sorted(self._calls())}))
            return status

        return json.loads(told.read_text()) if succeeds(run, None) else None


def _run(session: pytest.Session, items: list[pytest.Item]) -> int:
    """Runs tests as pytest does; 0 if none failed."""
    for k, item in enumerate(items):
        following = items[k + 1] if k + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


def _file(item: pytest.Item) -> str:
    """Below test/."""
    return item.nodeid.split("::")[0].removeprefix("test/")


def _digests(trees: Trees) -> dict[str, str]:
    """Of what a test file's traces depend on, by file: an old trace costs no more than a survivor that is none."""
    folder = trees.folder
    files, shared = (folder / "sysid_nodes" / name for name in trees.files), folder.glob("test/shared/*.py")
    common = hashlib.sha256()
    for path in sorted([*files, *shared, folder / "test" / "conftest.py"]):
        common.update(path.read_bytes())
    found = {}
    for name in trees.tests:
        own = common.copy()
        own.update((folder / "test" / name).read_bytes())
        found[name] = own.hexdigest()
    return found
