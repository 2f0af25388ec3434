# SPDX-License-Identifier: Apache-2.0
"""Processes that tests start: none outlives the tests, and nobody waits for one for ever."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LIMIT = 300.0
"""Longest wait for a process to say something or to end [s]; reached only on failure."""

_FOLLOW = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, kept over exec
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def start(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Starts Python with a command line; the process is killed when this one ends, however that happens.

    Not by a `preexec_fn`: that runs in a copy of this process, in which any of the locks that DDS's threads held at the
    moment is held for ever.

    Args:
        words: of the command line, without the interpreter.
        options: of Popen.
    """
    command = [sys.executable, "-I", "-S", "-c", _FOLLOW, *map(str, words)]
    return subprocess.Popen(command, text=True, **options)


def start_heard(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """The same, with what it says on stdout and stderr kept."""
    return start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def finish(process: subprocess.Popen[str], limit: float = LIMIT) -> tuple[str, str]:
    """Output of a process on stdout and stderr when it has ended by itself.

    Raises:
        AssertionError: it has not within the limit [s]; it is killed.
    """
    try:
        out, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate(timeout=LIMIT)
        message = f"still runs after {limit:g} s: {' '.join(process.args[5:])}\n{(out or '')[-2000:]}{(errors or '')}"
        raise AssertionError(message) from None
    return out or "", errors or ""


def run(*words: str | Path, limit: float = LIMIT, **options: Any) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a command line."""
    process = start_heard(*words, **options)
    out, errors = finish(process, limit)
    return process.returncode, out, errors


def kill(*processes: subprocess.Popen[str]) -> None:
    """Ends processes, those that have ended already included."""
    for process in processes:
        process.kill()
    for process in processes:
        process.communicate(timeout=LIMIT)


def await_word(process: subprocess.Popen[str], word: str, limit: float = LIMIT) -> None:
    """Waits until a process has said a word on stdout.

    Raises:
        AssertionError: it has ended, or has not within the limit [s].
    """
    pipe, said, deadline = process.stdout, "", time.monotonic() + limit
    assert pipe is not None
    while word not in said:
        left = deadline - time.monotonic()
        assert left > 0.0, f"'{word}' was not said within {limit:g} s, but: {said[-2000:]}"
        if select.select([pipe], [], [], left)[0]:
            chunk = os.read(pipe.fileno(), 65536)
            assert chunk, f"ended without saying '{word}', but: {said[-2000:]}{finish(process)[1]}"
            said += chunk.decode()
