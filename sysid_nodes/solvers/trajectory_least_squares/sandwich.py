"""Covariances of an estimate whose noise is not what its weights say: H^-1 S H^-1 with S = J' R J.

The estimate minimises sum |r|^2 whatever the noise is; its error has this covariance if the noise's is R (Huber 1967;
White 1980), and H^-1 only for R = 1. For a diagonal R the blocks that matter follow from two selected inversions, as

    H^-1 S (H + eps S)^-1 = (H^-1 - (H + eps S)^-1) / eps,

which is smaller than the sandwich by at most eps times the largest variance, relatively, and never indefinite but for
rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.posterior import Posterior, posterior
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.robust import reweighted

_EPSILON = 1e-4
"""Share by which variances come out too small; the difference of two inversions keeps some ten digits less four."""


def sandwich(
    groups: Sequence[Blocks], layout: Layout, plain: Posterior, variances: Sequence[Array]
) -> Posterior | None:
    """Covariances for noise of other variances than one; None where the inversion fails.

    Args:
        groups: blocks of the estimate.
        layout: sizes.
        plain: their posterior, all stages covered.
        variances: (B, m) of each group's whitened residuals.
    """
    largest = max((float(variance.max(initial=0.0)) for variance in variances), default=0.0)
    if not (np.isfinite(largest) and largest > 0.0):
        return None
    epsilon = _EPSILON / largest
    weighted = [_scaled(reweighted(blocks), 1.0 + epsilon * v) for blocks, v in zip(groups, variances, strict=True)]
    other = posterior(assemble(weighted, layout))
    if other is None:
        return None

    def difference(name: str) -> Array:
        return np.asarray((getattr(plain, name) - getattr(other, name)) / epsilon)

    return replace(
        plain,
        parameter=difference("parameter"),
        stage=difference("stage"),
        stage_parameter=difference("stage_parameter"),
        neighbour=difference("neighbour"),
        second=difference("second"),
        local=difference("local"),
    )


def _scaled(blocks: Blocks, weight: Array) -> Blocks:
    """Rows times the roots of their weights (B, m)."""
    root = np.sqrt(weight)
    rows = root[:, :, None]
    return replace(
        blocks,
        residual=blocks.residual * root,
        jacobian=blocks.jacobian * rows,
        parameter_jacobian=None if blocks.parameter_jacobian is None else blocks.parameter_jacobian * rows,
        local_jacobian=None if blocks.local_jacobian is None else blocks.local_jacobian * rows,
    )
