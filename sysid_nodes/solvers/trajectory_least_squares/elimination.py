# SPDX-License-Identifier: Apache-2.0
"""One group of unknowns eliminated from least-squares rows and equality rows by orthogonal transformations.

Rows are [A_x, A_s, r]: unknowns x to eliminate, unknowns s that stay, and the residual at the linearisation point.
Equalities fix as many x as they can (null space of their part in x); what they say about s alone is carried on, as is
what the least-squares rows say about s once x is optimal. Nothing is squared, so the information that remains is
positive semidefinite, and it is exact also where x is not fully determined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from sysid_nodes.solvers.trajectory_least_squares.problem import Array, IntArray

_RANK = 1e-12  # relative to a column's norm (least squares) or to a unit row (equalities)


@dataclass(frozen=True)
class Conditional:
    """x = gain s + mean + noise e with e ~ N(0, 1): the distribution of x given s.

    Attributes:
        gain: (n, q).
        mean: (n,).
        noise: (n, n - number of equalities that fixed x).
        determined: False where the rows leave part of x free given s; mean and noise then are one choice of many.
    """

    gain: Array
    mean: Array
    noise: Array
    determined: bool


@dataclass(frozen=True)
class Eliminated:
    """Rows left after an elimination.

    Attributes:
        conditional: of x given s.
        equalities: (c, q + 1) independent rows [C_s, c] on s alone.
        rows: (a, q + 1) rows [A_s, r] on s alone, at most q + 1 of them.
        contradiction: largest |c| of a row that holds no unknown: unit-row equalities that cannot be met together.
    """

    conditional: Conditional
    equalities: Array
    rows: Array
    contradiction: float


def eliminate(equalities: Array, rows: Array, n: int) -> Eliminated:
    """Eliminates the first n columns.

    Args:
        equalities: (c, n + q + 1) rows that must vanish.
        rows: (a, n + q + 1) whitened rows, of which the sum of squares is minimised.
        n: number of unknowns to eliminate.
    """
    fixed, free, basis, particular, kept = _null_space(_scale_to_unit(equalities), n)
    rest = rows[:, n:]
    if fixed.size:
        # x_fixed = basis x_free + particular [s, 1]
        rest = rest + rows[:, fixed] @ particular
    reduced = rows[:, free] + rows[:, fixed] @ basis
    solved, noise, remaining, determined = _least_squares(reduced, rest)
    x = np.zeros((n, rest.shape[1]))
    spread = np.zeros((n, free.size))
    x[free], spread[free] = solved, noise
    x[fixed], spread[fixed] = particular + basis @ solved, basis @ noise
    conditional = Conditional(x[:, :-1], x[:, -1], spread, determined)
    independent, contradiction = _drop_dependent(kept)
    return Eliminated(conditional, independent, _compress(remaining), contradiction)


def _scale_to_unit(equalities: Array) -> Array:
    """Rows scaled to unit length of their coefficients; their meaning is unchanged."""
    norm = np.linalg.norm(equalities[:, :-1], axis=1)
    return np.asarray(equalities / np.where(norm > 0.0, norm, 1.0)[:, None])


def _pivoted_qr(a: Array, right: Array) -> tuple[Array, Array, IntArray]:
    """Column-pivoted QR of a (m, n): R (min(m, n), n), Q' right (m, k), pivots (n,)."""
    if a.size == 0:
        return np.zeros((min(a.shape), a.shape[1])), right, np.arange(a.shape[1])
    qr, pivots, tau, _, _ = lapack.dgeqp3(a)
    if right.size:
        work = lapack.dormqr("L", "T", qr[:, : tau.size], tau, right, -1)[1]
        right = lapack.dormqr("L", "T", qr[:, : tau.size], tau, right, int(work[0]))[0]
    return np.triu(qr[: tau.size]), right, pivots - 1


def _rank(r: Array) -> int:
    return int(np.count_nonzero(np.abs(np.diagonal(r)) > _RANK))


def _null_space(equalities: Array, n: int) -> tuple[IntArray, IntArray, Array, Array, Array]:
    """Fixed and free x, with x_fixed = basis x_free + particular [s, 1], and the rows that remain."""
    r, right, pivots = _pivoted_qr(equalities[:, :n], equalities[:, n:])
    rank = _rank(r)
    fixed, free = pivots[:rank], pivots[rank:]
    solved = np.zeros((0, n - rank + right.shape[1]))
    if rank:
        solved, _ = lapack.dtrtrs(r[:rank, :rank], np.concatenate([r[:rank, rank:], right[:rank]], axis=1))
    return fixed, free, -solved[:, : n - rank], -solved[:, n - rank :], right[rank:]


def _least_squares(a: Array, rest: Array) -> tuple[Array, Array, Array, bool]:
    """x = solved [s, 1] + noise e that minimises |a x + rest [s, 1]|^2; the rows that remain; whether x is unique."""
    n = a.shape[1]
    scale = np.linalg.norm(a, axis=0)
    scale[scale == 0.0] = 1.0
    r, right, pivots = _pivoted_qr(a / scale, rest)
    rank = _rank(r)
    solved, noise = np.zeros((n, rest.shape[1])), np.zeros((n, n))
    if rank:
        both = np.concatenate([-right[:rank], np.eye(rank)], axis=1)
        both, _ = lapack.dtrtrs(r[:rank, :rank], both)
        both /= scale[pivots[:rank], None]
        solved[pivots[:rank]] = both[:, : rest.shape[1]]
        noise[pivots[:rank], :rank] = both[:, rest.shape[1] :]
    return solved, noise, right[rank:], rank == n


def _drop_dependent(equalities: Array) -> tuple[Array, float]:
    """Equalities without those that follow from others, and by how much the rest contradict one another."""
    if equalities.size == 0:
        return equalities, 0.0
    r, right, pivots = _pivoted_qr(equalities[:, :-1], equalities[:, -1:])
    rank = _rank(r)
    kept = np.zeros((rank, equalities.shape[1]))
    kept[:, pivots], kept[:, -1] = r[:rank], right[:rank, 0]
    return kept, float(np.abs(right[rank:]).max(initial=0.0))


def _compress(rows: Array) -> Array:
    """At most as many rows as columns, with the same sum of squares."""
    return np.asarray(np.linalg.qr(rows, mode="r")) if rows.shape[0] > rows.shape[1] else rows
