# SPDX-License-Identifier: Apache-2.0
"""Covariance of parameters whose residuals are correlated in time: the block jackknife of the linearised problem.

Blocks of consecutive samples are taken as independent of one another, whatever happens inside them. Leaving block b
out moves the linearised estimate by

    delta_b = (H - H_b)^-1 g_b,    Cov = (B - 1)/B sum_b delta_b delta_b',

H_b and g_b the block's share of the Hessian and of the gradient, start states eliminated. It is the sandwich
H^-1 (sum_b g_b g_b') H^-1 with each block's leverage accounted for (CR3 of cluster-robust inference; Bell and McCaffrey
2002): without that, a block that carries most of what is known of a parameter would vouch for itself. Its Student
distribution has the degrees of freedom of Satterthwaite's approximation, fewer where few blocks matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.shooting.normal_equations import Equations
from sysid_nodes.solvers.shooting.problem import Array

BoolArray = npt.NDArray[np.bool_]

_LEAST = 3  # blocks


@dataclass(frozen=True)
class Covariance:
    """Of K parameters.

    Attributes:
        matrix: (K, K); rows and columns of parameters that were not free are zero.
        plain: (K, K) inverse Hessian: what white noise of the stated size would leave.
        freedom: (K,) degrees of freedom of each parameter's Student distribution.
        blocks: number of blocks.
    """

    matrix: Array
    plain: Array
    freedom: Array
    blocks: int

    @property
    def sigma(self) -> Array:
        """(K,) standard deviations."""
        return np.sqrt(np.diag(self.matrix))


def block_jackknife(equations: Equations, free: BoolArray, block: int) -> Covariance:
    """Covariance at a solution.

    Args:
        equations: at the solution.
        free: (K,) parameters that no bound holds.
        block: rows of a block: longer than residuals stay correlated.

    Raises:
        SamplesError: there are fewer than three blocks.
    """
    k = len(free)
    rows = _profiled(equations)
    count = len(rows) // block
    if count < _LEAST:
        raise SamplesError(f"{len(rows)} residuals make {count} blocks of {block}; a covariance needs {_LEAST}")
    edges = np.linspace(0, len(rows), count + 1).astype(int)
    parts = [rows[a:b] for a, b in pairwise(edges)]
    hessians = np.array([part[:, :k].T @ part[:, :k] for part in parts])[:, free][:, :, free]
    gradients = np.array([part[:, :k].T @ part[:, k] for part in parts])[:, free]
    scale = np.sqrt(np.maximum(hessians.sum(axis=0).diagonal() + equations.information[free], 1e-300))
    hessians, gradients = hessians / np.outer(scale, scale), gradients / scale
    whole = hessians.sum(axis=0) + np.diag(equations.information[free] / scale**2)
    moves = np.array([_pseudo_inverse(whole - own) @ g for own, g in zip(hessians, gradients, strict=True)]) / scale
    matrix, plain, freedom = np.zeros((k, k)), np.zeros((k, k)), np.full(k, float(count - 1))
    at = np.ix_(free, free)
    inverse = _pseudo_inverse(whole)
    matrix[at] = (count - 1) / count * moves.T @ moves
    plain[at] = inverse / np.outer(scale, scale)
    freedom[free] = _freedom(inverse, hessians, whole)
    return Covariance(matrix, plain, freedom, count)


def _profiled(equations: Equations) -> Array:
    """(S m, K + 1) rows of the parameters with each segment's start state following, and the residuals."""
    k = len(equations.gradient)
    _, gain = equations.eliminated(0.0)
    rows = equations.rows[:, [*range(k), equations.rows.shape[1] - 1]].copy()
    starts = equations.rows[:, k:-1]
    for g, (begin, end) in enumerate(pairwise(equations.edges)):
        rows[begin:end, :k] -= starts[begin:end] @ gain[g].T
    return rows


def _freedom(inverse: Array, hessians: Array, whole: Array) -> Array:
    """Satterthwaite's degrees of freedom of each variance, were the residuals white.

    The jackknife's variance of parameter i is then sum_b of squares with expectations e_b = a_b' H_b a_b (a_b the row
    of (H - H_b)^-1), nearly independent but for the fit itself: freedom = (sum e_b)^2 / sum e_b^2, less one.
    """
    shares = []
    for own in hessians:
        rows = _pseudo_inverse(whole - own)
        # Cov of the block's score once the fit has taken its part: H_b - H_b H^-1 H_b.
        shares.append(np.einsum("ij,jk,ik->i", rows, own - own @ inverse @ own, rows))
    expected = np.maximum(np.array(shares), 0.0)
    total = expected.sum(axis=0)
    found = np.where(total > 0.0, total**2 / np.maximum((expected**2).sum(axis=0), 1e-300), 1.0)
    return np.asarray(np.clip(found - 1.0, 1.0, len(hessians) - 1.0))


def _pseudo_inverse(matrix: Array) -> Array:
    """Inverse of a Hessian scaled to a unit diagonal; what is lost in rounding counts as barely known, not as known."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    kept = np.maximum(values, 1e-12)
    return np.asarray((vectors / kept) @ vectors.T)
