# SPDX-License-Identifier: Apache-2.0
"""Knowledge of parameters before a run, as a quadratic that may be wrong by more than its own curvature says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Belief:
    """1/2 (x - point)' information (x - point) + score' (x - point), and how its slope at the truth scatters.

    A Gaussian has score zero and score_covariance = information. A fit of correlated residuals has more scatter than
    curvature, and a score where a constraint holds it.

    Attributes:
        point: (K,).
        information: (K, K), positive semidefinite; a parameter whose row is zero is not known at all.
        score: (K,).
        score_covariance: (K, K).
    """

    point: Array
    information: Array
    score: Array
    score_covariance: Array

    @classmethod
    def gaussian(cls, point: Array, sigma: Array) -> Belief:
        """Independent parameters; a sigma of zero is a parameter that stays as it is, and has information 0."""
        information = np.diag(np.where(sigma > 0.0, 1.0 / np.where(sigma > 0.0, sigma, 1.0) ** 2, 0.0))
        return cls(point, information, np.zeros(len(point)), information)

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """(K,) parameters that something is known of: the others stay at the point."""
        return np.asarray(self.information.diagonal() > 0.0)

    @property
    def sigma(self) -> Array:
        """(K,) standard deviation of each parameter were all others at the point; 0 where nothing is known."""
        size = self.information.diagonal()
        return np.where(self.known, 1.0 / np.sqrt(np.where(self.known, size, 1.0)), 0.0)

    def drift(self, sigma: Array) -> Belief:
        """The same of parameters that have moved by sigma (K,) since."""
        variance = np.where(self.known, sigma, 0.0) ** 2
        # F = (1 + H S)^-1; F H is the information of point + drift, F M F' + F H S H F' the scatter of its slope.
        factor = np.linalg.inv(np.eye(len(sigma)) + self.information * variance)
        information = factor @ self.information
        scatter = factor @ self.score_covariance @ factor.T + (information * variance) @ information.T
        return Belief(self.point, 0.5 * (information + information.T), factor @ self.score, 0.5 * (scatter + scatter.T))

    def hold(self, which: npt.NDArray[np.bool_]) -> Belief:
        """The same with some parameters (K,) at the point for good."""
        free = np.outer(~which, ~which)
        return Belief(self.point, self.information * free, self.score * ~which, self.score_covariance * free)

    def and_also(self, other: Belief) -> Belief:
        """Belief of these parameters and, after them, of others that are independent."""
        k, m = len(self.point), len(other.point)

        def diagonal(a: Array, b: Array) -> Array:
            return np.block([[a, np.zeros((k, m))], [np.zeros((m, k)), b]])

        return Belief(
            np.concatenate([self.point, other.point]),
            diagonal(self.information, other.information),
            np.concatenate([self.score, other.score]),
            diagonal(self.score_covariance, other.score_covariance),
        )

    def first(self, count: int) -> Belief:
        """Belief of the first parameters alone, whatever the others are."""
        a, b = slice(0, count), np.flatnonzero(self.known[count:]) + count
        if not b.size:
            return Belief(self.point[a], self.information[a, a], self.score[a], self.score_covariance[a, a])
        gain = np.linalg.solve(self.information[np.ix_(b, b)], self.information[b, a]).T
        scatter = self.score_covariance
        return Belief(
            self.point[a],
            self.information[a, a] - gain @ self.information[b, a],
            self.score[a] - gain @ self.score[b],
            scatter[a, a] - gain @ scatter[b, a] - scatter[a][:, b] @ gain.T + gain @ scatter[np.ix_(b, b)] @ gain.T,
        )
