# SPDX-License-Identifier: Apache-2.0
"""Robust losses of a block's squared norm, and blocks reweighted by them (iteratively reweighted least squares).

With s = |r|^2, a block costs rho(s) / 2. Its Gauss-Newton model scales residual and Jacobian by sqrt(rho'(s)), which
has the exact gradient and drops the negative curvature of rho (Zhang, Parameter estimation techniques, 1997, sec. 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Loss

_NORMAL = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


@dataclass(frozen=True)
class Huber:
    """Quadratic up to |r| = threshold, linear beyond: bounds an outlier's pull."""

    threshold: float = 1.345

    @classmethod
    def at_spread(cls, residual: Array, times: float) -> Huber | None:
        """From so many times the spread of residuals on, of any shape: it is the tails and not the misfit it cuts.

        Residuals of exactly zero are readings that are missing. None where nothing is to be cut (zero times), is read,
        or is finite.
        """
        measured = np.abs(residual[residual != 0.0])
        if not times or not measured.size or not np.isfinite(measured).all():
            return None
        return cls(times * _NORMAL * float(np.median(measured)))

    def __call__(self, squared: Array) -> tuple[Array, Array]:
        """rho and rho' at the (B,) squared norms."""
        norm = np.sqrt(np.maximum(squared, self.threshold**2))
        inside = squared <= self.threshold**2
        value = np.where(inside, squared, 2.0 * self.threshold * norm - self.threshold**2)
        return value, self.threshold / norm


@dataclass(frozen=True)
class Cauchy:
    """Logarithmic beyond |r| = scale: an outlier's pull vanishes with its size; not convex."""

    scale: float = 2.385

    def __call__(self, squared: Array) -> tuple[Array, Array]:
        """rho and rho' at the (B,) squared norms."""
        ratio = squared / self.scale**2
        return self.scale**2 * np.log1p(ratio), 1.0 / (1.0 + ratio)


def reweight(blocks: Blocks) -> Blocks:
    """The plain least-squares blocks with the same gradient as the robust ones."""
    if blocks.loss is None:
        return blocks
    root = np.sqrt(blocks.loss(np.einsum("bm,bm->b", blocks.residual, blocks.residual))[1])
    rows = root[:, None, None]
    return replace(
        blocks,
        residual=blocks.residual * root[:, None],
        jacobian=blocks.jacobian * rows,
        parameter_jacobian=None if blocks.parameter_jacobian is None else blocks.parameter_jacobian * rows,
        local_jacobian=None if blocks.local_jacobian is None else blocks.local_jacobian * rows,
        loss=None,
    )


def cost(residuals: Sequence[Array], losses: Sequence[Loss | None]) -> float:
    """Sum of rho(|r|^2) / 2 over all blocks; inf where a residual is not finite."""
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for residual, loss in zip(residuals, losses, strict=True):
            if loss is None:
                total += float(np.einsum("bm,bm->", residual, residual))
            else:
                total += float(loss(np.einsum("bm,bm->b", residual, residual))[0].sum())
    return 0.5 * total if np.isfinite(total) else float("inf")


def fits(value: float, residuals: Sequence[Array]) -> bool:
    """Whether noise explains residuals of that cost, all together."""
    return 2.0 * value <= sum(group.size for group in residuals)
