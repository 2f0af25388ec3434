# SPDX-License-Identifier: Apache-2.0
"""Finds the faults of a stream of readings, from its stamps, its values and the rejected readings.

A reading that is plausible by itself and yet wrong is not seen here; that takes a model.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import option
from sysid_nodes.signals.channel_config import ChannelConfig
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.rejection import ABSURD_STAMP, DUPLICATE_STAMP, GARBAGE, LATE, OTHER_CLOCK

Array = npt.NDArray[np.float64]

_FEWEST = 5
"""Readings needed before a rate, a lag or a stuck value is judged."""


class StreamFault(str, Enum):
    """Faults of a stream; serves as the `kind` of a Finding."""

    OFF = "off"
    STUCK = "stuck"
    GARBAGE = "garbage"
    SLOW = "slow"
    DELAYED = "delayed"
    INTERMITTENT = "intermittent"
    CLOCK = "clock"
    OFFSET = "offset"


@dataclass(frozen=True)
class StreamHealthConfig:
    """When a stream counts as faulty."""

    memory: float = option(1.0, "how far back a stream is judged", unit="s", minimum=0.05, maximum=60.0)
    off_after: float = option(0.25, "silence after which a stream is off", unit="s", minimum=0.01)
    stuck_after: float = option(
        0.5, "time without any change after which a stream is stuck; 0: never", unit="s", minimum=0.0
    )
    garbage_share: float = option(0.05, "share of garbage that is a finding", unit="1", minimum=0.0, maximum=1.0)
    late_share: float = option(0.2, "share of late readings that is a finding", unit="1", minimum=0.0, maximum=1.0)
    slow_below: float = option(0.7, "share of the stated rate that is still enough", unit="1", minimum=0.0, maximum=1.0)
    lost_share: float = option(
        0.1, "share of time in gaps longer than the stream's max_gap that is a finding", unit="1", minimum=0.0
    )
    offset: float = option(
        0.01,
        "lag of a stream behind another that sees the same motion that is a finding, beyond three standard deviations"
        " of delays that are estimated; 0: none",
        unit="s",
        minimum=0.0,
    )
    ahead: float = option(0.03, "how far stamps may be ahead of the other streams'", unit="s", minimum=0.0)


def silence_finding(name: str, time: float, rejected: Mapping[str, int]) -> Finding:
    """The finding about a stream without any usable reading so far, with the reasons."""
    sent = ", ".join(f"{count} x {reason}" for reason, count in rejected.items())
    line = f"has sent nothing usable ({sent})" if sent else "has sent nothing"
    return Finding(StreamFault.OFF, name, time, f"stream '{name}' {line}")


class StreamHealth:
    """Watches one stream. Times are in the streams' common clock; `now` is how far that clock is known to be.

    Args:
        name: of the stream, for the findings.
        channel: assumptions about it.
        start: time from which readings are expected [s].
    """

    def __init__(self, name: str, channel: ChannelConfig, config: StreamHealthConfig, start: float) -> None:
        self._name, self._channel, self._config, self._start = name, channel, config, start
        most = int(min(4.0 * channel.rate * config.memory + 16.0, 20_000.0))
        self._times: deque[float] = deque(maxlen=most)  # of readings that were taken, and the clock when they came [s]
        self._clocks: deque[float] = deque(maxlen=most)
        self._rejected: deque[tuple[float, str]] = deque(maxlen=most)
        self._value: Array | None = None
        self._changed = (0.0, 0)
        self._count = 0
        self._heard = start

    def accept(self, time: float, value: Array, now: float) -> None:
        """Takes a reading that was true at a time [s] and arrived when the clock stood at `now` [s]."""
        while self._clocks and self._clocks[0] < now - self._config.memory:
            self._times.popleft()
            self._clocks.popleft()
        self._times.append(time)
        self._clocks.append(now)
        self._heard = max(self._heard, now)
        self._count += 1
        last = self._value
        if last is None or value[0] != last[0] or not (value == last).all():  # most differ in the first number
            self._value, self._changed = value, (time, self._count)

    def reject(self, reason: str, now: float) -> None:
        """Takes note of a reading that was not taken."""
        self._rejected.append((now, reason))
        self._heard = max(self._heard, now)

    def judge(self, now: float) -> list[Finding]:
        """Present findings, the gravest first; a stream without findings may be trusted so far."""
        config = self._config
        since = now - config.memory
        clock = np.fromiter(self._clocks, dtype=np.float64)
        times, clock = np.fromiter(self._times, dtype=np.float64)[clock >= since], clock[clock >= since]
        rejected = Counter(reason for at, reason in self._rejected if at >= since)
        total = len(times) + sum(rejected.values())
        if (silent := now - self._heard) > config.off_after:
            return [self._finding(StreamFault.OFF, self._heard, f"has been silent for {silent:.2f} s")]
        findings = []
        if (garbage := sum(rejected[reason] for reason in GARBAGE)) > config.garbage_share * total:
            named = ", ".join(sorted(GARBAGE & set(rejected)))
            line = f"has {garbage} of {total} readings that are garbage ({named})"
            findings.append(self._finding(StreamFault.GARBAGE, now, line))
        if (strange := rejected[OTHER_CLOCK] + rejected[ABSURD_STAMP]) > config.late_share * total:
            line = f"has {strange} of {total} stamps that are of another clock or of none"
            findings.append(self._finding(StreamFault.CLOCK, now, line))
        if rejected[DUPLICATE_STAMP] and not len(times):
            findings.append(self._finding(StreamFault.CLOCK, now, "has stamps that do not advance"))
        if rejected[LATE] > config.late_share * total:
            line = f"has {rejected[LATE]} of {total} readings that came after their step was closed"
            findings.append(self._finding(StreamFault.DELAYED, now, line))
        if len(times) >= _FEWEST:
            findings += self._find_stuck(times) + self._ahead(times, clock) + self._rate(times, now)
        return findings

    def _finding(self, fault: StreamFault, time: float, line: str) -> Finding:
        return Finding(fault, self._name, time, f"stream '{self._name}' {line}")

    def _find_stuck(self, times: Array) -> list[Finding]:
        since, count = self._changed
        lasted = float(times.max()) - since
        if not 0.0 < self._config.stuck_after < lasted or self._count - count < _FEWEST:
            return []
        return [self._finding(StreamFault.STUCK, since, f"has sent the same reading for {lasted:.2f} s")]

    def _ahead(self, times: Array, clock: Array) -> list[Finding]:
        ahead = float(np.median(times - clock))
        if ahead <= self._config.ahead:
            return []
        line = f"has stamps {ahead:.3f} s ahead of the other streams'"
        return [self._finding(StreamFault.CLOCK, float(times[-1]), line)]

    def _rate(self, times: Array, now: float) -> list[Finding]:
        """Gaps first: a stream that keeps its rate but for gaps is intermittent, one that never keeps it is slow."""
        gaps = np.diff(np.sort(times))
        span = float(gaps.sum())
        if span <= 0.5 * min(self._config.memory, now - self._start):
            return []  # it has only just begun, or come back
        lost = float(gaps[gaps > self._channel.max_gap].sum())
        usual = float(np.median(gaps))
        if usual * self._channel.rate * self._config.slow_below > 1.0:
            line = f"comes at {1.0 / usual:.4g} Hz; stated are {self._channel.rate:g} Hz"
            return [self._finding(StreamFault.SLOW, float(times[-1]), line)]
        if lost > self._config.lost_share * span:
            line = f"has gaps that make up {100.0 * lost / span:.0f} % of the time, the longest {gaps.max():.3f} s"
            return [self._finding(StreamFault.INTERMITTENT, float(times[-1]), line)]
        return []
