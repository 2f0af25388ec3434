# SPDX-License-Identifier: Apache-2.0
"""The end of a demo: exit status and one line; what a machine that is too slow may have spoilt is said to be that."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

from sysid_nodes.cli.demo.machine import Machine
from sysid_nodes.exceptions import OverdueError

NOT_HELD, NOT_THERE = 1, 4
"""A claim of the demo's own did not hold; stopped, short of the goal or fallen."""


class Ending(NamedTuple):
    """End of a demo.

    Attributes:
        status: of the process; 0: all is well.
        fault: what is not, in a line.
        timing: whether a machine that is too slow may have caused it, and what was proven has nothing to do with it.
    """

    status: int = 0
    fault: str = ""
    timing: bool = False


def exit_status(demo: Callable[[], Ending], machine: Machine) -> int:
    """Runs a demo, writes what is wrong in the end to stderr and returns the exit status.

    Raises:
        OverdueError: it was too slow; the line says how busy the machine was until then, or during the motion.
        SysidError: the demo's own.
    """
    try:
        ending = demo()
    except OverdueError as error:
        raise OverdueError(f"{error}; {machine.so_far.sentence}") from None
    if ending.timing and machine.motion.full:
        raise OverdueError(f"{ending.fault.rstrip('.')}; {machine.motion.sentence}")
    if ending.fault:
        sys.stderr.write(f"sysid: demo: {ending.fault}\n")
    return ending.status
