# SPDX-License-Identifier: Apache-2.0
"""Time from a robot's millisecond counter, as Unitree's LowState has instead of a stamp.

The counter is exact and monotonic but has its own zero; arrival times have the right zero but jitter. A message cannot
arrive before it was sent, so the smallest difference seen lately is the zero's offset plus the shortest transport time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from sysid_nodes.data.config import option

_WRAP = 1 << 32
_TICK = 1e-3


@dataclass(frozen=True)
class TickClockConfig:
    """How a tick becomes a time."""

    memory: float = option(10.0, "how long a short transport time is remembered", unit="s", minimum=0.1)
    transport: float = option(0.0, "shortest transport time, taken off every stamp", unit="s", minimum=0.0)
    slew: float = option(
        2e-3, "how fast the offset may change, per second of the counter", unit="1", minimum=0.0, maximum=0.5
    )
    settling: float = option(1.0, "time after a start in which it may change by half a second a second", unit="s")
    max_jump: float = option(1.0, "a counter that runs ahead or back by more was reset", unit="s", minimum=0.01)


class TickClock:
    """Turns ticks into times of the receiver's clock. Times rise as ticks do, whatever the arrivals do.

    Attributes:
        resets: times the counter started anew.
        offset: time of the first tick since the last reset, as applied now [s].
    """

    def __init__(self, config: TickClockConfig | None = None) -> None:
        self._config = config or TickClockConfig()
        self._last: tuple[int, float] | None = None
        self._seconds = 0.0
        self._shortest: deque[tuple[float, float]] = deque()
        self.offset = 0.0
        self.resets = 0

    def time(self, tick: int, arrival: float) -> float:
        """Time at which a message was sent [s].

        Args:
            tick: counter [ms], modulo 2^32.
            arrival: when it arrived, in the receiver's clock [s].
        """
        if self._last is None:
            return self._restart(tick, arrival)
        last, last_arrival = self._last
        # The nearest of all counts that are equal modulo 2^32.
        step = _TICK * ((tick - last + _WRAP // 2) % _WRAP - _WRAP // 2)
        if step < -self._config.max_jump or step > max(arrival - last_arrival, 0.0) + self._config.max_jump:
            self.resets += 1
            return self._restart(tick, arrival)
        if step <= 0.0:
            return self._seconds + step + self.offset - self._config.transport
        self._seconds += step
        self._last = (tick, arrival)
        self._follow(arrival, step)
        return self._seconds + self.offset - self._config.transport

    def _restart(self, tick: int, arrival: float) -> float:
        # Seconds count from the first tick, so that they keep their resolution.
        self._last = (tick, arrival)
        self._seconds = 0.0
        self._shortest.clear()
        self.offset = arrival
        self._shortest.append((0.0, arrival))
        return arrival - self._config.transport

    def _follow(self, arrival: float, step: float) -> None:
        """Moves the offset towards the smallest difference in memory, slower than the counter runs."""
        difference = arrival - self._seconds
        while self._shortest and self._shortest[-1][1] >= difference:
            self._shortest.pop()
        self._shortest.append((self._seconds, difference))
        while self._shortest[0][0] < self._seconds - self._config.memory:
            self._shortest.popleft()
        settling = self._seconds < self._config.settling
        most = step * (0.5 if settling else self._config.slew)
        self.offset += min(max(self._shortest[0][1] - self.offset, -most), most)
