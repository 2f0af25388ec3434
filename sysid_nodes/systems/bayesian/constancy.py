# SPDX-License-Identifier: Apache-2.0
"""Whether the constants are the same throughout a log: a payload may be taken up midway, a drive may change.

A log is cut into blocks that tell a constant equally well. Had it another value d_b in each of them, the others the
same value in all, the linear model of the minimum would have it that

    s = -M d + errors of covariance M,   s_b = sum_(k in b) J_k r_k,   M_bc = [b = c] V_b - W_b' W_c,

J_k the row of the constant after the motion is eliminated, V_b the information of a block, W_b what of it the common
constants take up, the mean of d among them. A change at an unknown time is a step of d, with a block between that may
be mixed; its size over its standard deviation is of Student's t with as many degrees of freedom as blocks are left.
How large errors are is what blocks scatter by beside the step, not what stages do: errors of a real arm's model last,
and some come again with the posture, so that no covariance of stages allows for them (Ibragimov, Mueller, Journal of
Business and Economic Statistics 28 (2010) 453). What drifts makes neighbours scatter alike and counts for less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import LinearModel
from sysid_nodes.solvers.trajectory_least_squares.influence import Influence
from sysid_nodes.systems.bayesian.noise import Correlation
from sysid_nodes.systems.bayesian.posterior import coordinate_names
from sysid_nodes.systems.bayesian.problem import GROUPS, MechanismProblem

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

_READ = ("position", "torque", "passive", "power")
_BLOCKS = 16
_WEIGHT = (0, 7, 8, 9)  # of a link's coordinates: its mass and where its centre is, which a payload moves
_LEAST = 6  # stages of a block, in the mean: of less, errors of neighbours are the same error
_SHOWN = 0.01  # chance that errors look like a change, below which one is said
_ALLOWED = 0.5  # the same, below which intervals begin to allow for one
_FALSE = 1e-4  # the same, below which nothing is claimed; between, real friction that warms up shows it, too
_NO_MEAN = 1e-9  # share of the information, below which the common constants have taken up all of the mean


class Change(NamedTuple):
    """Attributes: chance that errors show as much; words that say where, and of what, none of what errors show easily;
    spread (p, p) that the constants have about the estimate, before the change and after it; whether it contradicts
    constants that stay."""

    chance: float
    words: str
    spread: Array

    @property
    def contradicts(self) -> bool:
        return self.chance < _FALSE


class _Parts(NamedTuple):
    """Attributes: edges (K + 1,) of blocks, in stages; gains (K, p): the estimate moves by so much for a unit of the
    constant in a block; score s (K,); information M (K, K)."""

    edges: IntArray
    gains: Array
    score: Array
    information: Array


class _Step(NamedTuple):
    """Attributes: t, over its standard deviation; at, block within which it is; size; sigma, for white noise."""

    t: float
    at: int
    size: float
    sigma: float


def changed_constants(problem: MechanismProblem, model: LinearModel, kept: Correlation) -> Change | None:
    """The change that a log's links or dry friction show most clearly; None where errors are as likely to look like it.

    What is too slight to be said may be there all the same: intervals allow for as much of it, in squares, as is beyond
    what errors show in every other log.

    Args:
        problem: of the log.
        model: at its minimum.
        kept: influences of its residuals.
    """
    own, factor = problem.mechanism.parameters, model.factor
    if factor is None or not kept.own or problem.log.stages < _LEAST * _BLOCKS:
        return None
    blocks = dict(zip(GROUPS, model.blocks, strict=False))
    read = [(blocks[name].first, one) for name, one in kept.own.items() if name in _READ and one.residual.size]
    coulomb = own.joint("coulomb")
    links = [own.body(i).start + part for i in range(own.n) for part in _WEIGHT]
    tested = np.isin(own.free, [*links, *range(coulomb.start, coulomb.stop)])
    found = []
    for k in np.flatnonzero(tested).tolist():
        if (parts := _in_blocks(read, factor.corner, k)) is not None:
            score = parts.score - parts.gains @ factor.parameter_gradient  # at bounds the minimum leaves a gradient
            step = step_between_blocks(score, parts.information)
            if step.sigma < own.sigma[own.free[k]]:
                found.append((k, parts, step))
    if not found:
        return None
    k, parts, step = max(found, key=lambda one: abs(one[2].t))
    if (chance := min(1.0, len(found) * chance_of(step.t))) > _ALLOWED:
        return None
    size = step.size * np.sqrt(
        max(1.0 - (_clear(_ALLOWED / len(found)) / step.t) ** 2, 0.0) if chance > _SHOWN else 1.0
    )
    # Had the constant changed by size, the estimate would be off by what later blocks pull it, or by the rest of it.
    early = size * parts.gains[step.at :].sum(axis=0)
    late = early - size * np.eye(len(early))[k]
    when = float(problem.log.t[parts.edges[step.at : step.at + 2]].mean() - problem.log.t[0])
    words = (
        f"constants seem to change along the log, at {when:.2g} s or so, "
        f"most of all '{coordinate_names(own)[k]}' ({abs(step.t):.0f} sigmas)"
    )
    return Change(chance, words if chance < _SHOWN else "", np.outer(early, early) + np.outer(late, late))


def _in_blocks(read: Sequence[tuple[IntArray, Influence]], corner: Array, k: int) -> _Parts | None:
    """Of theta's coordinate k; None where a few stages tell most of it."""
    column = corner @ corner[k]
    rows = [one.gain @ column for _, one in read]
    told = np.zeros(1 + max(int(first[-1]) for first, _ in read))
    for (first, _), row in zip(read, rows, strict=True):
        np.add.at(told, first, np.sum(row**2, axis=1))
    share = np.cumsum(told)
    inner = np.searchsorted(share, share[-1] * np.arange(1, _BLOCKS) / _BLOCKS)
    edges = np.array([0, *inner, len(told)])
    if (np.diff(edges) < 1).any():
        return None
    gains, score, information = np.zeros((_BLOCKS, len(corner))), np.zeros(_BLOCKS), np.zeros(_BLOCKS)
    for (first, one), row in zip(read, rows, strict=True):
        for b, (begin, end) in enumerate(np.searchsorted(first, [edges[:-1], edges[1:]]).T):
            part = row[begin:end]
            gains[b] += np.einsum("km,kmp->p", part, one.gain[begin:end])
            score[b] += np.sum(part * one.residual[begin:end])
            information[b] += np.sum(part**2)
    taken = gains @ corner
    return _Parts(edges, gains, score, np.diag(information) - taken @ taken.T)


def step_between_blocks(score: Array, information: Array) -> _Step:
    """The step that scores (K,) with their information (K, K) show most clearly, the mean being free."""
    count, mean = len(score), information.sum(axis=1)
    if (all_mean := mean.sum()) > _NO_MEAN * np.trace(information):
        score = score - mean * (score.sum() / all_mean)
        information = information - np.outer(mean, mean) / all_mean
    values, vectors = np.linalg.eigh(information)
    root = vectors[:, 1:] * np.sqrt(np.maximum(values[1:], np.finfo(float).tiny))
    value, block = -np.linalg.lstsq(root, score, rcond=None)[0], np.arange(count)
    best = _Step(0.0, 0, 0.0, np.inf)
    for at in range(1, count - 1):
        design = root.T @ np.stack([block > at, block == at], axis=1).astype(float)
        size = np.linalg.lstsq(design, value, rcond=None)[0]
        left = value - design @ size
        sigma = np.sqrt(np.linalg.pinv(design.T @ design)[0, 0])
        in_order = vectors[:, 1:] @ left
        alike = max(float(in_order[1:] @ in_order[:-1] / max(left @ left, np.finfo(float).tiny)), 0.0)
        scatter = max(float(left @ left) / (count - 3), 1.0) * (1.0 + alike) / (1.0 - alike)
        if abs(t := size[0] / (sigma * np.sqrt(scatter))) > abs(best.t):
            best = _Step(float(t), at, float(size[0]), float(sigma))
    return best


def chance_of(t: float, count: int = _BLOCKS) -> float:
    """At most, that errors alone make one of all steps as clear as that."""
    return float((count - 2) * 2.0 * stdtr(count - 3, -abs(t)))


def _clear(chance: float, count: int = _BLOCKS) -> float:
    """The step that errors make with that chance at most, over its standard deviation."""
    return float(-stdtrit(count - 3, 0.5 * chance / (count - 2)))
