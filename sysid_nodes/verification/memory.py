# SPDX-License-Identifier: Apache-2.0
"""Memory of a loop with old torques for what drove it (docs/certified/delay.md, lemma 1 and "Over intervals").

The kernel of ages a, kappa(a) = max g min(1, exp(-g (a - h))) over slow <= g <= fast, is level up to h and convex and
falling after. Its integrals are sums over a fine grid: chords lie above a convex function, tangents below.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_MORE = 1.0 + 1e-9
"""Sums of positive terms in double precision lose much less."""
_GRID = 4000
_REACH = 50.0
"""Ages beyond h up to which the grid goes, in parts of 1 / slow: exp(-50) of anything is left."""


class Kernel:
    """Integrals of kappa and of the age times kappa up to any age, from above and from below.

    Args:
        slow, fast: rates [1/s].
        h: largest age of a torque [s].
    """

    def __init__(self, slow: float, fast: float, h: float) -> None:
        self._fast, self._h = fast, h
        self._grid = np.concatenate([[0.0], np.geomspace(1e-4 / fast, _REACH / slow, _GRID)])
        low, high = self._grid[:-1], self._grid[1:]

        def kappa(u: Array) -> Array:
            rate = np.clip(1.0 / np.maximum(u, 1e-300), slow, fast)
            return np.asarray(rate * np.exp(-rate * u))

        chord, tangent = 0.5 * (high - low) * (kappa(low) + kappa(high)), (high - low) * kappa(0.5 * (low + high))
        more, less = chord * (h + high) * _MORE, tangent * (h + low) / _MORE
        self._sums = [np.append(0.0, np.cumsum(x)) for x in (chord * _MORE, more, tangent / _MORE, less)]

    def above(self, age: Array) -> tuple[Array, Array]:
        """Upper bounds of both integrals."""
        at = np.minimum(np.searchsorted(self._grid, age - self._h, side="left"), _GRID)
        return self._up_to(age, self._sums[0][at] * _MORE + 1e-18, self._sums[1][at] * _MORE + 1e-18)

    def below(self, age: Array) -> tuple[Array, Array]:
        """Lower bounds."""
        at = np.maximum(np.searchsorted(self._grid, age - self._h, side="right") - 1, 0)
        return self._up_to(age, self._sums[2][at] / _MORE, self._sums[3][at] / _MORE)

    def _up_to(self, age: Array, mass: Array, moment: Array) -> tuple[Array, Array]:
        young = np.minimum(age, self._h)
        return self._fast * young + mass, 0.5 * self._fast * young**2 + moment


class Ages:
    """Ages of each part of time as seen from each: the least at the beginning of the later one, the most at its end.

    Args:
        begin, length: (P,) of the parts; the last has no end.
        h: largest age of a torque [s].
    """

    def __init__(self, begin: Array, length: Array, h: float) -> None:
        end = begin + length
        self.h, self.least, self.most = h, begin[:, None] - begin, end[:, None] - begin
        self._since = begin[:, None] - end
        self._past = np.tri(len(begin)) > 0.0

    def answer(self, x: Array, above: Array, below: Array) -> Array:
        """(P,) bound on the integral of a kernel times what is at most x (P,) in each part.

        What is at most x is at most a sum of steps, each of which counts with the integral over its age.
        """
        step = np.diff(x, prepend=0.0)
        counted = np.where(step > 0.0, above * step, below * step)
        return np.asarray(np.where(self._past, counted, 0.0).sum(axis=1) * _MORE)

    def span(self, slow: float) -> tuple[Array, Array]:
        """Integrals of min(1, exp(-slow (age - h))), from above and from below."""
        above, below = (
            np.minimum(age, self.h) + (1.0 - np.exp(-slow * np.maximum(age - self.h, 0.0))) / slow
            for age in (self.most, np.maximum(self.least, 0.0))
        )
        return above * _MORE, below / _MORE

    def slow_answer(self, x: Array, slow: float) -> Array:
        """(P,) as `answer`, for a kernel of integral 1 at most of which ages beyond a have exp(-slow (a - h)) at most.

        What was more before than in the part after counts by how long ago that ended.
        """
        fallen = np.maximum(x - np.append(x[1:], np.inf), 0.0)
        left = np.exp(-slow * np.maximum(self._since - self.h, 0.0))
        older = np.tri(len(x), k=-1) > 0.0
        return np.asarray((x + np.where(older, left * fallen, 0.0).sum(axis=1)) * _MORE)
