"""Convex quadratic over a box with one linear matrix inequality, by Clarabel."""

from __future__ import annotations

import clarabel
import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[np.float64]


def constrained_quadratic(
    hessian: Array, gradient: Array, lower: Array, upper: Array, matrices: Array, margin: float = 0.0
) -> Array | None:
    """argmin 1/2 x'Hx + g'x subject to lower <= x <= upper and sum_j x_j B_j - margin I >= 0 (semidefinite).

    Args:
        hessian: (d, d) H, positive semidefinite.
        gradient: (d,) g.
        lower: (d,) lower ends.
        upper: (d,) upper ends.
        matrices: (d, p, p) symmetric B_j.
        margin: smallest eigenvalue asked for.

    Returns:
        (d,) minimiser, or None when the solver found none.
    """
    d, p = gradient.size, matrices.shape[1]
    rows, columns = np.triu_indices(p)
    order = np.lexsort((rows, columns))  # Clarabel: upper triangle, column by column, off-diagonals times sqrt 2
    rows, columns = rows[order], columns[order]
    weight = np.where(rows == columns, 1.0, np.sqrt(2.0))
    cone = -(matrices[:, rows, columns] * weight).T
    eye = np.eye(d)
    a = sparse.csc_matrix(np.vstack([eye, -eye, cone]))
    b = np.concatenate([upper, -lower, -margin * np.where(rows == columns, 1.0, 0.0)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    cones = [clarabel.NonnegativeConeT(2 * d), clarabel.PSDTriangleConeT(p)]
    h = sparse.csc_matrix(np.triu(0.5 * (hessian + hessian.T)))
    solution = clarabel.DefaultSolver(h, gradient, a, b, cones, settings).solve()
    accepted = (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return np.array(solution.x) if solution.status in accepted else None
