# SPDX-License-Identifier: Apache-2.0
"""Keeps faulty readings out of the constants: after a doubt, the estimate from before it is taken up again."""

from __future__ import annotations

import math
from collections import deque

from sysid_nodes.sessions.prime.horizon import Horizon
from sysid_nodes.systems.prime import Knowledge

_KEEP = 1.6
"""Age of the parameters that are taken up again after a doubt [s]; longer than any fault stays unnoticed."""

_RETRY = 0.5
"""Time in doubt after which the past of the window is dropped [s]."""


class PrimeMemory:
    """Estimates of the constants over the last seconds.

    A fault is in the data for a while before it is found, so that what was known shortly before is not kept. What went
    wrong may be over while its traces in the window's past are not: that past is dropped now and then.
    """

    def __init__(self) -> None:
        self._known: deque[tuple[float, Knowledge]] = deque()
        self._doubted = math.nan

    def note(self, now: float, horizon: Horizon, *, trusted: bool, failed: bool) -> bool:
        """Takes note of an estimate; returns whether the horizon was sent back.

        Args:
            now: time of its newest stage [s].
            horizon: that made it.
            trusted: it may be believed.
            failed: it is not finite.
        """
        if not trusted:
            return self._doubt(now, horizon, failed)
        if not math.isnan(self._doubted):
            self._doubted = math.nan
            self._recall(horizon)
            return True
        if not self._known or now - self._known[-1][0] >= _KEEP / 4.0:
            self._known.append((now, horizon.knowledge))
        while len(self._known) > 1 and self._known[1][0] <= now - _KEEP:
            self._known.popleft()
        return False

    def _doubt(self, now: float, horizon: Horizon, failed: bool) -> bool:
        if math.isnan(self._doubted):
            self._known = deque(entry for entry in self._known if entry[0] <= now - _KEEP / 2.0)
            self._doubted = now
        if not failed and now - self._doubted < _RETRY:
            return False
        self._doubted = now
        self._recall(horizon)
        return True

    def _recall(self, horizon: Horizon) -> None:
        horizon.recall(self._known[0][1] if self._known else None)
