# SPDX-License-Identifier: Apache-2.0
"""Convex quadratic over a box with one linear matrix inequality, by Clarabel."""

from __future__ import annotations

from collections.abc import Sequence

import clarabel
import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[np.float64]


def constrained_quadratic(
    hessian: Array, gradient: Array, lower: Array, upper: Array, cones: Sequence[tuple[Array, float]]
) -> Array | None:
    """argmin 1/2 x'Hx + g'x subject to lower <= x <= upper and sum_j x_j B_j - margin I >= 0 for each cone.

    Args:
        hessian: (d, d) H, positive semidefinite.
        gradient: (d,) g.
        lower: (d,) lower ends.
        upper: (d,) upper ends.
        cones: pairs of (d, p, p) symmetric B_j and the smallest eigenvalue asked for.

    Returns:
        (d,) minimiser, or None when the solver found none.
    """
    d = gradient.size
    eye = np.eye(d)
    rows, sides = [eye, -eye], [upper, -lower]
    kinds = [clarabel.NonnegativeConeT(2 * d)]
    for matrices, margin in cones:
        row, column = _upper_triangle(matrices.shape[1])
        weight = np.where(row == column, 1.0, np.sqrt(2.0))
        rows.append(-(matrices[:, row, column] * weight).T)
        sides.append(-margin * np.where(row == column, 1.0, 0.0))
        kinds.append(clarabel.PSDTriangleConeT(matrices.shape[1]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    h = sparse.csc_matrix(np.triu(0.5 * (hessian + hessian.T)))
    a = sparse.csc_matrix(np.vstack(rows))
    solution = clarabel.DefaultSolver(h, gradient, a, np.concatenate(sides), kinds, settings).solve()
    accepted = (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return np.array(solution.x) if solution.status in accepted else None


def _upper_triangle(p: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Clarabel's order of a symmetric matrix: upper triangle, column by column, off-diagonals times sqrt 2."""
    row, column = np.triu_indices(p)
    order = np.lexsort((row, column))
    return row[order], column[order]
