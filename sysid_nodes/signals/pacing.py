# SPDX-License-Identifier: Apache-2.0
"""Adapts an estimator's work to the machine: a slow one does less for each step instead of falling behind.

All times are passed in, so that the same times give the same decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError

_MEMORY = 0.3
"""Weight of a new solve in the running mean of the load."""

_FEWEST = 3
"""Solves at a pace before it is judged: one that was interrupted says nothing."""

_BEHIND, _LATE = 0.25, 0.5
"""Shares of the largest lag: below the first a machine has kept up so far, however long solves take, as at an impact or
beside another program for a moment; above the second no solve may take longer than the time until the next."""

_LEAST = 1e-3
"""Of the time that a solve may take [s]: none would be no limit."""

_LONGEST = 60.0
"""Longest time between two attempts at a better pace [s]."""


@dataclass(frozen=True)
class PacingConfig:
    """When a machine counts as too slow, and how the work is reduced then."""

    hop: int = option(1, "steps from one solve to the next while the machine keeps up", minimum=1)
    most_hop: int = option(8, "steps from one solve to the next at most", minimum=1)
    shortest: int = option(10, "stages that a shortened window keeps", minimum=4)
    load: float = option(
        0.85,
        "share of the time between two solves that a solve may take where the lag is above a quarter of max_lag",
        unit="1",
        minimum=0.05,
        maximum=1.0,
    )
    relax: float = option(
        0.8, "load that a better pace must promise before it is tried again", unit="1", minimum=0.01, maximum=1.0
    )
    patience: float = option(
        2.0, "time between a change of pace and the next one for the better", unit="s", minimum=0.0
    )
    max_lag: float = option(
        0.5,
        "lag behind the newest reading at which data are skipped, and beyond which no estimate is published",
        unit="s",
        minimum=0.02,
    )

    def __post_init__(self) -> None:
        if self.most_hop < self.hop:
            raise ConfigError("'most_hop' must not be below 'hop'")
        if self.relax >= self.load:
            raise ConfigError("'relax' must be below 'load'")


class Pace(NamedTuple):
    """Amount of work.

    Attributes:
        hop: steps from one solve to the next.
        window: stages of the window.
    """

    hop: int
    window: int


def paces(config: PacingConfig, window: int) -> tuple[Pace, ...]:
    """From the best to the cheapest: fewer solves, then a shorter window, then still fewer and shorter.

    Args:
        window: stages of the full window.
    """
    found = [Pace(config.hop, window)]
    shortest = min(config.shortest, window)
    half = max(config.hop, config.most_hop // 2)
    while found[-1] != (config.most_hop, shortest):
        hop, length = found[-1]
        rarer, shorter = min(2 * hop, config.most_hop), max(shortest, (2 * length) // 3)
        if hop < half or (hop < config.most_hop and length < window):
            found.append(Pace(min(rarer, half) if hop < half else rarer, length))
        elif length > shortest:
            found.append(Pace(hop, shorter))
        else:
            found.append(Pace(rarer, length))
    return tuple(found)


class Pacer:
    """Chooses a pace from the time that solves take.

    Args:
        window: stages of the full window.
        dt: time between two steps [s].

    Attributes:
        solve_time: of the last solve [s].
        load: running mean of solve time over the time between two solves; above one, the lag grows.
        skipping: the lag has passed `max_lag`: data are to be skipped until it is a quarter of that.
        changes: times the pace changed.
    """

    def __init__(self, config: PacingConfig, window: int, dt: float) -> None:
        self._config, self._dt = config, dt
        self._paces = paces(config, window)
        self._level = 0
        self._worst = self._count = 0
        self._changed = -float("inf")
        self._patience = config.patience
        self._limit = config.max_lag
        self.solve_time = self.load = self._lag = 0.0
        self._expected = self._now = 0.0  # time that the next solve is thought to take, of the newest reading [s]
        self.skipping = self._cut = False
        self.changes = 0

    @property
    def pace(self) -> Pace:
        """The present amount of work."""
        return self._paces[self._level]

    @property
    def slowed(self) -> bool:
        """Whether less is done than configured."""
        return self._level > 0

    @property
    def late(self) -> bool:
        """Whether the last solve ended too late for its estimate to be published."""
        return self._lag > self._config.max_lag

    @property
    def finding(self) -> str:
        """The work that is skipped, in one line; empty for none."""
        if self.late:
            most = self._config.max_lag
            return f"the machine cannot keep up: an estimate that is more than {most:g} s late is not published"
        if self.skipping:
            return "the machine cannot keep up: readings are skipped to catch up"
        if not self.slowed:
            return "the machine cannot keep up: a solve ended early" if self._cut else ""
        full, now = self._paces[0], self.pace
        rarer = f" every {now.hop} steps instead of {full.hop}" if now.hop > full.hop else ""
        shorter = f" over {now.window} stages instead of {full.window}" if now.window < full.window else ""
        return f"the machine cannot keep up: a solve{rarer}{shorter}"

    def spare(self, lag: float) -> float:
        """Time in which a solve may begin more than it has to, from a lag on [s]; the other half is for the rest."""
        return max(0.5 * (self._config.max_lag - lag), _LEAST)

    def note_solve(
        self, now: float, solve_time: float, lag: float, *, usual: bool = True, steps: int = 0, cut: bool = False
    ) -> Pace:
        """Takes note of a solve and returns the pace from now on.

        Args:
            now: time of the newest reading [s].
            solve_time: wall time of the solve [s].
            lag: how far the estimate is behind the newest reading [s].
            usual: false for the solve after a start, which takes longer than those that follow.
            steps: that it used, more than the pace's where some waited. While the lag falls it is that of so many.
            cut: whether it left out something for want of time.
        """
        config = self._config
        catching_up, self._lag, self._cut = lag < self._lag, lag, cut
        self.solve_time, self._now = solve_time, now
        if usual:
            self._expected = solve_time
        else:
            # Where a start takes longer than the lag allowed, to skip would mean to start over and over.
            self._limit = max(config.max_lag, 2.0 * solve_time)
        self.watch(lag)
        if not usual:
            return self.pace
        if lag <= config.max_lag:
            self._limit = config.max_lag
        load = solve_time / (max(self.pace.hop, steps if catching_up else 0) * self._dt)
        self.load += (_MEMORY if self._count else 1.0) * (load - self.load)
        self._count += 1
        since = now - self._changed
        late = lag > _LATE * config.max_lag
        if self._count < _FEWEST and not (late and load > 1.0):
            return self.pace
        behind = self.load > config.load and lag > _BEHIND * config.max_lag
        if behind or (late and (load > 1.0 or since > config.patience)):
            self._worse(now, since)
        elif self.slowed and since >= self._patience and self._promise() < config.relax:
            self._change(self._level - 1, now)
        return self.pace

    def watch(self, lag: float, *, ahead: bool = False) -> bool:
        """Takes note of a lag [s]; whether readings are to be skipped.

        Args:
            lag: behind the newest reading.
            ahead: whether a solve is to come, which may take as long as the last usual one. If it would end too late,
                all work that can be shed is shed at once; where nothing is left to shed, it is not begun.
        """
        last = len(self._paces) - 1
        if ahead and lag + self._expected > self._limit and self._level < last:
            self._change(last, self._now)
        if lag + (self._expected if ahead and self._level == last else 0.0) > self._limit:
            self.skipping = True
        elif lag < 0.25 * self._config.max_lag:
            self.skipping = False
        return self.skipping

    def _promise(self) -> float:
        """The least load that the next better pace can have: as if a longer window cost nothing."""
        return self.load * self.pace.hop / self._paces[self._level - 1].hop

    def _worse(self, now: float, since: float) -> None:
        """Reduces the work until solves so long would keep up, if only by their number.

        A pace that was only just tried again is next tried after twice the time.
        """
        if self._level + 1 == len(self._paces):
            return
        tried = self._level < self._worst and since < self._patience
        self._patience = min(2.0 * self._patience, _LONGEST) if tried else self._config.patience
        level = self._level + 1
        while level + 1 < len(self._paces) and self.load * self.pace.hop > self._paces[level].hop:
            level += 1
        self._change(level, now)

    def _change(self, level: int, now: float) -> None:
        before = self.pace
        self._level, self._changed = level, now
        self._worst = max(self._worst, level)
        self.load *= before.hop / self.pace.hop
        self._expected *= self.pace.window / before.window
        self._count = 0
        self.changes += 1
