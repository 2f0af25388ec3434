"""Demos as processes, for the tests of each."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LONG = 900.0  # [s]; reached only on failure


def _end_with_the_tests() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG; its own children follow by theirs


def sysid(*words: str, **options: Any) -> subprocess.Popen[str]:
    """Starts the command line."""
    return subprocess.Popen(
        [sys.executable, "-m", "sysid_nodes.cli", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_end_with_the_tests, **options,
    )  # fmt: skip


def interrupted(robot: str, folder: Path, word: str, stop: signal.Signals) -> str:
    """Stops a demo once a line has the word; returns what it said on stderr. Checks that nothing is left of it."""
    # in a session of its own, so that Ctrl-C reaches all of it and nobody else, as on a terminal
    process = sysid("demo", robot, "--out", "out", cwd=folder, start_new_session=True)
    try:
        assert process.stdout is not None
        while word not in (line := process.stdout.readline()):
            assert line, process.stderr and process.stderr.read()
        if stop is signal.SIGINT:
            os.killpg(process.pid, stop)
        else:
            process.send_signal(stop)
        _, errors = process.communicate(timeout=LONG)
    finally:
        process.kill()
    assert process.returncode == 130
    assert list(folder.iterdir()) == []
    deadline = time.monotonic() + LONG
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


def check_that_an_orphaned_recorder_drops_its_bag(module: str, folder: Path) -> None:
    """Its parent has closed the pipe."""
    command = [sys.executable, "-m", f"sysid_nodes.ros.{module}", str(folder / "bag")]
    process = subprocess.run(command, input="", capture_output=True, text=True, timeout=LONG, check=False)
    assert process.returncode == 130, process.stderr
    assert list(folder.iterdir()) == []
