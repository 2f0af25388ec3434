# SPDX-License-Identifier: Apache-2.0
"""One tree of errors; each says in one line what is wrong and carries the data a caller may act on.

A numerical failure is a status in a result; an exception is a mistake of the caller or of the input.
"""

from __future__ import annotations

import errno

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Numbers of an OSError that says that a disk, a quota or a limit is full."""


class SysidError(Exception):
    """Base of every error this package raises on purpose."""


class OverdueError(SysidError):
    """Something did not come in the time it was given: the machine is too slow, or a process hangs."""


class InputError(SysidError):
    """The caller's input is unusable; the command line prints it as one line and exits with status 2.

    Attributes:
        source: the file, topic or argument at fault, or an empty string.
        kind: the message without numbers that are never the same twice: what errors are counted by.
    """

    def __init__(self, message: str, *, source: str = "", kind: str = "") -> None:
        super().__init__(f"{source}: {message}" if source else message)
        self.source = source
        self.kind = kind or message


class ConfigError(InputError):
    """A configuration key is unknown, of a wrong type or out of range."""


class RobotError(InputError):
    """A robot description does not parse, lacks something asked for or is not physical."""


class LogError(InputError):
    """A recorded log cannot be read or does not hold what is needed."""


class SamplesError(InputError):
    """Arrays of samples have wrong shapes, values that are not finite or stamps that do not increase."""


class ExcitationError(InputError):
    """The data are too short or move too little to identify anything."""


class CalibrationError(InputError):
    """A calibration file does not fit the robot or is damaged."""
