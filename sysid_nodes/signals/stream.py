# SPDX-License-Identifier: Apache-2.0
"""A stream of joint state messages, made safe: mapped by name, unwrapped, every rejected message counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.signals.driver import DelayLine, DriverSignals
from sysid_nodes.signals.rejection import (
    ABSURD_STAMP,
    BACKWARD_STAMP,
    DUPLICATE_STAMP,
    OLD_READING,
    POSITION_JUMP,
    TURN_UNKNOWN,
    WRONG_LENGTH,
    is_old,
    is_stamp,
    value_fault,
)

Array = npt.NDArray[np.float64]

TURN = 2.0 * math.pi

RESTART_AFTER = 10
"""Consecutive messages on another clock after which that is the clock."""

_ABSURD = 1e9  # no joint has such a position, speed or torque in any unit; keeps later products finite


def seconds(sec: int, nanosec: int) -> float:
    """A ROS stamp in seconds; live nodes and logs use this one formula, so that both give the same numbers."""
    return sec + 1e-9 * nanosec


class Sample(NamedTuple):
    """One accepted message in the robot's joint order.

    Attributes:
        t: sensor stamp [s].
        q: (n,) joint positions, unwrapped [rad or m].
        qd: (n,) joint velocities [rad/s or m/s].
        tau: (n,) joint torques or forces [N m or N].
    """

    t: float
    q: Array
    qd: Array
    tau: Array


class JointStream:
    """Turns joint state messages into samples; what is unusable is dropped and counted, nothing is raised for data.

    Stamps are floats of seconds: with stamps since 1970 they resolve 0.24 us.

    Args:
        names: the n joints wanted, in the order of the samples; other joints of a message are ignored.
        wraps: (n,) whether a joint's position may arrive wrapped to one turn; a revolute joint that never wraps
            passes unchanged either way.
        signals: how the driver's numbers read; None: as they should.
        max_gap: a longer pause between accepted samples counts as a gap [s].
        max_jump: a stamp further ahead of the last accepted one than this is absurd [s].
        restart_after: consecutive messages that agree with one another on another clock, after which the stream
            restarts on that clock (a reset simulation, a bag played in a loop).
        only_news: leave out readings in motion that are to the last bit those before.

    Attributes:
        rejected: messages not accepted, by reason.
        accepted: messages accepted.
        gaps: number of pauses longer than max_gap.
        longest_gap: longest pause between two accepted samples [s].
        restarts: times the stream started over, by reason.

    Raises:
        ConfigError: a joint is named twice, none is given, or wraps has another length.
    """

    def __init__(
        self,
        names: Sequence[str],
        wraps: Sequence[bool] | npt.NDArray[np.bool_],
        *,
        signals: DriverSignals | None = None,
        max_gap: float = 0.02,
        max_jump: float = 3600.0,
        restart_after: int = RESTART_AFTER,
        only_news: bool = False,
    ) -> None:
        self._signals = signals
        self._delay = DelayLine(np.zeros(1) if signals is None else signals.delay)
        self._order = JointOrder(names)
        self.names = self._order.names
        self._wraps = np.array(wraps, dtype=bool)
        if self._wraps.shape != (len(self.names),):
            raise ConfigError(f"wraps must have {len(self.names)} entries, got shape {self._wraps.shape}")
        self._any_wraps = bool(self._wraps.any())
        self.max_gap = float(max_gap)
        self.max_jump = float(max_jump)
        self.restart_after = int(restart_after)
        self._only_news = only_news
        self.reset()

    def reset(self) -> None:
        """Forgets every sample and sets all counts to zero."""
        self.rejected: dict[str, int] = {}
        self.restarts: dict[str, int] = {}
        self.accepted = 0
        self.gaps = 0
        self.longest_gap = 0.0
        self._last: Sample | None = None
        self._reading: Array | None = None
        self._delay.reset()
        self._strange_stamp = 0.0
        self._strange_count = 0

    def interrupt(self) -> None:
        """Samples may be missing before the next one: nothing is interpolated across."""
        self._delay.reset()

    def push(
        self,
        names: Sequence[str],
        stamp: float,
        position: Sequence[float] | Array,
        velocity: Sequence[float] | Array,
        effort: Sequence[float] | Array,
    ) -> Sample | None:
        """Takes one message.

        Args:
            names: k joint names, in any order, extra ones allowed.
            stamp: sensor stamp [s].
            position: (k,) [rad or m].
            velocity: (k,) [rad/s or m/s].
            effort: (k,) [N m or N].

        Returns:
            The sample, or None when the message was rejected; `rejected` then has its reason. Where torque is delayed
            the sample is of an earlier time, and None also comes while the first torques are waited for.
        """
        columns = self._order.columns(names)
        if columns is None:
            self._count("missing joint" if self._order.first_missing(names) else "repeated joint")
            return None
        values = _values(columns, len(names), position, velocity, effort)
        if isinstance(values, str):
            self._count(values)
            return None
        if (reason := self._stamp_fault(stamp)) and not self._restart_due(stamp, reason):
            self._count(reason)
            return None
        if self._only_news and is_old(values, self._reading):
            self._count(OLD_READING)
            return None
        self._reading = values.copy()  # of which whole turns may be added below
        sample = self._accept(float(stamp), values if self._signals is None else self._signals.convert(values))
        if sample is None or self._delay.idle:
            return sample
        aligned = self._delay.push(*sample)
        return None if aligned is None else Sample(*aligned)

    def _stamp_fault(self, stamp: float) -> str:
        if not is_stamp(stamp):
            return ABSURD_STAMP
        if self._last is None or 0.0 < (step := stamp - self._last.t) <= self.max_jump:
            return ""
        if step == 0.0:
            return DUPLICATE_STAMP
        return BACKWARD_STAMP if step < 0.0 else ABSURD_STAMP

    def _restart_due(self, stamp: float, reason: str) -> bool:
        """Whether enough messages in a row follow one other clock; then the stream is empty and takes this message."""
        if reason == DUPLICATE_STAMP or not is_stamp(stamp):
            return False
        follows = self._strange_count > 0 and 0.0 < stamp - self._strange_stamp <= self.max_jump
        self._strange_count = self._strange_count + 1 if follows else 1
        self._strange_stamp = stamp
        if self._strange_count < self.restart_after:
            return False
        self._restart("clock went back" if reason == BACKWARD_STAMP else "clock jumped ahead")
        return True

    def _restart(self, reason: str) -> None:
        self.restarts[reason] = self.restarts.get(reason, 0) + 1
        self._last = None
        self._delay.reset()

    def _count(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1

    def _accept(self, stamp: float, values: Array) -> Sample | None:
        q, qd, tau = values
        if self._last is not None:
            step = stamp - self._last.t
            if self._any_wraps and not self._unwrap(q, qd, step):
                if step <= self.max_gap:
                    self._count(POSITION_JUMP)
                    return None
                self._restart(TURN_UNKNOWN)
            if step > self.max_gap:
                self.gaps += 1
                self._delay.reset()
                self.longest_gap = max(self.longest_gap, step)
        self._strange_count = 0
        self.accepted += 1
        self._last = Sample(stamp, q, qd, tau)
        return self._last

    def _unwrap(self, q: Array, qd: Array, step: float) -> bool:
        """Adds whole turns to q in place so that it continues the last sample; False where that is ambiguous.

        The mean of both velocities predicts the position; the turn is certain while the rest stays under a quarter
        of a turn. Where it does not, q keeps the value that arrived.
        """
        assert self._last is not None
        predicted = self._last.q + (0.5 * step) * (self._last.qd + qd)
        turns = np.rint((predicted - q) / TURN)
        turns[~self._wraps] = 0.0
        rest = np.abs(predicted - q - turns * TURN)
        rest[~self._wraps] = 0.0
        if rest.max() >= 0.25 * TURN:
            return False
        q += turns * TURN
        return True


def _values(columns: npt.NDArray[np.intp], length: int, position: Any, velocity: Any, effort: Any) -> Array | str:
    """(3, n) position, velocity and effort in the wanted order, or why the message is unusable."""
    for field, values in (("position", position), ("velocity", velocity), ("effort", effort)):
        if len(values) != length:
            return WRONG_LENGTH if len(values) else f"missing {field}"
    out = np.empty((3, columns.size))
    try:
        for row, values in zip(out, (position, velocity, effort), strict=True):
            np.take(np.asarray(values, dtype=np.float64), columns, out=row)
    except (TypeError, ValueError):
        return "not a number"
    return value_fault(out, _ABSURD) or out
