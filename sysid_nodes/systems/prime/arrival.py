# SPDX-License-Identifier: Apache-2.0
"""Arrival cost: knowledge from before a window about its first stages and the parameters.

Stages that leave are marginalised at their last linearisation while the parameters stay: the prior that remains carries
the information on the next two stages, on the parameters, and on how both hang together. It is exact for linear
residuals and never indefinite. The parameters' own prior stays apart and is never used up. Parameters that may drift
make a random walk from window to window, so that knowledge of them is forgotten at a stated rate; so does the place
of the base while no sensor measures it (dead_reckoning.py). The noise of all that goes along (score.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from sysid_nodes.solvers.trajectory_least_squares import Blocks, GaussianPrior, marginalise
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.systems.prime.carried import Carried
from sysid_nodes.systems.prime.leaving import leave
from sysid_nodes.systems.prime.problem import Arrival, PrimeProblem
from sysid_nodes.systems.prime.score import Score
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Knowledge:
    """Estimate of the constant unknowns.

    Attributes:
        theta: (p,).
        arrival: how well, without motion; None for the configured prior.
    """

    theta: Array
    arrival: Arrival | None


def next_arrival(
    problem: PrimeProblem,
    blocks: Sequence[Blocks],
    point: Trajectory,
    factor: Factor | None,
    count: int,
    variances: Sequence[Array],
    effects: Mapping[str, Array],
) -> Arrival | None:
    """The information of the first `count` stages about the rest; None where that is not finite.

    Args:
        problem: of the window.
        blocks: its blocks at the point; the last, the parameters' own prior, is not used up.
        point: of linearisation.
        factor: undamped, of the blocks; None where they leave something undetermined.
        count: stages that leave.
        variances: (B, m) of the noise of each group, in units of the stated one.
        effects: (B, m, e) derivatives of residuals by sizes of effects that are left out, of groups by name.
    """
    layout = problem.layout
    left = None if factor is None else leave(problem, blocks[:-1], point, factor, count, variances, effects)
    if left is None:  # by orthogonal transformations, whatever is determined
        prior, score = marginalise(blocks[:-1], layout, count).prior, None
        carried = Carried.nothing(prior.root.shape[1], len(problem.arrival.carried.gradient))
    else:
        rows, score, carried = _triangle(left[0]), left[1], left[2]
        prior = GaussianPrior(rows[:, :-1], rows[:, -1], layout.size, layout.parameters)
    # Rows are triangular: one beyond the columns holds no unknown, only a cost that never changes.
    kept = slice(prior.root.shape[1])
    root = prior.root[kept].copy()
    p = prior.parameters
    linear = problem.model.parameters.linear_jacobian(point.theta)
    if not (np.isfinite(root).all() and np.isfinite(prior.offset).all() and np.isfinite(linear).all()):
        return None
    slope = np.eye(root.shape[1])
    try:
        slope[-p:, -p:] = np.linalg.inv(linear)
    except np.linalg.LinAlgError:  # constants that only a window which fits nothing has, as a lag of hours
        return None
    root[:, -p:] = root[:, -p:] @ slope[-p:, -p:]
    prior = replace(prior, root=root, offset=prior.offset[kept], first=0)
    score = Score.as_stated(root) if score is None else score.change_unknowns(slope)
    return Arrival(prior, point.q[count : count + prior.width], point.theta, score, carried.change_unknowns(slope))


def _triangle(rows: Array) -> Array:
    """(min(m, n), n) upper triangular, of the same sums of squares as rows (m, n): in half of NumPy's time."""
    count = rows.shape[1]
    return np.asarray(np.triu(lapack.dgeqrf(rows, lwork=_BLOCK * count)[0][:count]))


_BLOCK = 32
"""Columns that LAPACK eliminates at a time."""


def let_parameters_drift(arrival: Arrival, spread: Array) -> Arrival:
    """Widens an arrival for unknown changes of the parameters, `spread` (p, k) times k of unit variance in `linear`."""
    columns = np.zeros((arrival.prior.root.shape[1], spread.shape[1]))
    columns[-len(spread) :] = spread
    return loosen(arrival, columns)


def loosen(arrival: Arrival, columns: Array) -> Arrival:
    """Widens an arrival for a change of its unknowns by `columns` (width n + p, k) times k unknowns e of unit variance.

    The old unknowns are the new less columns e, with |e|^2 for the move: e is eliminated.
    """
    prior = arrival.prior
    count, rows = columns.shape[1], len(prior.offset)
    stacked = np.zeros((rows + count, count + prior.root.shape[1] + 1))
    stacked[:rows, :count] = -prior.root @ columns
    stacked[:rows, count:-1], stacked[:rows, -1] = prior.root, prior.offset
    stacked[rows:, :count] = np.eye(count)
    left = _eliminate_columns(stacked, count)
    information = stacked[:, :-1].T @ stacked[:, :-1]
    both = np.concatenate([-columns, np.eye(len(columns))], axis=1)
    score = arrival.score.change_unknowns(both) + Score.as_stated(stacked[rows:, :-1])
    score = score.eliminate(information, count) or Score.as_stated(left[:, :-1])
    carried = arrival.carried.change_unknowns(both).eliminate(stacked[:, :-1], stacked[:, -1], count)
    return replace(arrival, prior=replace(prior, root=left[:, :-1], offset=left[:, -1]), score=score, carried=carried)


def drop_motion(arrival: Arrival) -> Arrival:
    """The information of an arrival about the parameters, its stages being of no further use."""
    prior = arrival.prior
    split = prior.root.shape[1] - prior.parameters
    left = _eliminate_columns(np.column_stack([prior.root, prior.offset]), split)
    root = np.concatenate([np.zeros((len(left), prior.size)), left[:, :-1]], axis=1)
    score = arrival.score.eliminate(prior.root.T @ prior.root, split) or Score.as_stated(left[:, :-1])
    score = score.change_unknowns(np.eye(prior.parameters, root.shape[1], prior.size))
    carried = arrival.carried.eliminate(prior.root, prior.offset, split)
    carried = carried.change_unknowns(np.eye(prior.parameters, root.shape[1], prior.size))
    prior = GaussianPrior(root, left[:, -1], prior.size, prior.parameters)
    return Arrival(prior, arrival.q[:1], arrival.theta, score, carried)


def restart_arrival(arrival: Arrival, known: Arrival | None) -> Arrival:
    """An arrival of nothing but a first stage, with the parameters as an earlier motion left them."""
    if known is None:
        return arrival
    root = np.concatenate([arrival.prior.root, known.prior.root])
    offset = np.concatenate([arrival.prior.offset, known.prior.offset])
    prior = replace(arrival.prior, root=root, offset=offset)
    return Arrival(prior, arrival.q, known.theta, arrival.score + known.score, known.carried)


def _eliminate_columns(rows: Array, count: int) -> Array:
    """Rows left when the first `count` columns take their best values; no row holds the last column alone."""
    left = np.asarray(np.linalg.qr(rows, mode="r"))[count:, count:]
    return left[: rows.shape[1] - 1 - count]
