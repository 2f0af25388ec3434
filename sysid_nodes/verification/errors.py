# SPDX-License-Identifier: Apache-2.0
"""Errors of joints, known by a norm of all and one by one: sums over joints are bounded in both ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Errors:
    """Errors x of n joints over P parts: sqrt(sum root_j^2 x_j^2) <= norm (P,) and |x_j| <= each (P, n)."""

    norm: Array
    each: Array
    root: Array

    @classmethod
    def within(cls, norm: Array, root: Array) -> Errors:
        """Errors of which a norm is all that is known."""
        return cls(norm, norm[:, None] / root, root)

    def weighted_sum(self, weight: Array) -> Array:
        """(P,) bound on sum weight_j |x_j|, for weights (n,) or (P, n) that are not negative."""
        together = self.norm * np.sqrt(((weight / self.root) ** 2).sum(axis=-1))
        return np.asarray(np.minimum(together, (weight * self.each).sum(axis=-1)))

    def along(self, slope: Array) -> Array:
        """(P, ...) bounds on |sum slope_j x_j| for slopes (n, P, ...)."""
        alone = np.einsum("jp...,pj->p...", np.abs(slope), self.each)
        together = np.sqrt(np.einsum("jp...,jp...,j->p...", slope, slope, self.root**-2.0))
        return np.asarray(np.minimum(alone, together * self.norm.reshape(-1, *(1,) * (slope.ndim - 2))))

    def times(self, matrix: Array) -> Array:
        """(P, n) bounds on |A x|, for |A_jk| at most ``matrix`` (P, n, n)."""
        return np.stack([self.weighted_sum(matrix[:, j]) for j in range(matrix.shape[1])], axis=1)

    def scale(self, factor: float) -> Errors:
        return Errors(factor * self.norm, factor * self.each, self.root)

    def __add__(self, other: Errors) -> Errors:
        """The same norm bounds both."""
        return Errors(self.norm + other.norm, self.each + other.each, self.root)
