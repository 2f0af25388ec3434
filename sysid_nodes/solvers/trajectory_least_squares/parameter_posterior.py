# SPDX-License-Identifier: Apache-2.0
"""Posterior of the parameters under their constraints: a Gaussian in the equalities' null space, cut off at the bounds.

The Gaussian's mean is where the linearised problem would go without bounds: beyond a bound that is active. Only
parameters with a bound in reach need care; those are drawn by Gibbs' sampler from the truncated Gaussian, coordinate by
coordinate, many chains at a time, and the rest given them in closed form (Geweke, Efficient simulation from the
multivariate normal subject to linear constraints, 1991).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri

from sysid_nodes.solvers.eigenvectors import eigenvectors
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, IntArray

_REACH = 5.0  # standard deviations at which a bound cuts nothing off that samples could show
_SWEEPS = 100  # of Gibbs' sampler: strongly correlated bounds forget their start in fewer
_ALONE = 1e-9  # correlation up to which parameters are drawn one by one


@dataclass(frozen=True)
class ParameterPosterior:
    """Steps from a point, of the parameters.

    Attributes:
        mean: (p,) of the Gaussian before it is cut off; zero where no bound is active.
        covariance: (p, p) of the same.
        lower, upper: (p,) bounds of the steps.
    """

    mean: Array
    covariance: Array
    lower: Array
    upper: Array

    def samples(self, count: int, rng: np.random.Generator) -> Array:
        """(count, p) independent draws from the truncated Gaussian; not a number where the covariance has no root."""
        sigma = np.sqrt(np.diag(self.covariance))
        near = (self.lower > self.mean - _REACH * sigma) | (self.upper < self.mean + _REACH * sigma)
        (bounded,) = np.nonzero(near & (sigma > 0.0))
        values, vectors = eigenvectors(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        draws = self.mean + rng.standard_normal((count, len(self.mean))) @ root.T
        if not len(bounded) or not np.isfinite(draws).all():
            return np.asarray(draws)
        inside = self._bounded(bounded, count, rng)
        own = self.covariance[np.ix_(bounded, bounded)]
        gain = np.linalg.lstsq(own, self.covariance[bounded], rcond=1e-12)[0]
        draws += (inside - draws[:, bounded]) @ gain
        draws[:, bounded] = inside
        return np.asarray(draws)

    def _bounded(self, chosen: IntArray, count: int, rng: np.random.Generator) -> Array:
        """Draws of the parameters that have a bound in reach."""
        lower, upper, mean = self.lower[chosen], self.upper[chosen], self.mean[chosen]
        precision = np.linalg.pinv(self.covariance[np.ix_(chosen, chosen)], rcond=1e-12, hermitian=True)
        spread = 1.0 / np.sqrt(np.diag(precision))
        x = np.tile(np.clip(mean, lower, upper), (count, 1))
        coupled = np.abs(precision * np.outer(spread, spread) - np.eye(len(chosen))).max() > _ALONE
        for _ in range(_SWEEPS if coupled else 1):
            for i in range(len(chosen)):
                off = (x - mean) @ precision[:, i] - (x[:, i] - mean[i]) * precision[i, i]
                centre = mean[i] - off * spread[i] ** 2
                x[:, i] = centre + spread[i] * _truncated_normal(
                    (lower[i] - centre) / spread[i], (upper[i] - centre) / spread[i], rng
                )
                x[:, i] = np.clip(x[:, i], lower[i], upper[i])
        return x


def parameter_posterior(factor: Factor, rows: ParameterRows, extra: Array | None = None) -> ParameterPosterior:
    """The posterior from an undamped factor and the constraints at the same point.

    Args:
        factor: of the normal equations.
        rows: constraints.
        extra: (p, p) covariance that correlated noise adds to that of the white noise in the factor.
    """
    p = len(rows.lower)
    root = solve_triangular(factor.corner, np.eye(p), lower=True)
    mean = -root.T @ (root @ factor.parameter_gradient)
    keep = np.eye(p)
    if len(rows.equality):
        # In z = L's the equalities' null space is an orthogonal projection.
        whitened = solve_triangular(factor.corner, rows.equality[:, :p].T, lower=True).T
        inverse = np.linalg.pinv(whitened)
        mean = mean - root.T @ (inverse @ (rows.equality[:, :p] @ mean + rows.equality[:, p]))
        keep = root.T @ (np.eye(p) - inverse @ whitened) @ factor.corner.T
        root = root - inverse @ (whitened @ root)
    covariance = root.T @ root
    if extra is not None:
        covariance = covariance + keep @ extra @ keep.T
    return ParameterPosterior(np.asarray(mean), np.asarray(covariance), rows.lower, rows.upper)


def _truncated_normal(lower: Array, upper: Array, rng: np.random.Generator) -> Any:
    """Standard normal draws within bounds, by the inverse of the distribution function in the tail that has digits."""
    flip = lower > 0.0
    low, high = np.where(flip, -upper, lower), np.where(flip, -lower, upper)
    below, above = ndtr(low), ndtr(high)
    x = ndtri(np.maximum(below + rng.random(len(low)) * (above - below), np.finfo(float).tiny))
    return np.where(flip, -x, x)
