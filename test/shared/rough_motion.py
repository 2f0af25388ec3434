# SPDX-License-Identifier: Apache-2.0
"""The worst motions the assumptions allow: acceleration that jumps between its bounds at any instant.

Position and velocity are piecewise polynomials, so that they are exact at any stamp, and integrals over a window are
sums of Gauss quadratures over pieces on which everything is smooth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)


@dataclass(frozen=True)
class RoughMotion:
    """Pieces between knots (K + 1,), each with a constant acceleration (K, n); position and velocity at the knots."""

    knots: Array
    acceleration: Array
    position: Array
    velocity: Array

    @classmethod
    def random(
        cls, rng: np.random.Generator, centre: Array, bound: Array, speed: Array, duration: float, piece: float
    ) -> RoughMotion:
        """Accelerations at +-bound (n,), drawn anew every `piece` seconds on average, turned back at +-speed (n,)."""
        knots = np.concatenate([[0.0], np.cumsum(rng.uniform(0.2, 1.8, int(duration / piece) + 2) * piece)])
        knots = np.append(knots[knots < duration], duration)
        n = centre.size
        position, velocity = [centre], [rng.uniform(-1.0, 1.0, n) * speed]
        acceleration = []
        sign = rng.choice([-1.0, 1.0], n)
        for h in np.diff(knots):
            sign = np.where(rng.random(n) < 0.5, -sign, sign)
            v = velocity[-1]
            sign = np.where(np.abs(v + sign * bound * h) > speed, -np.sign(v), sign)
            a = np.where(rng.random(n) < 0.9, 1.0, rng.random(n)) * sign * bound
            acceleration.append(a)
            velocity.append(v + a * h)
            position.append(position[-1] + v * h + 0.5 * a * h * h)
        return cls(knots, np.array(acceleration), np.array(position), np.array(velocity))

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """q, qd, qdd (N, n) at t (N,)."""
        k = np.clip(np.searchsorted(self.knots, t, side="right") - 1, 0, len(self.acceleration) - 1)
        s = (t - self.knots[k])[:, None]
        a = self.acceleration[k]
        return (
            self.position[k] + self.velocity[k] * s + 0.5 * a * s * s,
            self.velocity[k] + a * s,
            a,
        )

    def direction(self, start: float, stop: float) -> Array:
        """(n,) exact integral of sign(qd) from start to stop."""
        inside = self.knots[(self.knots > start) & (self.knots < stop)]
        t = np.concatenate([[start], inside, [stop]])
        h = np.diff(t)[:, None]
        _, v, a = self(0.5 * (t[1:] + t[:-1]))
        first, last = v - 0.5 * a * h, v + 0.5 * a * h
        turns = first * last < 0.0
        # a piece whose speed goes linearly through zero spends |first| and |last| of |first| + |last| on either side
        share = (np.abs(last) - np.abs(first)) / np.where(turns, np.abs(first) + np.abs(last), 1.0)
        return np.asarray((h * np.where(turns, np.sign(last) * share, np.sign(first + last))).sum(axis=0))

    def quadrature(self, start: float, stop: float) -> tuple[Array, Array]:
        """Instants and weights that integrate any smooth function of the motion from start to stop."""
        regular = np.linspace(start, stop, 2 + int((stop - start) / 2e-3))  # short pieces: exact to rounding
        inside = self.knots[(self.knots > start) & (self.knots < stop)]
        return gauss(np.unique(np.concatenate([regular, inside])))


def gauss(knots: Array) -> tuple[Array, Array]:
    """Instants and weights of a Gauss quadrature between each pair of knots."""
    half = 0.5 * np.diff(knots)[:, None]
    middle = 0.5 * (knots[1:] + knots[:-1])[:, None]
    return (middle + half * _NODES).ravel(), (half * _WEIGHTS).ravel()
