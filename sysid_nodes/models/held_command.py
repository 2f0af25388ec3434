"""A sampled command as a drive holds it: delayed by any time, averaged over steps, with its slope by the delay."""

from __future__ import annotations

from dataclasses import dataclass

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
        if self.linear:
            return np.interp(times, self.t, self.values)
        index = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 1)
        return np.asarray(self.values[index])

    def means(self, begin: Array, length: float, delay: float) -> tuple[Array, Array]:
        """Means (N,) over [begin, begin + length] `delay` seconds earlier, and their slopes by the delay."""
        first, last = begin - delay, begin - delay + length
        mean = (self._integral(last) - self._integral(first)) / length
        return mean, (self.at(first) - self.at(last)) / length

    def _integral(self, times: Array) -> Array:
        """From the first time on, negative before it."""
        between = np.diff(self.t)
        heights = 0.5 * (self.values[1:] + self.values[:-1]) if self.linear else self.values[:-1]
        knots = np.concatenate([[0.0], np.cumsum(between * heights)])
        index = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 1)
        since = times - self.t[index]
        grows = np.zeros(len(self.t))
        if self.linear:
            grows[:-1] = np.diff(self.values) / between
        return np.asarray(knots[index] + since * (self.values[index] + 0.5 * np.maximum(since, 0.0) * grows[index]))
