# SPDX-License-Identifier: Apache-2.0
"""Covariance of a least-squares solution whose residuals are correlated inside blocks of unknown structure.

Blocks are taken as independent of one another, whatever happens inside them. Leaving block b out moves the linearised
estimate by

    delta_b = (H - H_b)^-1 g_b,    Cov = (B - 1)/B sum_b delta_b delta_b',

H_b and g_b the block's share of the Hessian and of the gradient. It is the sandwich H^-1 (sum_b g_b g_b') H^-1 with
each block's leverage accounted for (CR3 of cluster-robust inference; Bell and McCaffrey 2002): without that, a block
that carries most of what is known of a parameter would vouch for itself. Its Student distribution has the degrees of
freedom of Satterthwaite's approximation, fewer where few blocks matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.eigenvectors import eigenvectors

Array = npt.NDArray[np.float64]


_CLEAR = 1e-9
"""Eigenvalues above this are no rounding: the inverse is as good as by eigenvectors, which take five times as long."""


@dataclass(frozen=True)
class Jackknife:
    """Of K parameters and B blocks; not a number where the Hessian cannot be inverted.

    Attributes:
        matrix: (K, K) covariance; what is not known of `information` is no part of it.
        plain: (K, K) inverse Hessian: what white noise of the stated size would leave.
        freedom: (K,) degrees of freedom of each parameter's Student distribution.
    """

    matrix: Array
    plain: Array
    freedom: Array


def jackknife(hessians: Array, gradients: Array, information: Array) -> Jackknife:
    """Covariance from each block's share (B, K, K) of the Hessian and (B, K) of the gradient, at the solution.

    Args:
        hessians, gradients: of the blocks.
        information: (K, K) what is known without them.
    """
    count = len(hessians)
    whole = hessians.sum(axis=0) + information
    scale = np.sqrt(np.maximum(whole.diagonal(), 1e-300))
    hessians, gradients, whole = hessians / np.outer(scale, scale), gradients / scale, whole / np.outer(scale, scale)
    inverse = _inverse(whole)
    matrix, shares = np.zeros_like(whole), []
    for own, gradient in zip(hessians, gradients, strict=True):
        without = _inverse(whole - own)
        move = without @ gradient
        matrix += np.outer(move, move)
        # Cov of the block's score once the fit has taken its part, were the residuals white: H_b - H_b H^-1 H_b.
        white = own - own @ inverse @ own
        shares.append(np.sum((without @ white) * without, axis=1))
    units = np.outer(scale, scale)
    return Jackknife((count - 1) / count * matrix / units, inverse / units, _freedom(np.maximum(shares, 0.0)))


def long_run_ratio(time: Array, length: float) -> Array:
    """Variance of the sum of many errors over what blocks of `length` of them show of it, taken as independent.

    Errors whose correlation falls by a factor r from one to the next have the correlation time T = (1 + r) / (1 - r);
    the variance of a sum of L is L (T - (T^2 - 1) (1 - r^L) / (2 L)), of many of them T each.

    Args:
        time: correlation times, at least 1.
        length: L.
    """
    fall = (time - 1.0) / (time + 1.0)
    return np.asarray(time / (time - (time**2 - 1.0) * (1.0 - fall**length) / (2.0 * length)))


def _freedom(expected: Array) -> Array:
    """(K,) (sum e_b)^2 / sum e_b^2, less one: Satterthwaite's, for variances that sum nearly independent ones."""
    total = expected.sum(axis=0)
    found = np.where(total > 0.0, total**2 / np.maximum((expected**2).sum(axis=0), 1e-300), 1.0)
    return np.asarray(np.clip(found - 1.0, 1.0, len(expected) - 1.0))


def _inverse(matrix: Array) -> Array:
    """Inverse of a Hessian scaled to a unit diagonal; what is lost in rounding counts as barely known, not as known."""
    symmetric = 0.5 * (matrix + matrix.T)
    try:
        np.linalg.cholesky(symmetric - _CLEAR * np.eye(len(symmetric)))
        return np.asarray(np.linalg.inv(symmetric))
    except np.linalg.LinAlgError:  # eigenvalues near rounding, or no numbers
        values, vectors = eigenvectors(symmetric)
        return np.asarray((vectors / np.maximum(values, 1e-12)) @ vectors.T)
