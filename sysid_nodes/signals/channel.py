# SPDX-License-Identifier: Apache-2.0
"""One stream on its way to the grid: readings in the order of their stamps, bad ones counted, old ones forgotten."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.signals.channel_config import ChannelConfig, ValueKind, Window
from sysid_nodes.signals.rejection import DUPLICATE_STAMP, NOT_A_ROTATION, WRONG_LENGTH, value_fault
from sysid_nodes.signals.window_mean import ROUNDING, Mean, support, window_mean

Array = npt.NDArray[np.float64]

_MOST = 20_000
"""Readings kept at most, whatever the stream sends."""

_WIDTHS = {ValueKind.ROTATION: 4, ValueKind.POSE: 7}


class ChannelSpec(NamedTuple):
    """Format of a stream's readings.

    Attributes:
        config: what is assumed of it.
        width: numbers in a reading.
        kind: what they are.
        halves: whether they are wanted half a step before a step as well.
    """

    config: ChannelConfig
    width: int
    kind: ValueKind = ValueKind.VECTOR
    halves: bool = False


class Reading(NamedTuple):
    """A stream's value at one step.

    Attributes:
        value: (d,).
        weight: factor on 1/sigma of a single reading.
        half: (d,) value half a step before, NaN where readings do not cover it; None where it is not wanted.
    """

    value: Array
    weight: float
    half: Array | None = None


class Channel:
    """Keeps the latest readings of a stream and gives their value at a step.

    Args:
        name: of the stream, for errors.
        spec: what it carries.
        dt: grid step [s].

    Attributes:
        needs: how far past a step's time the stream has to be before the step has all its readings [s].
        rejected: readings not taken, by reason.
        accepted: readings taken.

    Raises:
        ConfigError: rotations are asked for as a mean, or the width does not fit the kind.
    """

    def __init__(self, name: str, spec: ChannelSpec, dt: float) -> None:
        self.config, self._width, self._kind, self._dt = spec.config, spec.width, spec.kind, dt
        self._window, self._halves = Window(spec.config.window), spec.halves
        if spec.kind is not ValueKind.VECTOR and self._window is not Window.POINT:
            raise ConfigError(
                f"stream '{name}' holds rotations: its window must be 'point', not '{self._window.value}'"
            )
        if spec.width != _WIDTHS.get(spec.kind, spec.width) or spec.width < 1:
            raise ConfigError(f"stream '{name}' cannot hold {spec.width} numbers as {spec.kind.value}")
        self.needs = support(self._window, dt)[1] + spec.config.disorder
        self.rejected: Counter[str] = Counter()
        self.accepted = 0
        self.clear()

    def clear(self) -> None:
        """Forgets the readings, not the counts."""
        self._stamps: list[float] = []
        self._values: list[Array] = []

    def fault(self, value: Array) -> str:
        """Reason for which a reading is rejected, or an empty string."""
        if value.shape != (self._width,):
            return WRONG_LENGTH
        if reason := value_fault(value, self.config.largest):
            return reason
        if self._kind is not ValueKind.VECTOR and abs(math.sqrt(value[-4:] @ value[-4:]) - 1.0) > 0.01:
            return NOT_A_ROTATION
        return ""

    def push(self, time: float, value: Array) -> str:
        """Takes a reading that has no fault; returns why it was not taken, or an empty string.

        Args:
            time: when it was true [s].
            value: (d,).
        """
        at = len(self._stamps)
        if self._stamps and time <= self._stamps[-1] + ROUNDING:
            at = bisect_left(self._stamps, time)
            if any(abs(self._stamps[k] - time) <= ROUNDING for k in (at - 1, at) if 0 <= k < len(self._stamps)):
                return DUPLICATE_STAMP
        if self._kind is not ValueKind.VECTOR:
            value = value.copy()
            value[-4:] /= math.sqrt(value[-4:] @ value[-4:])
        self._stamps.insert(at, time)
        self._values.insert(at, value)
        self.accepted += 1
        if len(self._stamps) > _MOST:
            self.forget(self._stamps[_MOST // 2])
        return ""

    def forget(self, before: float) -> None:
        """Drops readings that no step from a time on [s] can need; the last one before it stays."""
        keep = bisect_left(self._stamps, before - ROUNDING - 0.5 * self._dt * self._halves) - 1
        if keep > 0:
            del self._stamps[:keep], self._values[:keep]

    def at(self, time: float) -> Reading | None:
        """The value at a step [s], None where the readings do not cover it."""
        mean = self._window_mean(time)
        if mean is None:
            return None
        last = mean.first + len(mean.weights) - 1
        spacing = (self._stamps[last] - self._stamps[mean.first]) / max(len(mean.weights) - 1, 1)
        half = None
        if self._halves:
            before = self._window_mean(time - 0.5 * self._dt)
            half = np.full(self._width, np.nan) if before is None else self._mean(before)
        return Reading(self._mean(mean), self._weight(mean, spacing), half)

    def _window_mean(self, time: float) -> Mean | None:
        if not self._stamps:
            return None
        gap, averaged = self.config.max_gap, self.config.averaged
        return window_mean(self._stamps, time, self._dt, self._window, gap, averaged=averaged)

    def _mean(self, mean: Mean) -> Array:
        values = self._values[mean.first : mean.first + len(mean.weights)]
        if len(values) == 1:
            return values[0]
        if self._kind is ValueKind.VECTOR:
            return mean.weights @ np.array(values)
        first, second = values
        share = float(mean.weights[1])
        turn = _interpolate(first[-4:], second[-4:], share)
        return np.concatenate([(1.0 - share) * first[:-4] + share * second[:-4], turn])

    def _weight(self, mean: Mean, spacing: float) -> float:
        """Noise of successive readings being independent, a mean's variance is the sum of its squared weights.

        No step may take more than the readings that fall to it, dt over their spacing: where readings are rarer than
        steps, or windows overlap, each serves several steps and would be counted several times.
        """
        square = 1.0 / float(mean.weights @ mean.weights)
        square = min(square, self._dt / max(spacing, 1.0 / self.config.rate))
        return math.sqrt(square if self.config.white else min(square, 1.0))


def _interpolate(first: Array, second: Array, share: float) -> Array:
    """The unit quaternion a share of the way from the first to the second, the short way round."""
    cosine = float(first @ second)
    second = second if cosine >= 0.0 else -second
    angle = math.acos(min(abs(cosine), 1.0))
    if angle < 1e-6:
        mixed = (1.0 - share) * first + share * second
    else:
        mixed = math.sin((1.0 - share) * angle) * first + math.sin(share * angle) * second
    return mixed / np.linalg.norm(mixed)
