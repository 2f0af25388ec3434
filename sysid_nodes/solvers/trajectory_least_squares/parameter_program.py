# SPDX-License-Identifier: Apache-2.0
"""The step of the parameters under linear equalities and bounds: a quadratic program on their Schur complement.

    min s'S s / 2 + g's   subject to   A s + a = 0,   lower <= s <= upper.

With S = L L' and z = L's the objective is the distance from -L^-1 g, whatever the parameters' units: rows are scaled to
unit length there, so that the tolerances of the interior-point method are in standard deviations. The constraints that
it finds active are then met exactly, as equalities (Lawson and Hanson, Solving least squares problems, 1974, ch. 23).
"""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import solve_triangular

from sysid_nodes.solvers.trajectory_least_squares.problem import Array, ParameterStep

BoolArray = npt.NDArray[np.bool_]

_EXACT = 1e-9  # standard deviations by which the exact solution may leave a constraint, or pull at it the wrong way


@dataclass(frozen=True)
class ParameterRows:
    """Constraints on a step of the parameters, linearised where they stand.

    Attributes:
        equality: (e, p + 1) rows [A, a] of A s + a = 0.
        lower, upper: (p,) bounds of s; infinite where there is none. They do not depend on the point but for s itself.
    """

    equality: Array
    lower: Array
    upper: Array

    def inequality(self) -> Array:
        """(i, p + 1) rows [B, b] of B s + b <= 0: lower bounds, then upper ones, finite ones alone."""
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        eye = np.eye(len(self.lower))
        return np.concatenate(
            [
                np.column_stack([-eye[below], self.lower[below]]),
                np.column_stack([eye[above], -self.upper[above]]),
            ]
        )


def constrained_step(corner: Array, gradient: Array, rows: ParameterRows) -> ParameterStep | None:
    """The constrained step, or None where the constraints contradict one another or the program fails.

    It is `bent` by its multipliers times a and b.

    Args:
        corner: (p, p) lower Cholesky factor of S.
        gradient: (p,) g.
        rows: constraints.
    """
    target = -solve_triangular(corner, gradient, lower=True)
    hard, soft = (_whiten(corner, part) for part in (rows.equality, rows.inequality()))
    p = len(target)
    z, active = target, np.zeros(len(soft), dtype=bool)
    if len(soft) and np.any(soft[:, :p] @ _project(target, hard)[0] + soft[:, p] > 0.0):
        found = _interior_point(target, hard, soft)
        if found is None:
            return None
        z, active = found
    pinned = np.concatenate([hard, soft[active]])
    exact, multipliers = _project(target, pinned)
    pulls = multipliers[len(hard) :]
    if np.all(soft[:, :p] @ exact + soft[:, p] <= _EXACT) and np.all(pulls >= -_EXACT):
        z = exact
    if len(hard) and np.abs(hard[:, :p] @ z + hard[:, p]).max() > _EXACT:
        return None
    step = solve_triangular(corner, z, lower=True, trans="T")
    return ParameterStep(np.asarray(step), float(multipliers @ pinned[:, p]))


def _whiten(corner: Array, rows: Array) -> Array:
    """Rows in z = L's, scaled to unit length of their coefficients."""
    p = corner.shape[0]
    out = np.array(rows, dtype=np.float64).reshape(-1, p + 1)
    out[:, :p] = solve_triangular(corner, out[:, :p].T, lower=True).T
    norm = np.linalg.norm(out[:, :p], axis=1)
    return np.asarray(out / np.where(norm > 0.0, norm, 1.0)[:, None])


def _project(target: Array, rows: Array) -> tuple[Array, Array]:
    """The z nearest to the target with rows [B, b] met as equalities, and their multipliers."""
    if not len(rows):
        return target, np.zeros(0)
    matrix, value = rows[:, :-1], rows[:, -1]
    inverse = np.linalg.pinv(matrix, rcond=1e-12)
    away = inverse @ (matrix @ target + value)
    return target - away, np.asarray(inverse.T @ away)


def _interior_point(target: Array, hard: Array, soft: Array) -> tuple[Array, BoolArray] | None:
    """z and the active inequalities, to the tolerance of an interior-point method."""
    p = len(target)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    both = np.concatenate([hard, soft])
    cones = [clarabel.ZeroConeT(len(hard)), clarabel.NonnegativeConeT(len(soft))]
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.eye(p)), -target, sparse.csc_matrix(both[:, :p]), -both[:, p], cones, settings
    )
    solution = solver.solve()
    if solution.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
        return None
    slack, pull = np.array(solution.s)[len(hard) :], np.array(solution.z)[len(hard) :]
    return np.array(solution.x), pull > slack
