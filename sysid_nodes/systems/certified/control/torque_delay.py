# SPDX-License-Identifier: Apache-2.0
"""Delay of torques, measured from a log of commands and of the joint states they answer.

A command carries the stamp of the joint state it was computed from, and a joint state the torque measured at its stamp.
Over short stretches the commands' changes are laid over the readings' at every age up to the longest looked for; that
with the smallest difference is how old the state behind the torque in force was. It is an age, and so an upper bound of
the delay: a torque that acts between two readings is seen at the second. An observation, no bound: what the log has not
held, it says nothing of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError

Array = npt.NDArray[np.float64]

_CLEAR = 0.8
"""A stretch counts if the best age leaves at most this share of what the next but one leaves."""


@dataclass(frozen=True)
class TorqueDelay:
    """Ages of joint states behind torques, as seen in a log.

    Attributes:
        typical, longest, jitter: median, largest, and largest less smallest [s].
        stretches, clear: how many were looked at, and how many told an age.
        period: between two joint states, median [s].
    """

    typical: float
    longest: float
    jitter: float
    stretches: int
    clear: int
    period: float


def measure_delay(
    t: Array, effort: Array, stamps: Array, torque: Array, *, most: float = 0.02, stretch: int = 100
) -> TorqueDelay:
    """Ages over a log.

    Args:
        t: (N,) increasing stamps of joint states [s].
        effort: (N, n) torques measured at them, of any offset [N m].
        stamps: (M,) increasing stamps of the joint states that commands answer [s].
        torque: (M, n) commands [N m].
        most: largest age looked for [s].
        stretch: readings of which one age is told.

    Raises:
        SamplesError: shapes differ, times do not increase, or no stretch tells an age.
    """
    if t.shape != effort.shape[:1] or stamps.shape != torque.shape[:1] or effort.shape[1:] != torque.shape[1:]:
        raise SamplesError(f"torques {effort.shape} at {t.shape} and commands {torque.shape} at {stamps.shape} differ")
    if (np.diff(t) <= 0.0).any() or (np.diff(stamps) <= 0.0).any():
        raise SamplesError("stamps of joint states and of what commands answer must increase")
    if len(t) < stretch + 1 or len(stamps) < 2:
        raise SamplesError(f"{len(t)} joint states and {len(stamps)} commands are too few, {stretch + 1} are the least")
    period = float(np.median(np.diff(t)))
    ages = period * np.arange(round(most / period) + 1)
    seen = np.diff(effort, axis=0)
    left = []
    for age in ages:
        # Half a period of slack: stamps are not told apart more finely than joint states come.
        index = np.searchsorted(stamps, t - age + 0.5 * period) - 1
        asked = np.diff(torque[np.maximum(index, 0)], axis=0)
        # Before the first command whatever holds the robot is no answer to it.
        missed = ((seen - asked) ** 2).sum(axis=1)
        left.append(np.where(index[:-1] >= len(ages), missed, np.nan))
    count = (len(t) - 1) // stretch
    rows = np.array(left)[:, : count * stretch].reshape(len(ages), count, stretch).sum(axis=2)
    found = []
    for column in rows.T[np.isfinite(rows).all(axis=0)]:
        best = int(np.argmin(column))
        others = np.delete(column, [k for k in (best - 1, best, best + 1) if 0 <= k < len(column)])
        if others.size and column[best] < _CLEAR * others.min():
            found.append(ages[best])
    if not found:
        raise SamplesError("no stretch of the log tells how late torques act; it should hold brisk motion")
    return TorqueDelay(float(np.median(found)), max(found), max(found) - min(found), count, len(found), period)
