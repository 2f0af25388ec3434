# SPDX-License-Identifier: Apache-2.0
"""A sampled command as a drive holds it: delayed by any time, averaged over steps, with its slope by the delay."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HeldCommand:
    """A signal given at times; the first value holds before them, the last one after.

    Means over steps, not values: a delay that moves a jump through a step then changes the motion smoothly.

    Attributes:
        t: (M,) increasing [s].
        values: (M,) in any unit.
        linear: whether it goes straight from value to value, else each holds until the next.

    Raises:
        SamplesError: shapes differ, there is no value, or times do not increase.
    """

    t: Array
    values: Array
    linear: bool = False

    def __post_init__(self) -> None:
        if self.t.ndim != 1 or self.t.shape != self.values.shape or not self.t.size:
            raise SamplesError(f"a command needs one value a time, got {self.values.shape} at {self.t.shape}")
        if (np.diff(self.t) <= 0.0).any():
            raise SamplesError("the times of a command must increase")

    def at(self, times: Array) -> Array:
        """Values (N,) at times (N,) [s]."""
        return self._value(times, self._index(times))

    def means(self, edges: Array, delay: float) -> tuple[Array, Array]:
        """Means (N,) between the edges (N + 1,) [s] of the signal `delay` seconds earlier, and their slopes by it."""
        times = edges - delay
        # Both increase: where the few values begin among the many edges takes less than the other way round.
        begins = np.searchsorted(times, self.t[1:], side="left")
        index = np.repeat(np.arange(len(self.t)), np.diff(begins, prepend=0, append=len(times)))
        length = np.diff(edges)
        mean = np.diff(self._integral(times, index)) / length
        return mean, -np.diff(self._value(times, index)) / length

    @cached_property
    def _knots(self) -> Array:
        """(M,) integrals from the first time on."""
        heights = 0.5 * (self.values[1:] + self.values[:-1]) if self.linear else self.values[:-1]
        return np.concatenate([[0.0], np.cumsum(np.diff(self.t) * heights)])

    def _index(self, times: Array) -> npt.NDArray[np.intp]:
        return np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 1)

    def _value(self, times: Array, index: npt.NDArray[np.intp]) -> Array:
        return np.interp(times, self.t, self.values) if self.linear else np.asarray(self.values[index])

    def _integral(self, times: Array, index: npt.NDArray[np.intp]) -> Array:
        """From the first time on, negative before it."""
        since = times - self.t[index]
        whole = self._knots[index] + since * self.values[index]
        if not self.linear:
            return np.asarray(whole)
        grows = np.append(np.diff(self.values) / np.diff(self.t), 0.0)
        return np.asarray(whole + 0.5 * np.maximum(since, 0.0) * since * grows[index])
