# SPDX-License-Identifier: Apache-2.0
"""One value from several runs: what scatters between them (temperature, wear) counts as much as what each says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.shooting.problem import Array


@dataclass(frozen=True)
class BetweenRuns:
    """Of K parameters from R runs.

    Attributes:
        mean: (K,).
        sigma: (K,) of the mean.
        scatter: (K,) standard deviation of the true values from run to run; zero where the runs' own sigmas explain
            all.
        freedom: of the mean's Student distribution.
    """

    mean: Array
    sigma: Array
    scatter: Array
    freedom: float

    @property
    def predictive(self) -> Array:
        """(K,) standard deviation of the value in a further run about the mean."""
        return np.sqrt(self.sigma**2 + self.scatter**2)


def combine_runs(estimates: Array, sigmas: Array) -> BetweenRuns:
    """Random effects: DerSimonian and Laird's scatter, Hartung and Knapp's sigma (which is honest for few runs).

    Args:
        estimates, sigmas: (R, K), R >= 2, sigmas positive.

    Raises:
        SamplesError: fewer than two runs, or a sigma is not positive and finite.
    """
    if estimates.ndim != 2 or estimates.shape != sigmas.shape or len(estimates) < 2:
        raise SamplesError(f"scatter between runs needs two runs, got estimates of shape {estimates.shape}")
    if not (np.isfinite(sigmas) & (sigmas > 0.0)).all():
        raise SamplesError("every estimate needs a positive sigma")
    weight = sigmas**-2.0
    freedom = len(estimates) - 1
    mean = (weight * estimates).sum(axis=0) / weight.sum(axis=0)
    excess = (weight * (estimates - mean) ** 2).sum(axis=0) - freedom
    spread = weight.sum(axis=0) - (weight**2).sum(axis=0) / weight.sum(axis=0)
    square = np.maximum(excess / spread, 0.0)
    weight = 1.0 / (sigmas**2 + square)
    mean = (weight * estimates).sum(axis=0) / weight.sum(axis=0)
    quality = (weight * (estimates - mean) ** 2).sum(axis=0) / freedom
    # Not below one: runs that agree by chance do not make each other more exact than they are.
    sigma = np.sqrt(np.maximum(quality, 1.0) / weight.sum(axis=0))
    return BetweenRuns(mean, sigma, np.sqrt(square), float(freedom))
