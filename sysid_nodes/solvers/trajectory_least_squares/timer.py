# SPDX-License-Identifier: Apache-2.0
"""A time limit against the caller's clock."""

from __future__ import annotations

from collections.abc import Callable

from sysid_nodes.exceptions import SamplesError


class Timer:
    """Elapsed time, and whether another iteration as long as the longest so far would end in time.

    Args:
        clock: monotonic time [s], or None.
        limit: [s]; 0 for none.
        also: another one that may be up sooner.

    Attributes:
        stopped: whether it has said that it is up.

    Raises:
        SamplesError: a limit without a clock.
    """

    def __init__(self, clock: Callable[[], float] | None, limit: float, also: Timer | None = None) -> None:
        if limit > 0.0 and clock is None:
            raise SamplesError("a time limit needs a clock")
        self._clock, self._limit, self._also = clock, limit, also
        self._start = self._last = 0.0 if clock is None else clock()
        self._longest = 0.0
        self.stopped = False

    def elapsed(self) -> float:
        """Since construction [s]; zero without a clock."""
        return 0.0 if self._clock is None else self._clock() - self._start

    def is_up(self, more: int = 1) -> bool:
        """Whether the next iterations, one or more, would end too late; to be asked once an iteration."""
        up = self._also is not None and self._also.is_up(more)
        if self._clock is not None and self._limit > 0.0:
            now = self._clock()
            self._longest, self._last = max(self._longest, now - self._last), now
            up = up or now - self._start + more * self._longest > self._limit
        self.stopped = self.stopped or up
        return up
