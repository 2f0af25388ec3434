# SPDX-License-Identifier: Apache-2.0
"""Start of commands and nodes: importing what they need takes a second, in which Ctrl-C has to end in one line, too."""

from __future__ import annotations

import importlib
import os
import signal
from types import FrameType
from typing import Any

INTERRUPTED = 130
"""Exit status after Ctrl-C, as a shell reports it."""


def load_program(module: str, name: str) -> Any:
    """Imports a module; Ctrl-C meanwhile ends the process with one line that begins with the program's name.

    An exception would not do: compiled modules make other errors of it, or pass it over.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        os.write(2, f"{name}: interrupted\n".encode())
        os._exit(INTERRUPTED)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, as in the background of a script
        return importlib.import_module(module)
    signal.signal(signal.SIGINT, stop)
    program = importlib.import_module(module)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return program


def sysid() -> int:
    """The command ``sysid``; returns its exit status."""
    status: int = load_program("sysid_nodes.cli.main", "sysid").main()
    return status
