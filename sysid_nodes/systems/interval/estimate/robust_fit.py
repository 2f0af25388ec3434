# SPDX-License-Identifier: Apache-2.0
"""Robust fit of windows of torque with each joint's spread, and the errors that its own residuals show.

Iteratively reweighted least squares for Student's distribution of four degrees of freedom (K. L. Lange,
R. J. A. Little, J. M. G. Taylor, J. Am. Stat. Assoc. 84, 1989): outliers count less, and each
joint's spread is estimated along. Neighbouring windows share their errors; the covariance is the block jackknife's
(solvers/block_jackknife.py), with blocks longer than residuals stay alike where the run is long enough and a
correction for what neighbouring blocks share, plus what the belief before the run may be wrong by.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.block_jackknife import Jackknife, jackknife, long_run_ratio
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.estimate.window_model import WindowModel

Array = npt.NDArray[np.float64]

_FREEDOM = 4.0
"""Of Student's distribution: light enough for Gaussian noise (efficiency .9), heavy enough for gross outliers."""

_STEPS = 30
_CONVERGED = 1e-3
"""Largest step in standard deviations at which the fit ends."""

_EXPECTED, _EXPECTED_WINDOWS = 0.03, 4.0
"""Spread of every joint that is expected before any residuals are seen, relative to the torque of all, and the windows
it counts for: a fit of few windows leaves little over, however wrong it is."""

_SMALLEST = 1e-6
"""Spread below which residuals say nothing [N m]."""

_LEAST_CURVATURE = 0.4
"""Less than a dozen windows leave, as the expected spread counts for four; one or two may leave a negative one."""

LEAST_BLOCKS = 6
_SHORTEST_BLOCK = 2


@dataclass(frozen=True)
class RobustFit:
    """Attributes: point (K,) parameters; belief, before the run; spread (n,) of the residuals [N m]; residual (W, n)
    [N m]; information (K, K), of data and belief; inverse, of it, zero for parameters that stayed at the belief's
    point; jackknife, None with too few windows, or where it finds no numbers.
    """

    point: Array
    belief: Belief
    spread: Array
    residual: Array
    information: Array
    inverse: Array
    jackknife: Jackknife | None

    def covariance(self) -> tuple[Array, Array]:
        """(K, K) covariance and (K,) degrees of freedom of each parameter; infinite without a jackknife."""
        if self.jackknife is None:
            return np.full_like(self.inverse, np.inf), np.ones(len(self.point))
        own = self.inverse @ self.belief.score_covariance @ self.inverse
        total, data = own + self.jackknife.matrix, self.jackknife.matrix.diagonal()
        share = np.divide(data, total.diagonal(), out=np.ones(len(data)), where=data > 0.0)
        return total, self.jackknife.freedom / np.maximum(share, 1e-6) ** 2  # Welch and Satterthwaite

    def systematic(self, half_width: Array) -> Array:
        """(K,) largest error that known parameters leave which are off the belief's point by up to half_width (K,).

        They may be off in whatever directions add up: all drives' constants are one data sheet's, all links one
        drawing's. Where only a box is stated, nothing says that they are independent (D. L. Donoho, Statistical
        estimation and optimal recovery, Ann. Stat. 22, 1994: intervals of fixed length about linear estimates).
        """
        return np.asarray(np.abs(self.inverse @ self.belief.information) @ half_width)

    def after(self) -> Belief:
        """Knowledge after this run, for another one.

        Raises:
            ValueError: there is no jackknife.
        """
        if self.jackknife is None:
            raise ValueError(f"fewer than {LEAST_BLOCKS} blocks of windows, or their covariance found no numbers")
        scatter = self.information @ self.jackknife.matrix @ self.information + self.belief.score_covariance
        return Belief(self.point, self.information, np.zeros(len(self.point)), scatter)


def robust_fit(model: WindowModel, belief: Belief) -> RobustFit | None:
    """Fits all that the belief leaves open; None where that finds no numbers.

    Args:
        model: windows of one or more runs, in order of time.
        belief: about x.
    """
    free = np.flatnonzero(belief.known)
    known = belief.information[np.ix_(free, free)]
    x = belief.point.copy()
    expected = _EXPECTED * float(np.sqrt((model.measured**2).mean()))
    spread = np.full(model.joints, max(expected, _SMALLEST))
    trust = np.ones_like(model.unsure)
    for _ in range(_STEPS):
        residual, jacobian = model.residual(x)
        jacobian = jacobian[:, :, free]
        variance = spread**2 + model.unsure**2 / 3.0  # a number anywhere within +-unsure
        weight = trust / variance
        flat = jacobian.reshape(-1, free.size)
        hessian = flat.T @ (weight.reshape(-1, 1) * flat) + known
        inverse = _inverse(hessian)
        slope = belief.score[free] + known @ (x - belief.point)[free]
        step = -inverse @ (flat.T @ (weight * residual).ravel() + slope)
        if not np.isfinite(step).all():
            return None
        x[free] += step
        residual = residual + jacobian @ step
        leverage = weight * np.sum((jacobian @ inverse) * jacobian, axis=2)
        trust = (_FREEDOM + 1.0) / (_FREEDOM + residual**2 / variance)
        before, spread = spread, _spread(residual, trust * spread**2 / variance, leverage, expected)
        settled = np.abs(spread - before).max() <= _CONVERGED * spread.max()
        if settled and (np.abs(step) <= _CONVERGED * np.sqrt(inverse.diagonal())).all():
            break
    time = correlation_time(residual / np.sqrt(variance))
    blocks = _blocks(len(residual), float(time.max()))
    curved = weight * _curvature(residual**2 / variance)
    hessian = flat.T @ (curved.reshape(-1, 1) * flat) + known
    inverse = _inverse(hessian)
    found = None
    if len(blocks) > LEAST_BLOCKS:
        error = residual * np.sqrt(long_run_ratio(time, len(residual) / (len(blocks) - 1)))
        parts = [slice(a, b) for a, b in pairwise(blocks)]
        rows = [jacobian[part].reshape(-1, free.size) for part in parts]
        hessians = np.array([j.T @ (curved[part].reshape(-1, 1) * j) for j, part in zip(rows, parts, strict=True)])
        gradients = np.array([j.T @ (weight * error)[part].ravel() for j, part in zip(rows, parts, strict=True)])
        spread_of_blocks = jackknife(hessians, gradients, known)
        if np.isfinite(spread_of_blocks.matrix).all():
            found = _embed(spread_of_blocks, free, len(x))
    information = np.zeros_like(belief.information)
    information[np.ix_(free, free)] = hessian
    return RobustFit(x, belief, spread, residual, information, _embed_matrix(inverse, free, len(x)), found)


def log_evidence(model: WindowModel, fit: RobustFit) -> float:
    """Logarithm, but for a constant, of how likely the windows are under the belief before them.

    By Laplace's approximation at the fit (D. J. C. MacKay, Bayesian interpolation, Neural Computation 4, 1992), with
    each joint's spread as the fit has it. To compare beliefs about the same windows that leave the same open.
    """
    variance = fit.spread**2 + model.unsure**2 / 3.0
    likelihood = -0.5 * (_FREEDOM + 1.0) * np.log1p(fit.residual**2 / (_FREEDOM * variance)) - 0.5 * np.log(variance)
    free = np.flatnonzero(fit.belief.known)
    known, all_of_it = (part[np.ix_(free, free)] for part in (fit.belief.information, fit.information))
    off = (fit.point - fit.belief.point)[free]
    scale = np.sqrt(all_of_it.diagonal())
    units = np.outer(scale, scale)
    volume = np.linalg.slogdet(known / units)[1] - np.linalg.slogdet(all_of_it / units)[1]
    return float(likelihood.sum() - 0.5 * off @ known @ off + 0.5 * volume)


def correlation_time(residual: Array) -> Array:
    """(n,) windows (windows, n) that tell as much as one independent one: 1 + 2 x the first positive correlations."""
    count = len(residual)
    centred = residual - residual.mean(axis=0)
    power = np.maximum((centred**2).sum(axis=0), 1e-300)
    time = np.ones(residual.shape[1])
    on = np.ones(residual.shape[1], dtype=bool)
    for lag in range(1, count // 4):
        correlation = (centred[lag:] * centred[: count - lag]).sum(axis=0) / power
        on &= correlation > 0.0
        if not on.any():
            break
        time += 2.0 * np.where(on, correlation, 0.0)
    return time


def _curvature(square: Array) -> Array:
    """(n,) second derivative of the cost over its weights, of squared residuals (W, n) in units of the spread.

    A residual that counts less the larger it is holds the fit less than its weight says: were the weights taken for
    the curvature, errors would come out smaller than they are by this factor (P. J. Huber, Robust Statistics, 1981,
    section 7.6). Where the spread fits the residuals it is .6 to 1, for Gaussian ones .75.
    """
    outlying = square / (_FREEDOM + square)
    found = ((1.0 - outlying) * (1.0 - 2.0 * outlying)).sum(axis=0) / (1.0 - outlying).sum(axis=0)
    return np.asarray(np.maximum(found, _LEAST_CURVATURE))


def _spread(residual: Array, trust: Array, leverage: Array, expected: float) -> Array:
    """(n,) of the residuals, those that the fit took for itself accounted for."""
    windows = len(residual)
    left = np.maximum(windows - leverage.sum(axis=0), 0.0) / windows
    squares = (trust * residual**2).sum(axis=0)
    total = (squares + _EXPECTED_WINDOWS * expected**2) / (windows * left + _EXPECTED_WINDOWS)
    return np.asarray(np.maximum(np.sqrt(total), _SMALLEST))


def _blocks(windows: int, time: float) -> npt.NDArray[np.intp]:
    """Edges of blocks of windows, thrice as long as residuals stay alike (time, in windows), but at least six."""
    count = int(windows / max(3.0 * time, _SHORTEST_BLOCK))
    if windows >= _SHORTEST_BLOCK * LEAST_BLOCKS:
        count = max(count, LEAST_BLOCKS)
    return np.linspace(0, windows, count + 1).astype(np.intp)


def _inverse(matrix: Array) -> Array:
    """Not a number where there is none."""
    scale = np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
    units = np.outer(scale, scale)
    try:
        return np.asarray(np.linalg.inv(matrix / units) / units)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def _embed(found: Jackknife, free: npt.NDArray[np.intp], size: int) -> Jackknife:
    freedom = np.full(size, np.inf)
    freedom[free] = found.freedom
    return Jackknife(_embed_matrix(found.matrix, free, size), _embed_matrix(found.plain, free, size), freedom)


def _embed_matrix(matrix: Array, free: npt.NDArray[np.intp], size: int) -> Array:
    out = np.zeros((size, size))
    out[np.ix_(free, free)] = matrix
    return out
