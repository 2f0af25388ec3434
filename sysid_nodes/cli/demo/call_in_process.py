# SPDX-License-Identifier: Apache-2.0
"""Work in a process of its own, beside what a demo does meanwhile."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from sysid_nodes.exceptions import SysidError
from sysid_nodes.solvers.threads import use_one_blas_thread

T = TypeVar("T")

_PATIENCE = 60.0
"""For a process whose pipe is closed, or that was killed, to be gone [s]."""


@contextmanager
def call_in_process(function: Callable[..., T], *arguments: Any) -> Iterator[Callable[[], T]]:
    """Has another process call a function; what is yielded waits for the result, or raises the SysidError.

    On leaving, however that comes about, the process has ended.

    Args:
        function: of a module; what it takes and returns can be pickled.
    """
    context = get_context("spawn")  # a fork would inherit locks of libraries' threads
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(theirs, function, arguments), daemon=True)
    resource_tracker.ensure_running()  # whose own start would lift the mask
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited: imports would end with a traceback
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    theirs.close()

    def result() -> T:
        try:
            found, error = ours.recv()
        except EOFError:
            process.join(_PATIENCE)
            raise SysidError(f"'{function.__name__}' ended with status {process.exitcode}") from None
        if error:
            raise SysidError(error)
        outcome: T = found
        return outcome

    try:
        yield result
    finally:
        process.kill()
        process.join(_PATIENCE)
        ours.close()


def _call(pipe: Connection, function: Callable[..., T], arguments: tuple[Any, ...]) -> None:
    """The process; an interrupt ends it without a word, the demo has one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    use_one_blas_thread()
    try:
        pipe.send((function(*arguments), ""))
    except SysidError as error:
        pipe.send((None, str(error)))
