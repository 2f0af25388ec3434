# SPDX-License-Identifier: Apache-2.0
"""Rate of the robot's time beside the machine's: a robot in lockstep waits for whoever computes."""

from __future__ import annotations

from collections import deque

from sysid_nodes.data.nanoseconds import SECOND

_WINDOW = 1.0  # of the machine's time that is looked back over [s]
_LEAST = 0.3  # of it, before anything is said [s]
_SPACING = 0.05  # of the stamps that are kept [s]
_SLOWEST = 0.02
_FASTEST = 100.0  # the robot's seconds in one of the machine's, beyond which its clock was set anew
_JUMP = 10.0  # [s] that a clock may jump by besides


class Pace:
    """Stamps of the robot and when they arrived.

    Attributes:
        rate: the robot's seconds in one of the machine's lately; 1 until it is known.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Starts over."""
        self._heard: deque[tuple[int, float]] = deque()
        self._last = (0, 0.0)
        self.rate = 1.0

    def note_stamp(self, stamp: int, arrived: float) -> None:
        """Takes a stamp [ns] and the machine's time when it arrived [s]; a stamp of zero is none."""
        if stamp <= 0:
            return
        ahead = 1e-9 * (stamp - self._last[0])
        if self._heard and not 0.0 <= ahead <= _FASTEST * (arrived - self._last[1]) + _JUMP:
            self.forget()  # another clock
        self._last = (stamp, arrived)
        if self._heard and arrived - self._heard[-1][1] < _SPACING:
            return
        self._heard.append(self._last)
        while len(self._heard) > 1 and arrived - self._heard[1][1] >= _WINDOW:
            self._heard.popleft()
        first, begun = self._heard[0]
        if arrived - begun >= _LEAST:
            self.rate = max(_SLOWEST, 1e-9 * (stamp - first) / (arrived - begun))

    def now(self, time: float) -> int:
        """Stamp of the present [ns], the machine's time being ``time`` [s]; 0 before the first."""
        if not self._heard:
            return 0
        stamp, arrived = self._last
        return stamp + round(SECOND * self.rate * (time - arrived))
