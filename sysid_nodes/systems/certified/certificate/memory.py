# SPDX-License-Identifier: Apache-2.0
"""Memory of a delayed loop: bounds on its kernels, and sums over time intervals with them.

x' = g (f(t) - x(s(t))) with t - h <= s(t) <= t and g h <= 1/e answers to f with a kernel g X(t, t - a) between 0 and
g min(1, exp(-g (a - h))), whose integral over all ages a is at most 1; see docs/certified/delay.md. The largest value
over rates slow <= g <= fast is integrated here over ages in closed form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE

STEADY = float(np.exp(-1.0)) * (1.0 - 1e-9)
"""Largest product of rate and age for which the kernel is proven not to change its sign."""

_EVER = 1e3
"""Age that stands for infinity [s]."""


class Kernel(NamedTuple):
    """Integrals up to an age: of the kernel, of the kernel times the age, and of min(1, exp(-slow (a - h)))."""

    mass: Array
    moment: Array
    length: Array


def kernel(age: Array, slow: Array, fast: Array, h: float) -> Kernel:
    """The integrals from 0 to ``age``, of the largest kernel among those with rates from slow to fast [1/s]."""
    one, two = 1.0 / fast, 1.0 / slow
    new = np.minimum(age, h)
    u = np.maximum(age - h, 0.0)
    # The largest of g exp(-g u) is at fast for u <= 1 / fast, at slow for u >= 1 / slow, and 1 / (e u) in between.
    a, b, c = np.minimum(u, one), np.clip(u, one, two), np.maximum(u, two)
    early, late = np.exp(-fast * a), np.exp(-slow * c)
    later = 1.0 - early + np.log(fast * b) / np.e + np.exp(-1.0) - late
    moment = one - (one + a) * early + (b - one) / np.e + 2.0 * two / np.e - (two + c) * late
    length = new + two * (1.0 - np.exp(-slow * u))
    return Kernel(
        (fast * new + later) * INFLATE, (0.5 * fast * new**2 + h * later + moment) * INFLATE, length * INFLATE
    )


def peak_rate(age: Array, slow: float, fast: float) -> Array:
    """The largest of g exp(-g age) over slow <= g <= fast [1/s]."""
    g = np.clip(1.0 / np.maximum(age, 1e-12), slow, fast)
    return np.asarray(g * np.exp(-g * age) * INFLATE)


class Intervals:
    """Time intervals that a response is summed over.

    Args:
        edges: (T + 1,) [s]; the last may be infinite.
        age: h, no longer than any interval [s].

    Attributes:
        begin: (T,) their starts [s].
        acting: (T,) for how long torques of this motion act at least [s]; the first does so within one age.
    """

    def __init__(self, edges: Array, age: float) -> None:
        self._age = age
        self.begin = edges[:-1]
        self.acting = np.maximum(self.begin - age, 0.0)
        self._most = np.clip(edges[1:, None] - self.begin, 0.0, _EVER)
        self._least = np.maximum(self.begin[:, None] - self.begin, 0.0)
        self._since = np.maximum(self.begin[:, None] - edges[1:], 0.0)
        self._past = np.tri(len(self.begin))

    def kernels(self, slow: Array, fast: Array) -> tuple[Kernel, Kernel]:
        """Kernels up to the largest and the least ages of the interval j in the interval i, (T, T, ...)."""
        shape = (...,) + (None,) * np.ndim(slow)
        most, least = self._most[shape], self._least[shape]
        return kernel(most, slow, fast, self._age), kernel(least, slow, fast, self._age)

    def answer(self, x: Array, most: Array, least: Array) -> Array:
        """(T, ...) bound in each interval on the integral of a kernel times what is at most x (T, ...) in each.

        By parts: the integral is the sum over j of (x_j - x_(j-1)) I(t - begin_j), I growing with the age.
        """
        step = np.diff(x, axis=0, prepend=np.zeros_like(x[:1]))
        part = most * np.maximum(step, 0.0) + least * np.minimum(step, 0.0)
        return np.asarray(np.einsum("ij,ij...->i...", self._past, part) * INFLATE)

    def bounded_answer(self, x: Array, slow: Array) -> Array:
        """(T, n) the same for a kernel whose integral is at most 1, and beyond an age a at most exp(-slow (a - h))."""
        drop = np.maximum(x[:-1] - x[1:], 0.0)
        tail = np.exp(-slow * np.maximum(self._since[:, :-1, None] - self._age, 0.0))
        older = self._past[:, 1:, None]
        return np.asarray((x + (older * tail * drop).sum(axis=1)) * INFLATE)
