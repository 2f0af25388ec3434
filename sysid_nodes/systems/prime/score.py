# SPDX-License-Identifier: Apache-2.0
"""Noise in what an arrival cost tells, of the size that residuals had and not of the stated one.

An arrival's rows have unit variance if the stated noise is right. If rows J_i have variances v_i instead, the score
J' r has the covariance S = sum v_i J_i' J_i, and an estimate with the Hessian H = sum J_i' J_i errs by H^-1 S H^-1
(observed_noise.py). Eliminating unknowns 1 of a linear problem leaves the score

    T g,   T = [-H_21 H_11^-1, 1],   with the covariance T S T',

so that S goes with the window as the information does. The weak prior on forces always pulls in the same direction:
its part of the score adds up and is kept apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """Of n unknowns, first those of stages and then the parameters.

    Attributes:
        covariance: (n, n) of the noise.
        pull: (n,) of the forces' prior.
    """

    covariance: Array
    pull: Array

    @staticmethod
    def as_stated(root: Array) -> Score:
        """Of rows (r, n) of unit variance."""
        return Score(root.T @ root, np.zeros(root.shape[1]))

    def __add__(self, other: Score) -> Score:
        return Score(self.covariance + other.covariance, self.pull + other.pull)

    def change_unknowns(self, slope: Array) -> Score:
        """Of new unknowns (m,), by which the old ones have the derivative (n, m)."""
        return Score(slope.T @ self.covariance @ slope, slope.T @ self.pull)

    def substitute(self, gain: Array) -> Score:
        """Without the first k unknowns, which are `gain` (k, n - k) times the others and something constant."""
        k, covariance = len(gain), self.covariance
        cross = gain.T @ (covariance[:k, k:] + 0.5 * covariance[:k, :k] @ gain)
        return Score(covariance[k:, k:] + cross + cross.T, self.pull[k:] + gain.T @ self.pull[:k])

    def eliminate(self, information: Array, count: int) -> Score | None:
        """Without the first `count` unknowns; None where they are not determined.

        Args:
            information: (n, n) Hessian H.
            count: how many.
        """
        scale = np.sqrt(np.diag(information)[:count])
        if not (np.isfinite(information).all() and np.all(scale > 0.0)):
            return None
        try:
            factor = cho_factor(information[:count, :count] / np.outer(scale, scale), lower=True)
        except LinAlgError:
            return None
        gain = cho_solve(factor, information[:count, count:] / scale[:, None]) / scale[:, None]
        return self.substitute(-gain)
