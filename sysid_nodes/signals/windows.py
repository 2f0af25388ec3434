# SPDX-License-Identifier: Apache-2.0
"""Cuts a stream of joint samples into windows for integrals over time.

Consecutive windows share their edge sample, so that their integrals add up to the integral over both. A window
closes at the first sample at which it is long enough; a longer pause between two samples than allowed discards the
window in progress, because nothing bounds what happened in between.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import JointSamples
from sysid_nodes.exceptions import ConfigError

Array = npt.NDArray[np.float64]

_ROUNDING = 1e-9
"""Tolerance on a window's duration [s]: decimal stamps are rounded to binary."""

GAP = "gap"
INCOMPLETE = "incomplete window"
RESTART = "clock restart"


class Windower:
    """Collects accepted samples of a live stream and hands out complete windows.

    Args:
        names: the n joints, the column order of the samples.
        duration: shortest length of a window [s].
        max_gap: a longer pause between two samples discards the window in progress [s].

    Attributes:
        rejected: samples that ended in no window, by reason.
        used: samples that are part of at least one window.
        windows: windows handed out.

    Raises:
        ConfigError: duration or max_gap is not positive.
    """

    def __init__(self, names: Sequence[str], duration: float, max_gap: float) -> None:
        _check(duration, max_gap)
        self.names = tuple(names)
        self.duration = float(duration)
        self.max_gap = float(max_gap)
        self.reset()

    def reset(self) -> None:
        """Forgets the window in progress and sets all counts to zero."""
        self.rejected: dict[str, int] = {}
        self.used = 0
        self.windows = 0
        self._start(None)

    def push(self, t: float, q: Array, qd: Array, tau: Array) -> JointSamples | None:
        """Takes one sample with finite (n,) arrays, which it keeps; returns the window that the sample completes."""
        if self._t and not 0.0 < (step := t - self._t[-1]) <= self.max_gap:
            self.interrupt(GAP if step > 0.0 else RESTART)
        self._t.append(t)
        self._rows.append((q, qd, tau))
        if t - self._t[0] < self.duration - _ROUNDING:
            return None
        q_all, qd_all, tau_all = (np.array(column) for column in zip(*self._rows, strict=True))
        window = JointSamples(self.names, np.array(self._t), q_all, qd_all, tau_all)
        self.used += self.pending
        self.windows += 1
        self._start((t, q, qd, tau))
        return window

    def interrupt(self, reason: str) -> None:
        """Discards the window in progress, of which something is missing; the next sample begins another."""
        if count := self.pending:
            self.rejected[reason] = self.rejected.get(reason, 0) + count
        self._start(None)

    def _start(self, edge: tuple[float, Array, Array, Array] | None) -> None:
        self._t = [] if edge is None else [edge[0]]
        self._rows = [] if edge is None else [edge[1:]]
        self._shared = edge is not None

    @property
    def pending(self) -> int:
        """Samples of the window in progress that no earlier window holds."""
        return len(self._t) - self._shared


def cut(samples: JointSamples, duration: float, max_gap: float) -> tuple[npt.NDArray[np.intp], dict[str, int]]:
    """The windows `Windower` makes of the same samples, as indices.

    Args:
        samples: N samples.
        duration: shortest length of a window [s].
        max_gap: a longer pause between two samples discards the window in progress [s].

    Returns:
        (n_windows, 2) indices of each window's first and last sample, both part of it, and the samples that ended
        in no window, by reason. `samples.slice(first, last + 1)` is the window.

    Raises:
        ConfigError: duration or max_gap is not positive.
    """
    _check(duration, max_gap)
    t = samples.t
    edges: list[tuple[int, int]] = []
    rejected: dict[str, int] = {}
    breaks = (np.flatnonzero(np.diff(t) > max_gap) + 1).tolist()
    for begin, end in zip([0, *breaks], [*breaks, len(t)], strict=True):
        first, fresh = begin, begin
        while (last := _close(t, first, end, duration - _ROUNDING)) < end:
            edges.append((first, last))
            first, fresh = last, last + 1
        if fresh < end:
            reason = GAP if end < len(t) else INCOMPLETE
            rejected[reason] = rejected.get(reason, 0) + end - fresh
    return np.array(edges, dtype=np.intp).reshape(-1, 2), rejected


def _close(t: Array, first: int, end: int, duration: float) -> int:
    """First index in (first, end) with t - t[first] >= duration, else end."""
    if first + 1 >= end:
        return end
    guess = first + 1 + int(np.searchsorted(t[first + 1 : end], t[first] + duration))
    # t - t0 >= d and t >= t0 + d round differently; the stream tests the former
    while guess > first + 1 and t[guess - 1] - t[first] >= duration:
        guess -= 1
    while guess < end and t[guess] - t[first] < duration:
        guess += 1
    return guess


def _check(duration: float, max_gap: float) -> None:
    if not duration > _ROUNDING or not max_gap > 0.0:
        raise ConfigError(f"window duration and max_gap must be positive, got {duration:g} s and {max_gap:g} s")
