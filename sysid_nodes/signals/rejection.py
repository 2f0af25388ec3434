# SPDX-License-Identifier: Apache-2.0
"""Reasons not to take a reading: one vocabulary for all streams, as counted in results, diagnostics and logs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

NOT_FINITE, ABSURD_VALUE, WRONG_LENGTH, NOT_A_ROTATION = "not finite", "absurd value", "wrong length", "not a rotation"
"""About the values."""

MISSING_JOINT, REPEATED_JOINT, POSITION_JUMP = "missing joint", "repeated joint", "position jump"
"""About joints."""

TURN_UNKNOWN = "turn unknown after a gap"
"""Why a stream of joint states starts anew."""

ABSURD_STAMP, DUPLICATE_STAMP, BACKWARD_STAMP = "absurd stamp", "duplicate stamp", "backward stamp"
OTHER_CLOCK, LATE = "stamp of another clock", "late"
"""About stamps."""

OLD_READING = "old reading under a new stamp"
"""About values and stamp: of a driver that publishes oftener than it reads, or a recorder that fills in."""

_MOVES = 1e-6
"""Speed from which a position changes in doubles from one stamp to the next [rad/s, deg/s or m/s]."""


GARBAGE = frozenset({NOT_FINITE, ABSURD_VALUE, NOT_A_ROTATION, WRONG_LENGTH})
"""No reading of anything."""


def value_fault(values: npt.NDArray[np.float64], largest: float) -> str:
    """Reason that values cannot be a reading whose components are at most `largest`, or an empty string."""
    if np.vdot(values, values) <= largest * largest:  # of all together, as a rule; false for NaN too
        return ""
    if np.maximum.reduce(np.abs(values), axis=None) <= largest:
        return ""
    return ABSURD_VALUE if np.isfinite(values).all() else NOT_FINITE


def is_stamp(stamp: float) -> bool:
    """Whether a sensor can have meant it [s]; zero is what a driver sends that never filled the header in."""
    return math.isfinite(stamp) and stamp > 0.0


def is_old(values: npt.NDArray[np.float64], before: npt.NDArray[np.float64] | None) -> bool:
    """Whether positions, velocities and efforts, rows of values (3, n), are to the last bit those before, in motion."""
    return before is not None and bool(np.abs(values[1]).max() > _MOVES) and np.array_equal(values, before)
