# SPDX-License-Identifier: Apache-2.0
"""Covariance of parameters whose residuals are correlated in time: the block jackknife of the linearised problem.

Blocks are of consecutive samples, start states eliminated (solvers/block_jackknife.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.block_jackknife import jackknife
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
    rows = _profile(equations)
    count = len(rows) // block
    if count < _LEAST:
        raise SamplesError(f"{len(rows)} residuals make {count} blocks of {block}; a covariance needs {_LEAST}")
    edges = np.linspace(0, len(rows), count + 1).astype(int)
    parts = [rows[a:b] for a, b in pairwise(edges)]
    hessians = np.array([part[:, :k].T @ part[:, :k] for part in parts])[:, free][:, :, free]
    gradients = np.array([part[:, :k].T @ part[:, k] for part in parts])[:, free]
    found = jackknife(hessians, gradients, np.diag(equations.information[free]))
    matrix, plain, freedom = np.zeros((k, k)), np.zeros((k, k)), np.full(k, float(count - 1))
    at = np.ix_(free, free)
    matrix[at], plain[at], freedom[free] = found.matrix, found.plain, found.freedom
    return Covariance(matrix, plain, freedom, count)


def _profile(equations: Equations) -> Array:
    """(S m, K + 1) rows of the parameters with each segment's start state following, and the residuals."""
    k = len(equations.gradient)
    _, gain = equations.eliminate_starts(0.0)
    rows = equations.rows[:, [*range(k), equations.rows.shape[1] - 1]].copy()
    starts = equations.rows[:, k:-1]
    for g, (begin, end) in enumerate(pairwise(equations.edges)):
        rows[begin:end, :k] -= starts[begin:end] @ gain[g].T
    return rows
