# SPDX-License-Identifier: Apache-2.0
"""Posterior of the parameters under their constraints: a Gaussian in the equalities' null space, cut off at the bounds.

The Gaussian's mean is where the linearised problem would go without bounds: beyond a bound that is active. Only
parameters with a bound in reach need care; those are drawn from the truncated Gaussian by exact Hamiltonian
trajectories that bounce at the bounds, many chains at a time, and the rest given them in closed form (Pakman and
Paninski, Exact Hamiltonian Monte Carlo for truncated multivariate Gaussians, 2014). Gibbs' sampler, coordinate by
coordinate, does not get on where they are strongly correlated, as frictions of joints that turn together are; it takes
turns with them for bounds so far beyond the mean that a trajectory bounces there without end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr, ndtri_exp

from sysid_nodes.solvers.eigenvectors import eigenvectors
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, IntArray

_REACH = 5.0  # standard deviations at which a bound cuts nothing off that samples could show
_TRAJECTORIES = 20  # of each chain, a quarter of a period long: without bounds a single one forgets its start
_BOUNCES = 200  # of a trajectory; one with more of them is not made, nor is its reverse
_TOUCH = 1e-9  # time within which a bound that was just left is not met again
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
        bounded = self._bounded
        values, vectors = eigenvectors(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        draws = self.mean + rng.standard_normal((count, len(self.mean))) @ root.T
        if not len(bounded) or not np.isfinite(draws).all():
            return np.asarray(draws)
        inside = self._draw_bounded(bounded, count, rng)
        draws += (inside - draws[:, bounded]) @ self._gain(bounded)
        draws[:, bounded] = inside
        return np.asarray(draws)

    def expectation(self, count: int, rng: np.random.Generator) -> Array:
        """(p,) mean of the truncated Gaussian: of `count` draws of what has a bound in reach; the rest goes with it."""
        bounded = self._bounded
        if not len(bounded) or not np.isfinite(self.covariance).all():
            return self.mean
        inside = self._draw_bounded(bounded, count, rng).mean(axis=0)
        return np.asarray(self.mean + (inside - self.mean[bounded]) @ self._gain(bounded))

    @property
    def _bounded(self) -> IntArray:
        """Parameters that have a bound in reach."""
        sigma = np.sqrt(np.diag(self.covariance))
        near = (self.lower > self.mean - _REACH * sigma) | (self.upper < self.mean + _REACH * sigma)
        return np.flatnonzero(near & (sigma > 0.0))

    def _gain(self, chosen: IntArray) -> Array:
        """(k, p) by which all parameters go with k of them."""
        own = self.covariance[np.ix_(chosen, chosen)]
        return np.asarray(np.linalg.lstsq(own, self.covariance[chosen], rcond=1e-12)[0])

    def _draw_bounded(self, chosen: IntArray, count: int, rng: np.random.Generator) -> Array:
        """Draws of the parameters that have a bound in reach."""
        lower, upper, mean = self.lower[chosen], self.upper[chosen], self.mean[chosen]
        own = self.covariance[np.ix_(chosen, chosen)]
        spread = np.sqrt(np.diag(own))
        if np.abs(own / np.outer(spread, spread) - np.eye(len(chosen))).max() <= _ALONE:
            ends = (lower - mean) / spread, (upper - mean) / spread
            draws = [
                _truncated_normal(np.full(count, low), np.full(count, high), rng)
                for low, high in zip(*ends, strict=True)
            ]
            return np.asarray(np.clip(mean + spread * np.stack(draws, axis=1), lower, upper))
        values, vectors = eigenvectors(own / np.outer(spread, spread))
        root = spread[:, None] * vectors * np.sqrt(np.maximum(values, _ALONE * values.max()))
        inverse = np.linalg.inv(root)
        precision = inverse.T @ inverse
        below, above = np.isfinite(lower), np.isfinite(upper)
        walls = np.concatenate([root[below], -root[above]])
        room = np.concatenate([(mean - lower)[below], (upper - mean)[above]])
        inside = np.minimum(1e-3 * spread, 0.25 * (upper - lower))
        x = np.tile(np.clip(mean, lower + inside, upper - inside), (count, 1))
        for _ in range(_TRAJECTORIES):
            z = _bounce((x - mean) @ inverse.T, rng.standard_normal(x.shape), walls, room)
            x = np.clip(mean + z @ root.T, lower, upper)
            for i, own_spread in enumerate(1.0 / np.sqrt(np.diag(precision))):
                centre = x[:, i] - (x - mean) @ precision[:, i] * own_spread**2
                ends = (lower[i] - centre) / own_spread, (upper[i] - centre) / own_spread
                x[:, i] = np.clip(centre + own_spread * _truncated_normal(*ends, rng), lower[i], upper[i])
        return x


def _bounce(z: Array, v: Array, walls: Array, room: Array) -> Array:
    """(S, k) where particles at z with speeds v are after a quarter of a period in the potential z'z / 2.

    They stay where walls z + room >= 0, (w, k) and (w,), and are reflected there; where that is too often, they stay at
    z.
    """
    out, moving, left = z.copy(), np.arange(len(z)), np.full(len(z), 0.5 * np.pi)
    for _ in range(_BOUNCES):
        across, along = v @ walls.T, z @ walls.T
        size = np.hypot(across, along)
        reaches = size > np.abs(room)
        phase = np.arctan2(-across, along)
        turn = np.arccos(np.where(reaches, -room / np.maximum(size, np.finfo(float).tiny), 0.0))
        times = np.stack([turn - phase, -turn - phase]) % (2.0 * np.pi)
        times = np.where((times > _TOUCH) & (times < 2.0 * np.pi - _TOUCH), times, np.inf).min(axis=0)
        times = np.where(reaches, times, np.inf)
        wall = np.argmin(times, axis=1)
        first = times[np.arange(len(z)), wall]
        t = np.minimum(first, left)
        z, v = v * np.sin(t)[:, None] + z * np.cos(t)[:, None], v * np.cos(t)[:, None] - z * np.sin(t)[:, None]
        ends = first >= left
        out[moving[ends]] = z[ends]
        normal = walls[wall]
        back = np.einsum("sk,sk->s", v, normal) / np.einsum("sk,sk->s", normal, normal)
        # Where rounding has left one outside, it comes in again.
        v = v - 2.0 * np.minimum(back, 0.0)[:, None] * normal
        z, v, moving, left = z[~ends], v[~ends], moving[~ends], (left - t)[~ends]
        if not len(moving):
            break
    return out


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
    """Standard normal draws within bounds, by the inverse of the distribution function's logarithm.

    The function itself has no digits left from 38 standard deviations on.
    """
    flip = lower > 0.0
    low, high = np.where(flip, -upper, lower), np.where(flip, -lower, upper)
    share = np.clip(rng.random(len(low)), np.finfo(float).tiny, 1.0 - np.finfo(float).eps)
    x = ndtri_exp(np.logaddexp(np.log1p(-share) + log_ndtr(low), np.log(share) + log_ndtr(high)))
    return np.where(flip, -x, x)
