# SPDX-License-Identifier: Apache-2.0
"""Readings weighed by a robust loss, and the variance that goes with the weights.

With u a residual in units of its kind's scale, and psi(u) = w(u) u, an M-estimate has the covariance (Huber, Robust
statistics, 1981, section 7.6)

    E[psi^2] / E[psi']^2 (J'J)^-1.

A descent on rows of weight w / sigma^2 says sigma^2 / E[w] (J'J)^-1 of itself. With sigma^2 = E[w] E[psi^2] / E[psi']^2
the two are the same: intervals are neither those of readings without outliers nor as wide as if the outliers counted.
The scale is the median of the residuals' sizes, which outliers do not move; what the fit takes away of each residual's
variance is given back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares.influence import Influence
from sysid_nodes.solvers.trajectory_least_squares.problem import Loss
from sysid_nodes.solvers.trajectory_least_squares.robust import Cauchy, Huber
from sysid_nodes.systems.bayesian.config import CAUCHY, GAUSSIAN, HUBER

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

LOSSES: dict[str, Loss | None] = {GAUSSIAN: None, HUBER: Huber(), CAUCHY: Cauchy()}

_NORMAL = 1.4826  # standard deviations of a normal distribution over the median of its absolute values
_LEAST_SCALE = 0.1  # of the root mean square: most residuals of an encoder that stands still are zero
_LEFT = 0.02  # of a residual's variance that the fit leaves, at least
_SLOPE = 1e-4  # step of a difference quotient


class Reweighted(NamedTuple):
    """Attributes: weight (B, m) of each row; psi (B, m) residuals times weights, in units of the sigma that was;
    factor (kinds,) by which the variance of psi is multiplied for the covariance to be that of the M-estimate."""

    weight: Array
    psi: Array
    factor: Array


def reweigh(own: Influence, weight: Array, kinds: IntArray, count: int, loss: Loss | None, known: bool) -> Reweighted:
    """Weights of rows by their residuals.

    Args:
        own: of rows that were fitted with weights.
        weight: (B, m) these.
        kinds: (B, m) rows that share a variance; the last kind is not counted and keeps weights of one.
        count: kinds, that one included.
        loss: of a row's squared residual in units of its scale; None for plain least squares.
        known: whether the noise is, so that it is the scale.
    """
    raw = own.residual / np.sqrt(np.maximum(weight, np.finfo(float).tiny))
    if loss is None:
        return Reweighted(np.ones_like(raw), raw, np.ones(count))
    size = np.abs(raw) / np.sqrt(np.maximum(1.0 - own.leverage, _LEFT))
    new, factor = np.ones_like(raw), np.ones(count)
    for kind in range(count - 1):
        mine = kinds == kind
        if not mine.any():
            continue
        median, square = float(np.median(size[mine])), float(np.sqrt(np.mean(size[mine] ** 2)))
        scale = 1.0 if known else max(_NORMAL * median, _LEAST_SCALE * square, np.finfo(float).tiny)
        u = size[mine] / scale
        new[mine] = loss(u**2)[1]
        ahead, behind = (at * loss(at**2)[1] for at in (u + _SLOPE, u - _SLOPE))
        slope = float(np.mean(ahead - behind)) / (2.0 * _SLOPE)
        factor[kind] = float(np.mean(new[mine])) / slope**2
    return Reweighted(new, new * raw, factor)
