# SPDX-License-Identifier: Apache-2.0
"""Covariances of an estimate whose noise differs from its weights: H^-1 S H^-1 with S = J' R J.

The estimate minimises sum |r|^2 whatever the noise is; its error has this covariance if the noise's is R (Huber 1967;
White 1980), and H^-1 only for R = 1. For a diagonal R the blocks that matter follow from another selected inversion, as

    ((H - eps S)^-1 - H^-1) / eps,

which is larger than the sandwich by at most eps times the largest variance, relatively: a thousandth. A difference of
two inversions has the rounding of both over eps, which matters where a coordinate is known by a wide prior only: there
pivots are small. Then they are those of H - eps S and H + eps S, for an eps ten times as large; their difference over
2 eps is too large by the square alone. With all variances in [a, b] the sandwich lies between a H^-1 and b H^-1; what
rounding takes out of there is put back, stage by stage. Half their sum is H^-1 but for the square of eps: where it is
not, rounding can be as large as the sandwich, and that is at least H^-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, factorise
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import NormalEquations
from sysid_nodes.solvers.trajectory_least_squares.posterior import Posterior, covariances, least_pivot, posterior
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks
from sysid_nodes.solvers.trajectory_least_squares.scaled_rows import assemble_scaled

_EPSILON = 1e-2
"""Largest share of a weight's change; smaller leaves more to rounding."""

_SMALL = 1e-3
"""The same where one inversion more does, which then errs by as much; and what rounding may add."""

_PIVOT_ROUNDING = 2e-15
"""Relative rounding of an inverse times its least pivot: of a walking G1, 1.9e-15."""

_ROUNDED = 2.0 * _EPSILON**2
"""Share by which half the sum of both inverses misses the plain one that only rounding explains."""


def sandwich(
    groups: Sequence[Blocks], factor: Factor, plain: Posterior, variances: Sequence[Array]
) -> Posterior | None:
    """Covariances for noise of other variances than one; None where the inversion fails.

    Those of stages with parameters are NaN: nothing asks for them, and they are as large as all others together.

    Args:
        groups: blocks of the estimate.
        factor: undamped, of their normal equations.
        plain: their posterior, all stages and local variables covered.
        variances: (B, m) of each group's whitened residuals.
    """
    largest = max((float(variance.max(initial=0.0)) for variance in variances), default=0.0)
    if not (np.isfinite(largest) and largest > 0.0):
        return None
    stated = factor.equations
    noise = assemble_scaled(groups, [np.sqrt(variance) for variance in variances], stated.windows, stated.layout)
    rounds_little = _SMALL**2 * least_pivot(factor) >= _PIVOT_ROUNDING * largest
    inverses = _two_inverses(stated, noise, _SMALL / largest, plain) if rounds_little else None
    inverses = inverses or _two_inverses(stated, noise, _EPSILON / largest)
    if inverses is None:
        return None
    more, less, apart = inverses

    def difference(name: str) -> Array:
        found = getattr(more, name) - getattr(less, name)
        found /= apart
        return np.asarray(found)

    def clipped(name: str, shape: tuple[int, ...]) -> Array:
        mean = getattr(plain, name) if less is plain else 0.5 * (getattr(more, name) + getattr(less, name))
        found, mean, stated = (of.reshape(shape) for of in (difference(name), mean, getattr(plain, name)))
        return _clip_between(found, mean, stated, least, largest)

    least = min((float(variance.min(initial=largest)) for variance in variances), default=largest)
    return replace(
        plain,
        parameter=clipped("parameter", (1, *plain.parameter.shape))[0],
        stage=clipped("stage", plain.stage.shape),
        stage_parameter=np.broadcast_to(np.nan, plain.stage_parameter.shape),
        neighbour=difference("neighbour"),
        second=difference("second"),
        local=difference("local"),
    )


def _two_inverses(
    stated: NormalEquations, noise: NormalEquations, epsilon: float, plain: Posterior | None = None
) -> tuple[Posterior, Posterior, float] | None:
    """The posterior of rows lighter by epsilon and the plain one, else of rows heavier, and by how much rows differ."""
    lighter = stated.add(noise, -epsilon)
    factor = factorise(lighter, 0.0)
    more = None if factor is None else covariances(factor)
    less = plain or posterior(stated.add(noise, epsilon, room=lighter), room=factor)
    return None if more is None or less is None else (more, less, epsilon if plain else 2.0 * epsilon)


def _clip_between(found: Array, mean: Array, plain: Array, least: float, largest: float) -> Array:
    """(B, n, n) found with its eigenvalues relative to plain put back into [least, largest], [1, largest] by rounding.

    `mean` is plain as the two inversions have it.
    """
    if not found.size:
        return found
    missed = np.diagonal(mean - plain, axis1=1, axis2=2) / np.diagonal(plain, axis1=1, axis2=2)
    rounded = np.any(np.abs(missed) > _ROUNDED, axis=1)
    if not rounded.any() and _is_positive(found - least * plain) and _is_positive(largest * plain - found):
        return found  # as nearly always: to see that takes a tenth of the time of eigenvalues
    root = np.linalg.cholesky(plain)
    half = np.linalg.solve(root, 0.5 * (found + found.swapaxes(1, 2)))
    relative = np.linalg.solve(root, half.swapaxes(1, 2))
    value = np.linalg.eigvalsh(relative)
    wrong = rounded | (value[:, 0] < least) | (value[:, -1] > largest)
    value, vector = np.linalg.eigh(relative[wrong])
    turned, back = root[wrong] @ vector, np.linalg.solve(root[wrong].swapaxes(1, 2), vector)
    missed = np.einsum("bij,bik,bkj->bj", back, (mean - plain)[wrong], back)
    value = np.clip(value, np.where(np.abs(missed) > _ROUNDED, max(1.0, least), least), max(1.0, largest))
    out = found.copy()
    out[wrong] = (turned * value[:, None, :]) @ turned.swapaxes(1, 2)
    return np.asarray(out)


def _is_positive(matrices: Array) -> bool:
    """Whether all of (B, n, n) symmetric matrices are positive definite."""
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return False
    return True
