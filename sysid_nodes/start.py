# SPDX-License-Identifier: Apache-2.0
"""Start of commands and nodes: importing what they need takes a second, and an import that fails ends in one line.

Ctrl-C ends in one line from `load_program` on. Before that it would end in a traceback, so this module imports nothing
that takes time; and a node's executable blocks SIGINT until `load_program` takes it (cmake/executables.cmake).
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NoReturn

INTERRUPTED = 130
"""Exit status after Ctrl-C, as a shell reports it."""

_UNUSABLE = 2
_PACKAGES = {"libgomp.so.1": "libgomp1", "libstdc++.so.6": "libstdc++6"}
"""Debian's, of libraries that wheels from PyPI leave to the system."""


def missing_library(error: BaseException) -> str:
    """A line about the system's library without which a compiled module cannot be imported; empty for other errors."""
    import re

    found = re.match(r"(\S+\.so[.\d]*): cannot open shared object file", str(error))
    if not isinstance(error, ImportError) or found is None:
        return ""
    package = _PACKAGES.get(found[1], "")
    return f"the system lacks the library {found[1]}{f' (Debian: apt install {package})' if package else ''}"


def load_program(module: str, name: str) -> Any:
    """Imports a module; Ctrl-C meanwhile ends the process with one line that begins with the program's name.

    An exception would not do: compiled modules make other errors of it, or pass it over. A library that is missing ends
    it with one line and status 2.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        os.write(2, f"{name}: interrupted\n".encode())
        os._exit(INTERRUPTED)

    takes = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else ignored, as in a script's background
    if takes:
        signal.signal(signal.SIGINT, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    import importlib

    try:
        program = importlib.import_module(module)
    except ImportError as error:
        if not (line := missing_library(error)):
            raise
        sys.stderr.write(f"{name}: error: {line}\n")
        raise SystemExit(_UNUSABLE) from None
    if takes:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return program


def run_program(module: str, name: str) -> NoReturn:
    """Runs the ``main()`` of a node's module and ends the process with the status that it returns.

    Taking a node's libraries apart one by one, as the interpreter does, would be most of what its stop costs. Nobody
    needs that when ``main()`` has returned; what is registered with `atexit` still runs, and no output is lost.
    """
    import atexit
    import gc

    ended: list[int] = []
    atexit.register(_leave, ended)  # registered first, called last
    try:
        ended.append(load_program(module, name).main())
    except KeyboardInterrupt:  # before the program takes it in its own way
        sys.stderr.write(f"{name}: interrupted\n")
        ended.append(INTERRUPTED)
    gc.collect()  # the participant of DDS hangs in a cycle: others would take it for alive until its lease is over
    sys.exit(ended[0])


def _leave(ended: list[int]) -> None:
    """Ends the process at once with the status given; does nothing where there is none, after an exception."""
    if not ended:
        return
    import ctypes

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    ctypes.CDLL(None).fflush(None)  # the file of ROS's log
    os._exit(ended[0])


def sysid() -> int:
    """The command ``sysid``; returns its exit status."""
    status: int = load_program("sysid_nodes.cli.main", "sysid").main()
    return status
