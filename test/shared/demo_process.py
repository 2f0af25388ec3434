# SPDX-License-Identifier: Apache-2.0
"""Demos as processes, for the tests of each."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from shared import children

LONG = 600.0
"""Longest wait for a demo or a replay [s]; reached only on failure."""


def sysid(*words: str, **options: Any) -> subprocess.Popen[str]:
    """Starts the command line; its own processes end with it."""
    return children.start_heard("-m", "sysid_nodes.cli", *words, **options)


DEMO_FILES = {
    "bag",
    "config.yaml",
    "report.html",
    "result.json",
    "result.mcap",
    "scene.json",
    "series.npz",
    "truth",
}
"""Files that a demo with hidden constants leaves, those of its replay included."""


_WITHOUT_FIGURES = """
import sys
from matplotlib.figure import Figure
Figure.draw = lambda *_: None  # see blank_figures
from sysid_nodes.start import sysid
sys.exit(sysid())
"""


def run_demo(*words: str, folder: Path) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a demo that ends by itself and writes to folder/out, its figures empty."""
    return children.run("-c", _WITHOUT_FIGURES, "demo", *words, "--out", "out", limit=LONG, cwd=folder)


def interrupt_demo(robot: str, folder: Path, word: str, stop: signal.Signals) -> str:
    """Stops a demo once it has said the word; returns what it said on stderr. Checks that nothing is left of it."""
    # in a session of its own, so that Ctrl-C reaches all of it and nobody else, as on a terminal
    process = sysid("demo", robot, "--out", "out", cwd=folder, start_new_session=True)
    try:
        children.await_word(process, word, LONG)
        if stop is signal.SIGINT:
            os.killpg(process.pid, stop)
        else:
            process.send_signal(stop)
        _, errors = children.finish(process)
    finally:
        process.kill()
    assert process.returncode == 130
    assert list(folder.iterdir()) == []
    deadline = time.monotonic() + children.LIMIT
    while _members(process.pid):
        assert time.monotonic() < deadline, "a process outlives the demo"
        time.sleep(0.05)
    return errors


def _members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def check_that_an_orphaned_recorder_drops_its_bag(
    system: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> None:
    """Its parent has closed the pipe; in this process, which has imported most of it already."""
    reading, writing = os.pipe()
    os.close(writing)
    module = f"sysid_nodes.ros.{system}.recorder"
    monkeypatch.setattr("sysid_nodes.ros.recording._STDIN", reading)
    monkeypatch.setattr("sys.argv", [module, str(folder / "bag"), *arguments])
    monkeypatch.delitem(sys.modules, module, raising=False)
    try:
        with pytest.raises(SystemExit, match="130"):
            runpy.run_module(module, run_name="__main__")
    finally:
        os.close(reading)
    assert list(folder.iterdir()) == []
