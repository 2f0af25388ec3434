# SPDX-License-Identifier: Apache-2.0
"""The tree-structured Parzen estimator for one number (Bergstra et al., NeurIPS 2011).

Points so far are parted into the best tenth and the rest, and each part gets a density of normal kernels as wide as the
distance to their neighbours; of some draws from the first density the one is tried at which it exceeds the second most.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.stats import truncnorm

Array = npt.NDArray[np.float64]

_STARTUP, _CANDIDATES, _BEST = 10, 24, 0.1


def tpe(
    function: Callable[[float], float], lower: float, upper: float, trials: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The best point within bounds, and its cost."""
    points, costs = np.zeros(0), np.zeros(0)
    for number in range(trials):
        if number < _STARTUP:
            point = float(rng.uniform(lower, upper))
        else:
            order = np.argsort(costs)
            count = int(np.ceil(_BEST * number))
            good, rest = (_Density(points[part], lower, upper) for part in (order[:count], order[count:]))
            drawn = good.draw(_CANDIDATES, rng)
            point = float(drawn[np.argmax(good(drawn) / rest(drawn))])
        points, costs = np.append(points, point), np.append(costs, function(point))
    best = int(np.argmin(costs))
    return float(points[best]), float(costs[best])


class _Density:
    """Kernels about points, and one as wide as the bounds in their middle."""

    def __init__(self, points: Array, lower: float, upper: float) -> None:
        span, centres = upper - lower, np.sort(np.append(points, 0.5 * (lower + upper)))
        gaps = np.diff(np.concatenate([[lower], centres, [upper]]))
        width = np.clip(np.maximum(gaps[:-1], gaps[1:]), span / min(100, len(centres) + 1), span)
        self._law = truncnorm((lower - centres) / width, (upper - centres) / width, centres, width)
        self._count = len(centres)

    def __call__(self, at: Array) -> Array:
        return np.asarray(self._law.pdf(at[:, None]).mean(axis=1))

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        which = rng.integers(0, self._count, count)
        return np.asarray(self._law.rvs((count, self._count), random_state=rng)[np.arange(count), which])
