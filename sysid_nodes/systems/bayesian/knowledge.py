# SPDX-License-Identifier: Apache-2.0
"""What a log tells of a mechanism's constants and noise, kept while the log itself is not: the arrival cost.

Parts of a log that share no stage are independent given theta (problem.py), so that a Gaussian of theta is all that an
earlier part leaves behind, but for its linearisation. It is kept as information, with bounds and equalities left out:
those are met anew at every part. What errors that last for some stages add to the covariance of an estimate with
information P_k^-1 = P_(k-1)^-1 + I_k goes through the estimates like the errors themselves:

    E_k = A E_(k-1) A' + e_k,    A = P_k P_(k-1)^-1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, solve_triangular
from scipy.stats import chi2

from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.systems.bayesian.mechanism import Mechanism
from sysid_nodes.systems.bayesian.parameters import Gaussian
from sysid_nodes.systems.bayesian.problem import Noise

Array = npt.NDArray[np.float64]

_TOLD = 0.02  # share of a direction's variance that a part of a log has to take away for its word to be tested


@dataclass(frozen=True)
class Knowledge:
    """After some parts of a log.

    Attributes:
        mechanism: whose constants they are.
        x: (P,) the estimate.
        theta: Gaussian of the free constants, as if all noise were white and nothing bounded.
        extra: (p, p) covariance that noise which is not white adds.
        noise: estimated.
        covered: (2, n) lowest and highest speed of each joint [rad/s].
        stages: used.
    """

    mechanism: Mechanism
    x: Array
    theta: Gaussian
    extra: Array
    noise: Noise
    covered: Array
    stages: int


def gained(factor: Factor, x: Array) -> Gaussian:
    """The Gaussian of theta at a minimum's factor."""
    step = cho_solve((factor.corner, True), -factor.parameter_gradient)
    return Gaussian(x + step, np.ascontiguousarray(factor.corner.T))


def propagation(before: Gaussian, after: Gaussian) -> Array:
    """(p, p) A: of an error of the estimate before, the part that is left after."""
    return np.asarray(cho_solve((after.root.T, True), before.root.T @ before.root))


def disagreement(before: Gaussian, after: Gaussian, lasting: Array, added: Array) -> tuple[float, Array]:
    """By how much a part of a log moved the estimate, against what it may have.

    Args:
        before, after: theta without and with it.
        lasting: (p, p) E before.
        added: (p, p) e of the part.

    Returns:
        Mean squared movement over its variance, in the directions of which the part tells something, over the mean that
        chance exceeds once in a million parts: above 1 it contradicts. And (p,) the movement in units of its sigma.
    """
    stays = propagation(before, after)
    moved = after.mean - before.mean
    inverse = solve_triangular(after.root, np.eye(len(moved)))
    old = solve_triangular(before.root, np.eye(len(moved)))
    rest = np.eye(len(moved)) - stays
    allowed = old @ old.T - inverse @ inverse.T + rest @ lasting @ rest.T + added
    values, vectors = np.linalg.eigh(before.root @ allowed @ before.root.T)
    told = values > _TOLD
    if not told.any():
        return 0.0, np.zeros(len(moved))
    along = (vectors.T @ (before.root @ moved))[told]
    ratio = float(np.sum(along**2 / values[told]) / chi2.isf(1e-6, int(told.sum())))
    return ratio, moved / np.sqrt(np.maximum(np.diag(allowed), np.diag(old @ old.T) * _TOLD))
