# SPDX-License-Identifier: Apache-2.0
"""Readings on an estimator's grid, sparse in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Samples:
    """K readings of one stream, only at the steps that have one.

    Attributes:
        steps: (K,) indices of steps, increasing.
        values: (K, d) readings.
        weights: (K,) factors on 1/sigma, sigma being that of a single reading: 1 for one reading, more for a mean of
            several, less where one reading serves several steps. The square is the number of readings' worth of
            information, so that none is counted twice.
        rates: (K, r, d) first r derivatives of the readings by time, three for an orientation's four, or None where
            none was asked for.
        halves: (K, d) readings as they were half a step before, NaN where there is none; None where none was asked for.
    """

    steps: Indices
    values: Array
    weights: Array
    rates: Array | None = None
    halves: Array | None = None

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def usable(self) -> npt.NDArray[np.bool_]:
        """(K,) which are readings at all."""
        return np.asarray((self.weights > 0.0) & np.isfinite(self.values).all(axis=1))

    def between(self, first: int, stop: int) -> Samples:
        """Those of steps first..stop-1, with indices that start at zero."""
        i, j = np.searchsorted(self.steps, (first, stop))
        return self.take(slice(i, j)).shift(-first)

    def take(self, chosen: slice | Indices | npt.NDArray[np.bool_]) -> Samples:
        """Some of them."""
        rates, halves = (None if more is None else more[chosen] for more in (self.rates, self.halves))
        return Samples(self.steps[chosen], self.values[chosen], self.weights[chosen], rates, halves)

    def shift(self, by: int) -> Samples:
        """A copy with indices raised by a number of steps."""
        return replace(self, steps=self.steps + by)


@dataclass(frozen=True)
class AlignedSteps:
    """Consecutive steps of one segment; between segments nothing is known to be connected.

    Attributes:
        segment: number of the segment, from 0.
        first: index of the first step within the segment.
        times: (K,) of the steps [s].
        samples: readings of each stream at these steps, indices from 0.
    """

    segment: int
    first: int
    times: Array
    samples: Mapping[str, Samples]

    def __len__(self) -> int:
        return len(self.times)


def join(parts: Sequence[Samples], width: int) -> Samples:
    """Samples of one stream one after the other, without rates; without parts, an empty one of that width."""
    halves = [part.halves for part in parts if part.halves is not None]
    return Samples(
        np.concatenate([np.zeros(0, dtype=np.int64), *(part.steps for part in parts)]),
        np.concatenate([np.zeros((0, width)), *(part.values for part in parts)]),
        np.concatenate([np.zeros(0), *(part.weights for part in parts)]),
        halves=np.concatenate(halves) if halves and len(halves) == len(parts) else None,
    )
