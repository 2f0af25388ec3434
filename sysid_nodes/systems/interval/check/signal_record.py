# SPDX-License-Identifier: Apache-2.0
"""Joint states of one robot as they came, but for the names and what the configuration says of the driver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.signals.driver import DriverSignals
from sysid_nodes.signals.rejection import is_old
from sysid_nodes.signals.stream import RESTART_AFTER

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Signals:
    """N joint states of n joints. Attributes: t (N,) increasing [s]; q, qd, tau (N, n), positions wrapped or not;
    stride, of how many that came one was kept.
    """

    t: Array
    q: Array
    qd: Array
    tau: Array
    stride: int = 1

    def __len__(self) -> int:
        return len(self.t)

    def convert(self, signals: DriverSignals) -> Signals:
        """These numbers as a driver's, in SI units."""
        values = signals.convert(np.stack([self.q, self.qd, self.tau], axis=1))
        return Signals(self.t, values[:, 0], values[:, 1], values[:, 2], self.stride)


class SignalRecord:
    """Keeps joint states, evenly thinned where there are many; nothing is rejected but what is no number, or no news.

    Args:
        names: the joints wanted.
        signals: how the driver's numbers read.
        memory: joint states older than this against the newest may be forgotten [s].
        most: joint states kept.
    """

    def __init__(
        self, names: tuple[str, ...], signals: DriverSignals, memory: float = np.inf, most: int = 4000
    ) -> None:
        self._order, self._signals = JointOrder(names), signals
        self._memory, self._most = memory, most
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        self._kept: list[tuple[float, Array]] = []
        self._earlier: list[tuple[float, Array]] = []
        self._stride, self._seen = 1, 0
        self._reading: Array | None = None

    @property
    def seen(self) -> int:
        """Joint states taken so far."""
        return self._seen

    def take(self, message: RawJointState) -> bool:
        """Takes a joint state; false where it has not all joints, or not all of a joint."""
        columns = self._order.columns(message.names)
        fields = (message.position, message.velocity, message.effort)
        if columns is None or any(len(field) != len(message.names) for field in fields):
            return False
        values = np.array([np.asarray(field, dtype=np.float64)[columns] for field in fields])
        if is_old(values, self._reading):
            return True
        self._reading = values
        self._seen += 1
        if (self._seen - 1) % self._stride:
            return True
        if not (np.isfinite(values).all() and np.isfinite(message.stamp)):
            return False
        if self._earlier and message.stamp > self._kept[-1][0]:
            self._earlier.clear()  # a few came late
        if self._kept and message.stamp <= self._kept[-1][0]:
            self._take_earlier(message.stamp, values)
            return True
        self._kept.append((message.stamp, self._signals.convert(values)))
        if len(self._kept) > self._most:
            self._thin(message.stamp)
        return True

    def signals(self) -> Signals:
        """The joint states kept."""
        if not self._kept:
            empty = np.zeros((0, len(self._order.names)))
            return Signals(np.zeros(0), empty, empty, empty)
        values = np.array([kept for _, kept in self._kept])
        stamps = np.array([stamp for stamp, _ in self._kept])
        return Signals(stamps, values[:, 0], values[:, 1], values[:, 2], self._stride)

    def _take_earlier(self, stamp: float, values: Array) -> None:
        """Of an earlier stamp than the last: late, or the clock was set back, and what follows is judged alone."""
        before = self._earlier[-1][0] if self._earlier else -np.inf
        if stamp < before:
            self._earlier.clear()
        if stamp not in (before, self._kept[-1][0]):
            self._earlier.append((stamp, self._signals.convert(values)))
        if len(self._earlier) == RESTART_AFTER:
            self._kept, self._earlier = self._earlier, []

    def _thin(self, newest: float) -> None:
        self._kept = [kept for kept in self._kept if kept[0] >= newest - self._memory]
        if len(self._kept) > self._most // 2:
            self._kept = self._kept[::2]
            self._stride *= 2
