# SPDX-License-Identifier: Apache-2.0
"""Several streams, each with its own stamps and rate, on one estimator's grid.

Steps are closed in order, at a moment that follows from the readings pushed so far and from nothing else: the same
readings in the same order give the same steps, live or from a log, whenever they are taken. The streams' common clock
stands at the lower median of their newest stamps, so that neither a dead stream nor one whose clock is wrong moves it.
A step is closed as soon as every live stream has reached it, at the latest when the common clock is `wait` past it;
what comes later is late.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.signals.channel import Channel, ChannelSpec, Reading
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.rejection import ABSURD_STAMP, DUPLICATE_STAMP, LATE, OTHER_CLOCK, is_stamp
from sysid_nodes.signals.samples import AlignedSteps, Samples
from sysid_nodes.signals.stream_health import StreamHealth, StreamHealthConfig, silence_finding
from sysid_nodes.signals.window_mean import ROUNDING

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GridConfig:
    """The estimator's grid."""

    dt: float = option(0.01, "time between two steps", unit="s", minimum=1e-4, maximum=1.0)
    wait: float = option(0.06, "how long a step waits for the slowest stream", unit="s", minimum=0.0, maximum=10.0)
    max_pause: float = option(
        0.5,
        "stamps farther off the common clock are not believed; if they are all there is, a new segment starts",
        unit="s",
        minimum=0.1,
    )
    most_steps: int = option(100_000, "steps kept until they are taken; older ones are dropped", minimum=1)


class Aligner:
    """Puts readings on the grid as they come.

    Args:
        channels: every stream by name; the disabled are ignored.
        health: when a stream counts as faulty.

    Attributes:
        dropped: steps that were not taken in time.
        ignored: readings of streams that are disabled or unknown, by name.

    Raises:
        ConfigError: no stream is enabled, or a stream's window does not fit its kind.
    """

    def __init__(
        self,
        channels: Mapping[str, ChannelSpec],
        grid: GridConfig,
        health: StreamHealthConfig | None = None,
    ) -> None:
        self._specs = {name: spec for name, spec in channels.items() if spec.config.enabled}
        if not self._specs:
            raise ConfigError("no stream is enabled")
        self.grid = grid
        self._health_config = health or StreamHealthConfig()
        self._channels = {name: Channel(name, spec, grid.dt) for name, spec in self._specs.items()}
        self._health: dict[str, StreamHealth] = {}
        self._start: float | None = None
        self._segment = -1
        self._next = 0
        self._strange: dict[str, tuple[float, float]] = {}
        self._heard: dict[str, float] = {}
        self._stamps: dict[str, float] = {}
        self._slowest = ""
        self._now = -math.inf
        self._closed: list[tuple[int, int, float, dict[str, Reading]]] = []
        self.dropped = 0
        self.ignored: Counter[str] = Counter()

    @property
    def now(self) -> float:
        """The streams' common clock [s]: at least half of those heard in this segment have come that far."""
        return self._now

    @property
    def rejected(self) -> dict[str, dict[str, int]]:
        """Readings of each stream that were not taken, by reason."""
        return {name: dict(channel.rejected) for name, channel in self._channels.items()}

    def push(self, name: str, stamp: float, value: Array) -> None:
        """Takes one reading; whatever is wrong with it is counted and nothing is raised.

        Args:
            stamp: the sensor's [s].
            value: (d,).
        """
        channel = self._channels.get(name)
        if channel is None:
            self.ignored[name] += 1
            return
        value = np.array(value, dtype=np.float64)  # a copy: drivers reuse their buffers
        time = stamp - channel.config.delay
        if not (reason := channel.fault(value)) and not (reason := self._stamp_fault(name, stamp, time)):
            reason = channel.push(time, value)
        if not reason or reason == LATE:
            self._hear(name, time)
        if reason:
            channel.rejected[reason] += 1
            if self._start is not None:
                self._health[name].reject(reason, self._now)
        else:
            self._health[name].accept(time, value, self._now)
        if self._start is not None:
            self._close(name)

    def flush(self) -> None:
        """Closes every step up to the newest reading of any stream: nothing more comes."""
        newest = max(self._heard.values(), default=-math.inf)
        while self._time(self._next) <= newest + ROUNDING:
            self._close_step()

    def take(self) -> tuple[AlignedSteps, ...]:
        """Removes and returns the steps closed since the last call, in order, one item a segment."""
        if not self._closed:  # as after most readings
            return ()
        closed, self._closed = self._closed, []
        segments = sorted({entry[0] for entry in closed})
        return tuple(self._collect([entry for entry in closed if entry[0] == segment]) for segment in segments)

    def findings(self, now: float | None = None) -> list[Finding]:
        """Present problems of the streams.

        Args:
            now: time [s] in the stamps' clock; None for the common clock, which stands still when all streams are off.
        """
        at = self._now if now is None else now
        if self._start is None:
            return [silence_finding(name, at, dict(channel.rejected)) for name, channel in self._channels.items()]
        return [finding for health in self._health.values() for finding in health.judge(at)]

    def _time(self, step: int) -> float:
        return (self._start or 0.0) + step * self.grid.dt

    def _hear(self, name: str, time: float) -> None:
        """Moves the common clock: half of the streams heard in this segment have come that far."""
        self._heard[name] = max(time, self._heard.get(name, time))
        newest = sorted(self._heard.values())
        self._now = newest[(len(newest) - 1) // 2]

    def _stamp_fault(self, name: str, stamp: float, time: float) -> str:
        if not is_stamp(stamp):
            return ABSURD_STAMP
        if stamp == self._stamps.get(name):
            return DUPLICATE_STAMP
        self._stamps[name] = stamp
        if self._start is None:
            self._begin(time)
            return ""
        if abs(time - self._now) > self.grid.max_pause and not self._restart_due(name, time):
            return OTHER_CLOCK
        if self._next and time <= self._time(self._next - 1):
            return LATE
        self._strange.clear()
        return ""

    def _restart_due(self, name: str, time: float) -> bool:
        """Whether this clock is the only one left: for max_pause of its own time nothing else was believed."""
        since, last = self._strange.get(name, (time, time))
        if not 0.0 <= time - last <= self.grid.max_pause:
            since = time
        self._strange[name] = (since, time)
        if time - since < self.grid.max_pause:
            return False
        self._begin(time)
        return True

    def _begin(self, time: float) -> None:
        """Starts a segment whose grid is at multiples of dt."""
        for channel in self._channels.values():
            channel.clear()
        self._segment += 1
        self._next = 0
        self._strange.clear()
        self._heard.clear()
        self._slowest = ""
        self._start = math.floor(time / self.grid.dt + 1e-3) * self.grid.dt
        self._health = {
            name: StreamHealth(name, spec.config, self._health_config, time) for name, spec in self._specs.items()
        }

    def _close(self, name: str) -> None:
        """Closes the steps that are due after a stream was heard."""
        time = self._time(self._next)
        if time > self._now + ROUNDING or (name != self._slowest != "" and time > self._now - self.grid.wait):
            return  # cheaply, for most readings: the stream that the step waits for has not moved
        # A stream that has been silent for max_pause, also at the start of a segment, is not waited for any longer.
        heard = {name: self._heard.get(name, self._time(-1)) for name in self._channels}
        alive = [name for name, newest in heard.items() if newest >= self._now - self.grid.max_pause]
        reached, self._slowest = min((heard[name] - self._channels[name].needs, name) for name in alive)
        while self._time(self._next) <= max(self._now - self.grid.wait, reached + ROUNDING):
            self._close_step()

    def _close_step(self) -> None:
        time = self._time(self._next)
        readings = {name: reading for name, c in self._channels.items() if (reading := c.at(time)) is not None}
        self._closed.append((self._segment, self._next, time, readings))
        self._next += 1
        for channel in self._channels.values():
            channel.forget(time)
        if len(self._closed) > self.grid.most_steps:
            del self._closed[0]
            self.dropped += 1

    def _collect(self, steps: Sequence[tuple[int, int, float, dict[str, Reading]]]) -> AlignedSteps:
        samples = {}
        for name, spec in self._specs.items():
            found = [(k, readings[name]) for k, (_, _, _, readings) in enumerate(steps) if name in readings]
            samples[name] = Samples(
                np.array([k for k, _ in found], dtype=np.int64),
                np.array([reading.value for _, reading in found]).reshape(-1, spec.width),
                np.array([reading.weight for _, reading in found]),
            )
            if spec.halves:
                halves = np.array([reading.half for _, reading in found]).reshape(-1, spec.width)
                samples[name] = replace(samples[name], halves=halves)
        return AlignedSteps(steps[0][0], steps[0][1], np.array([entry[2] for entry in steps]), samples)
