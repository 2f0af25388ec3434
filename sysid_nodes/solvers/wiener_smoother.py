# SPDX-License-Identifier: Apache-2.0
"""Smoother of a motion whose force is known but for a Wiener process; all of it is one banded least-squares problem.

Of positions x_0..x_{N-1} at even times, noisy measurements y are known, and between neighbours

    m_k (x_{k+1} - 2 x_k + x_{k-1}) / h^2 = f_k + s_k,      s_{k+1} - s_k ~ Normal(0, c h (1 + a b_k)),

m_k, f_k and b_k >= 0 known: b_k says where the force may change faster. The noise's sigma, the intensity c and the
factor a maximise the likelihood of the measurements; sigma in closed form, c / sigma^2 by a search in one variable, a
on a coarse grid, upwards until the likelihood falls. Positions, covariances and likelihood come from one Cholesky
factor of three diagonals below the main one, in O(N). A smoothing spline is the case of m = 1, f = 0, b = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import linalg, optimize, sparse

from sysid_nodes.exceptions import SamplesError

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_REACH = 3  # samples that one increment of s couples, less one
_RANGE = (-12.0, 12.0)  # of the logarithm of c / sigma^2, about a first guess
_FACTORS = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)  # of a
_LEAST = 10


@dataclass(frozen=True)
class SmoothedMotion:
    """Posterior of a motion.

    Attributes:
        position: (N,) its mean.
        noise: standard deviation of the measurements.
        intensity: (N - 3,) c (1 + a b_k), variance that s gains in a unit of time.
        factor: (4, N) lower Cholesky factor of the positions' information in units of the noise.
    """

    position: Array
    noise: float
    intensity: Array
    factor: Array

    @cached_property
    def covariance(self) -> Array:
        """(4, N); row d holds cov(x_k, x_{k+d})."""
        return self.noise**2 * _band_of_inverse(self.factor)

    def sigma(self, before: Array, here: Array, after: Array) -> Array:
        """(N - 2,) standard deviations of before x_{k-1} + here x_k + after x_{k+1}, k = 1..N-2; factors (N - 2,)."""
        own, next_, second = self.covariance[:3]
        square = before**2 * own[:-2] + here**2 * own[1:-1] + after**2 * own[2:]
        cross = before * here * next_[:-2] + here * after * next_[1:-1] + before * after * second[:-2]
        return np.asarray(np.sqrt(np.maximum(square + 2.0 * cross, 0.0)))


def smooth_motion(
    y: Array, measured: BoolArray, mass: Array, force: Array, step: float, faster: Array | None = None
) -> SmoothedMotion:
    """The motion, its noise and its force's intensity from measurements.

    Args:
        y: (N,) measurements.
        measured: (N,) whether there was one.
        mass, force: (N - 2,) m_k and f_k at samples 1..N-2, m positive.
        step: h [s].
        faster: (N - 3,) b_k; zero unless given.

    Raises:
        SamplesError: shapes do not fit, or there are too few measurements.
    """
    n = len(y)
    if measured.shape != y.shape or mass.shape != (n - 2,) or force.shape != (n - 2,):
        raise SamplesError(f"{n} measurements need as many flags and {n - 2} masses and forces")
    if int(measured.sum()) < _LEAST:
        raise SamplesError(f"a motion needs {_LEAST} measurements to be smoothed, got {int(measured.sum())}")
    scaled = mass / step**2
    bends = sparse.diags_array(np.stack([scaled, -2.0 * scaled, scaled]), offsets=[0, 1, 2], shape=(n - 2, n))
    change = np.stack([-np.ones(n - 3), np.ones(n - 3)])
    increments = sparse.diags_array(change, offsets=[0, 1], shape=(n - 3, n - 2))
    rows = (increments @ bends / np.sqrt(step)).tocsr()
    right = increments @ force / np.sqrt(step)
    # Where measurements and force weigh about the same for the motion between neighbours.
    guess = float(np.log(np.median(scaled) ** 2 / step))
    best: tuple[float, float, _Problem] | None = None
    for factor in _FACTORS if faster is not None else (0.0,):
        shape = 1.0 + factor * (faster if faster is not None else np.zeros(n - 3))
        problem = _Problem(rows, right, shape, measured, np.where(measured, y, 0.0))
        found = optimize.minimize_scalar(
            problem.cost, bounds=(guess + _RANGE[0], guess + _RANGE[1]), method="bounded", options={"xatol": 1e-2}
        )
        if best is not None and found.fun >= best[0]:
            break
        best = float(found.fun), float(found.x), problem
    assert best is not None
    _, ratio, problem = best
    lower, position, variance = problem.solve(ratio)
    return SmoothedMotion(position, float(np.sqrt(variance)), variance * np.exp(ratio) * problem.shape, lower)


class _Problem:
    """The least-squares problem of one shape (N - 3,) of the intensity."""

    def __init__(self, rows: sparse.csr_array, right: Array, shape: Array, measured: BoolArray, y: Array) -> None:
        root = np.sqrt(shape)
        self.shape = shape
        self._rows, self._right = sparse.diags_array(1.0 / root) @ rows, right / root
        self._gram = _lower((self._rows.T @ self._rows).tocsr())
        self._pull = self._rows.T @ self._right
        self._measured, self._y = measured, y
        self._spread = 0.5 * float(np.log(shape).sum())

    def solve(self, ratio: float) -> tuple[Array, Array, float]:
        """Cholesky factor, positions and sigma^2 at ln(c / sigma^2)."""
        weight = float(np.exp(-ratio))
        band = weight * self._gram
        band[0] += self._measured
        lower = linalg.cholesky_banded(band, lower=True, check_finite=False)
        position = linalg.cho_solve_banded((lower, True), weight * self._pull + self._y, check_finite=False)
        missed = self._rows @ position - self._right
        square = float(weight * missed @ missed + np.sum((position - self._y)[self._measured] ** 2))
        # A force that does not change is free: three of the measurements tell nothing of the noise.
        return lower, position, square / (int(self._measured.sum()) - _REACH)

    def cost(self, ratio: float) -> float:
        """-log likelihood, with the best sigma."""
        lower, _, variance = self.solve(ratio)
        count = int(self._measured.sum()) - _REACH
        prior = 0.5 * len(self._right) * ratio + self._spread
        return 0.5 * count * float(np.log(variance)) + prior + float(np.log(lower[0]).sum())


def _lower(matrix: sparse.csr_array) -> Array:
    """LAPACK's lower band of a symmetric matrix."""
    band = np.zeros((_REACH + 1, matrix.shape[0]))
    for k in range(_REACH + 1):
        band[k, : matrix.shape[0] - k] = matrix.diagonal(-k)
    return band


def _band_of_inverse(factor: Array) -> Array:
    """The same band of the inverse from a lower Cholesky factor, by Takahashi's recursion from the last row up."""
    n = factor.shape[1]
    band = np.zeros((_REACH + 1, n))
    corner = np.zeros((_REACH, _REACH))  # of the inverse, the three rows after the present one
    below, pivots = factor[1:] / factor[0], factor[0] ** -2.0
    for k in range(n - 1, -1, -1):
        column = -corner @ below[:, k]
        own = pivots[k] - below[:, k] @ column
        band[0, k], band[1:, k] = own, column
        corner[1:, 1:] = corner[:-1, :-1].copy()
        corner[0, 0], corner[0, 1:], corner[1:, 0] = own, column[:-1], column[:-1]
    return band
