# SPDX-License-Identifier: Apache-2.0
"""Whether runs agree about one number, which of them do not, and whether it drifts or depends on something else.

Two kinds of statement are compared by two rules. Estimates with standard deviations: Cochran's Q, random effects for
what scatters between runs (`solvers.shooting.runs`), each run against the others for outliers, weighted regression for
drift. Intervals that hold without a probability: they must all have a point in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special  # not stats, which takes a third of a node's start

from sysid_nodes.solvers.shooting.runs import BetweenRuns, combine_runs

Array = npt.NDArray[np.float64]

_FEWEST_OTHERS = 2
"""Runs that another one can be judged by: a scatter needs two."""
_FEWEST_ON_A_LINE = 4
"""Runs that a slope is taken from: three leave one degree of freedom, which no slope survives."""


@dataclass(frozen=True)
class Agreement:
    """Of R runs.

    Attributes:
        agree: no outlier and nothing unexplained at the level asked for.
        p: probability of at least this disagreement if all runs saw one value; for intervals 1 or 0.
        common: the value of all runs together with one sigma and the scatter between runs; None for intervals.
        lower, upper: interval of the common value: 95 %, or the one that all intervals have in common, or, where there
            is none, that of the most of them.
        outliers: indices of the runs that contradict the others.
    """

    agree: bool
    p: float
    common: BetweenRuns | None
    lower: float
    upper: float
    outliers: tuple[int, ...]


@dataclass(frozen=True)
class Slope:
    """Change of a number with something else.

    Attributes:
        slope: per unit of that.
        sigma: one standard deviation, what scatters about the line counted.
        p: probability of at least this slope where there is none.
    """

    slope: float
    sigma: float
    p: float


def compare_estimates(estimates: Array, sigmas: Array, level: float) -> Agreement:
    """Agreement of estimates.

    Args:
        estimates, sigmas: (R,), R >= 2, sigmas positive.
        level: probability of calling something that is not there, of each test.

    Raises:
        SamplesError: fewer than two runs, or a sigma is not positive.
    """
    common = combine_runs(estimates[:, None], sigmas[:, None])
    weight = sigmas**-2.0
    fixed = float(weight @ estimates / weight.sum())
    p = float(special.chdtrc(len(estimates) - 1, weight @ (estimates - fixed) ** 2))
    reach = float(special.stdtrit(common.freedom, 0.975) * common.sigma[0])
    outliers = tuple(k for k in range(len(estimates)) if _contradicts(k, estimates, sigmas, level / len(estimates)))
    mean = float(common.mean[0])
    return Agreement(p >= level and not outliers, p, common, mean - reach, mean + reach, outliers)


def compare_intervals(lower: Array, upper: Array) -> Agreement:
    """Agreement of intervals (R,) each of which holds the value for certain, where what it rests on is true."""
    low, high = float(lower.max()), float(upper.min())
    if low <= high:
        return Agreement(True, 1.0, None, low, high, ())
    # The point in most intervals; every such stretch begins at a lower end.
    inside = (lower[:, None] <= lower) & (lower <= upper[:, None])  # (interval, candidate)
    holds = inside[:, int(np.argmax(inside.sum(axis=0)))]
    outliers = tuple(int(k) for k in np.flatnonzero(~holds))
    return Agreement(False, 0.0, None, float(lower[holds].max()), float(upper[holds].min()), outliers)


def fit_slope(abscissa: Array, estimates: Array, sigmas: Array) -> Slope | None:
    """Weighted straight line of estimates (R,) over (R,); None where there is too little for one.

    The scatter about the line is a random effect (method of moments); the slope's sigma is Knapp and Hartung's, never
    below what the runs' own sigmas give.
    """
    if len(estimates) < _FEWEST_ON_A_LINE or np.ptp(abscissa) <= 0.0:
        return None
    x = (abscissa - abscissa.mean()) / np.ptp(abscissa)
    design = np.column_stack([np.ones_like(x), x])
    freedom = len(x) - 2
    weight = sigmas**-2.0
    covariance, residual = _line(design, estimates, weight)
    excess = float(weight @ residual**2) - freedom
    spread = float(weight.sum() - np.trace(covariance @ (design.T * weight**2) @ design))
    weight = 1.0 / (sigmas**2 + max(excess / spread, 0.0))
    covariance, residual = _line(design, estimates, weight)
    solution = covariance @ (design.T @ (weight * estimates))
    quality = max(float(weight @ residual**2) / freedom, 1.0)
    sigma = float(np.sqrt(quality * covariance[1, 1]))
    p = float(2.0 * special.stdtr(freedom, -abs(solution[1]) / sigma))
    return Slope(float(solution[1]) / float(np.ptp(abscissa)), sigma / float(np.ptp(abscissa)), p)


def _line(design: Array, values: Array, weight: Array) -> tuple[Array, Array]:
    """Covariance of a weighted line's coefficients, and its residuals."""
    covariance = np.asarray(np.linalg.inv((design.T * weight) @ design), dtype=np.float64)
    return covariance, values - design @ (covariance @ (design.T @ (weight * values)))


def _contradicts(k: int, estimates: Array, sigmas: Array, level: float) -> bool:
    """Whether a run lies outside of what all the others predict for one more."""
    others = np.delete(np.arange(len(estimates)), k)
    if len(others) < _FEWEST_OTHERS:
        return False
    rest = combine_runs(estimates[others, None], sigmas[others, None])
    distance = abs(estimates[k] - rest.mean[0]) / np.hypot(sigmas[k], rest.predictive[0])
    return bool(2.0 * special.stdtr(rest.freedom, -distance) < level)
