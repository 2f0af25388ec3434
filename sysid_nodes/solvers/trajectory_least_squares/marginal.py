# SPDX-License-Identifier: Apache-2.0
"""Arrival cost: the information of a window's oldest stages about the rest, as a prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.trajectory_least_squares.gaussian_prior import GaussianPrior
from sysid_nodes.solvers.trajectory_least_squares.problem import Array, Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.sweep import Mask, Sweep, sweep


@dataclass(frozen=True)
class Marginal:
    """Information of the blocks of stages 0..m-1, about the stages from m on and the parameters.

    Attributes:
        prior: on stages m..m + W - 2, as far as there are any, and the parameters; the reference is the point of
            linearisation. Count its stages anew with `prior.at(0)` when the window moves on.
        equality: what hard equalities of the marginalised stages say about the same; its residual must vanish. None
            where they say nothing.
        used: for each group of blocks, (B,) which went into the prior and must not be used again.
        equalities_used: the same for each group of equalities.
        contradiction: by how much equalities, scaled to unit rows, contradict one another.
        swept: the elimination itself.
    """

    prior: GaussianPrior
    equality: GaussianPrior | None
    used: list[Mask]
    equalities_used: list[Mask]
    contradiction: float
    swept: Sweep


def marginalise(groups: Sequence[Blocks], layout: Layout, count: int, equalities: Sequence[Blocks] = ()) -> Marginal:
    """Marginalises the first `count` stages and their local variables; exact for linear residuals.

    The square root of the Schur complement comes from orthogonal transformations: it is never indefinite, also where
    the stages are not fully determined. All blocks that touch a marginalised stage go into the prior, and with one
    block of an owner of local variables go all of that owner.

    Args:
        groups: blocks at the point of linearisation; robust losses keep the weights they have there.
        layout: sizes.
        count: m, from 1 to T.
        equalities: hard equalities at the same point.

    Raises:
        SamplesError: shapes do not fit, or no stage would be left.
    """
    if not 1 <= count < layout.stages:
        raise SamplesError(f"can marginalise 1 to {layout.stages - 1} of {layout.stages} stages, got {count}")
    done = sweep(groups, equalities, layout, count)
    split = len(groups)
    prior = _prior(done.rows, layout, count)
    equality = _prior(done.equalities, layout, count) if done.equalities.shape[0] else None
    return Marginal(prior, equality, done.used[:split], done.used[split:], done.contradiction, done)


def _prior(rows: Array, layout: Layout, first: int) -> GaussianPrior:
    """Rows [stages, parameters, residual] as a prior."""
    return GaussianPrior(rows[:, :-1], rows[:, -1], layout.size, layout.parameters, first)
