# SPDX-License-Identifier: Apache-2.0
"""Variances of the noise, estimated from the residuals of a fit.

Rows of one kind share a variance. The sum of their squares over their redundancy,

    s^2 = sum r_i^2 / sum (1 - P_ii),   P_ii the leverage,

is the almost unbiased estimate of a variance component, in units of the stated one (Foerstner 1979; Rao and Kleffe,
Estimation of variance components, 1988). Repeated with the residuals weighed anew until it stays, it is the restricted
maximum of the likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.influence import Influence
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, IntArray

STATED = 2.0
"""Readings' worth of belief in the stated noise: what has little redundancy, as in a short log, keeps it."""

LONGEST = 50
"""Stages over which correlation is looked for."""


def variance_ratios(own: Influence, kinds: IntArray, count: int, *, belief: float = STATED) -> Array:
    """(count,) variance of each kind of rows in units of the stated one.

    Args:
        own: residuals and leverages of B blocks of m rows.
        kinds: (m,) the kind of each row, from 0 to count - 1.
        count: kinds.
        belief: readings' worth of belief in the stated variance.
    """
    squares = np.bincount(kinds, np.sum(own.residual**2, axis=0), count)
    free = np.bincount(kinds, np.sum(np.clip(1.0 - own.leverage, 0.0, 1.0), axis=0), count)
    return np.asarray((squares + belief) / (free + belief))


def lasting_correlation(r: Array, white: Sequence[Array] = ()) -> Array:
    """(L, m) correlation of residuals r (B, m) at lags 0 to L - 1, as far as it lasts; at least lag 0.

    White noise leaves residuals that are correlated, for the fit takes away what its unknowns can follow: where they
    are a trajectory, quick changes. What residuals `white` of simulated white noise show is taken off.

    Up to where two successive correlations no longer add up to something positive, and zero from there on (the initial
    positive sequence of Geyer, Practical Markov chain Monte Carlo, 1992).
    """
    lags = min(len(r) // 4, LONGEST) // 2 * 2
    if not lags:
        return np.ones((1, r.shape[1]))
    correlation = _correlation(r, lags)
    if white:
        correlation[1:] -= np.mean([_correlation(rows, lags) for rows in white], axis=0)[1:]
    pairs = correlation.reshape(-1, 2, r.shape[1])
    positive = np.cumprod(pairs.sum(axis=1) > 0.0, axis=0)
    return np.asarray((pairs * positive[:, None]).reshape(lags, -1))


def _correlation(r: Array, lags: int) -> Array:
    found = np.array([np.sum(r[: len(r) - lag] * r[lag:], axis=0) for lag in range(lags)])
    return np.asarray(found / np.maximum(found[0], np.finfo(float).tiny))


def correlation_time(r: Array, white: Sequence[Array] = ()) -> Array:
    """(m,) by how much the variance of a mean of residuals r (B, m) exceeds that of white noise, at least 1.

    1 + 2 (rho_1 + rho_2 + ...), as far as correlation lasts.
    """
    return np.asarray(np.maximum(2.0 * np.sum(lasting_correlation(r, white), axis=0) - 1.0, 1.0))
