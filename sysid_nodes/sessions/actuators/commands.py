# SPDX-License-Identifier: Apache-2.0
"""Commands as they arrive, kept until the windows they belong to are cut."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.exceptions import SamplesError
from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.sessions.actuators.command_series import CommandSeries, select_joints, single_points
from sysid_nodes.sessions.actuators.recording import SAMPLED
from sysid_nodes.signals.set_points import SetPoints

Array = npt.NDArray[np.float64]


class CommandBuffer:
    """Single points hold until the next; from the first trajectory of several points on, points are joined.

    Nothing depends on when a command arrives, as long as it does before its window is cut.

    Args:
        names: of the n joints.

    Attributes:
        newest: stamp of the newest command [s].
        rejected: commands not used, by reason.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._order = JointOrder(names)
        self.rejected: Counter[str] = Counter()
        self.clear()

    def clear(self) -> None:
        """Forgets all commands, but not their counts."""
        self.newest = -math.inf
        self._times: list[float] = []
        self._commands: list[RawSetPoints] = []
        self._joined: SetPoints | None = None

    def push(self, raw: RawSetPoints) -> None:
        """Takes a command; one that cannot be used is counted."""
        columns = self._order.columns(raw.names)
        if columns is None:
            self.rejected["missing joint" if self._order.first_missing(raw.names) else "repeated joint"] += 1
        elif not raw.stamped:
            self.rejected["no stamp"] += 1
        elif not len(raw.t):
            self.rejected["no point"] += 1
        elif not all(np.isfinite(part).all() for part in _numbers(raw)) or (np.diff(raw.t) <= 0.0).any():
            self.rejected["not finite, or points out of order"] += 1
        else:
            self._insert(select_joints(raw, self._order.names, columns))

    def between(self, begin: float, end: float) -> CommandSeries | None:
        """Commands from `begin` up to, not including, `end` [s]; the first holds at `begin` if one held there.

        None where there are none. Calls must have increasing ends.
        """
        count = bisect_left(self._times, end)
        if self._are_joined(count):
            return self._sample(begin, end, self._join(count))
        if not count:
            return None
        first = max(bisect_left(self._times, begin, hi=count) - 1, 0)
        if first + 1 < count and self._times[first + 1] == begin:
            first += 1
        told = single_points(self._commands[first:count])
        return told._replace(t=np.maximum(told.t, begin))

    def forget(self, before: float) -> None:
        """Forgets commands that hold no longer at a time [s]."""
        count = bisect_left(self._times, before)
        if self._are_joined(count):
            self._join(count).forget(before)
        else:
            gone = max(count - 1, 0)
            del self._times[:gone], self._commands[:gone]

    def _insert(self, raw: RawSetPoints) -> None:
        stamp = float(raw.t[0]) if len(raw.t) == 1 else raw.begin
        self.newest = max(self.newest, stamp)
        at = bisect_left(self._times, stamp)
        if at < len(self._times) and self._times[at] == stamp and len(raw.t) == 1:
            self._commands[at] = raw  # of two with one stamp the later holds
            return
        self._times.insert(at, stamp)
        self._commands.insert(at, raw)

    def _are_joined(self, count: int) -> bool:
        """Whether a trajectory of several points is, or was, among the first commands."""
        return self._joined is not None or any(len(raw.t) > 1 for raw in self._commands[:count])

    def _join(self, count: int) -> SetPoints:
        """The motion that trajectories ask for, the first ones that wait included."""
        joined = SetPoints(len(self._order.names)) if self._joined is None else self._joined
        self._joined = joined
        for raw in self._commands[:count]:
            try:
                joined.take(raw.begin, raw.t, raw.q, raw.qd)
            except SamplesError:
                self.rejected["points that cannot be joined"] += 1
        del self._times[:count], self._commands[:count]
        return joined

    @staticmethod
    def _sample(begin: float, end: float, joined: SetPoints) -> CommandSeries | None:
        grid = np.arange(max(begin, joined.begin), end, SAMPLED) if len(joined) else np.zeros(0)
        if not len(grid):
            return None
        return CommandSeries(grid, *joined.at(grid))


def _numbers(raw: RawSetPoints) -> Iterator[Array]:
    """All arrays that a command has."""
    return (part for part in raw if isinstance(part, np.ndarray))
