# SPDX-License-Identifier: Apache-2.0
"""Whether the constants are the same throughout a log: a payload may be taken up midway, a drive may change.

At the minimum, what the rows of all stages ask of the constants adds up to nothing; what the first part of them asks,

    s = sum_(k before the cut) g_k r_k,

with gains g (influence.py) of residuals r, should then be chance's alone. With errors e, r = (1 - P) e, it has
covariance V - V F V for white ones, V = sum g_k g_k' up to the cut, F the information of log and prior together; errors
that last for some stages add (1 - V F) L (1 - V F)' + V F L' F V, L and L' what they add before and after the cut
(`lasting_covariance`). So s' (...)^-1 s is of chi square, in the directions that both parts tell (a score test of
parameters that change at a known time, Hansen, Journal of Policy Modeling 14 (1992) 4).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import LinearModel
from sysid_nodes.systems.bayesian.knowledge import TOLD
from sysid_nodes.systems.bayesian.noise import Correlation, lasting_covariance
from sysid_nodes.systems.bayesian.posterior import coordinate_names
from sysid_nodes.systems.bayesian.problem import GROUPS, MechanismProblem

Array = npt.NDArray[np.float64]

_CUTS = (0.25, 0.5, 0.75)  # of a log
_CHANCE = 0.01  # that an honest log shows a change at one of them
_FALSE = 1e-6  # the same, from which on nothing is claimed; between, what a real arm's model misses shows as well


def changed_constants(problem: MechanismProblem, model: LinearModel, kept: Correlation) -> tuple[str, bool]:
    """In words, where a log's parts speak of different constants, empty where they do not; whether that contradicts.

    Args:
        problem: of the log.
        model: at its minimum.
        kept: how long its residuals keep.
    """
    if model.factor is None:
        return "", False
    names, log = coordinate_names(problem.mechanism.parameters), problem.log
    worst, words = _CHANCE / len(_CUTS), ""
    for cut in _CUTS:
        chance, moved = change_at(cut * log.stages, model, kept)
        if chance < worst:
            k, worst = int(np.argmax(np.abs(moved))), chance
            most = f"most of all '{names[k]}' ({abs(moved[k]):.0f} sigmas)"
            words = f"constants seem to change along the log, at {cut * log.t[-1]:.2g} s or so, {most}"
    return words, worst < _FALSE


def change_at(cut: float, model: LinearModel, kept: Correlation) -> tuple[float, Array]:
    """Chance of a change as large as stages before and after a cut show; (p,) the change, in its sigmas."""
    factor, blocks = model.factor, dict(zip(GROUPS, model.blocks, strict=False))
    assert factor is not None
    corner, p = factor.corner, len(factor.corner)
    asked, white, lasting = np.zeros(p), np.zeros((p, p)), np.zeros((2, p, p))
    for name in ("position", "torque", "passive", "power"):
        if name not in kept.own or not kept.own[name].residual.size:
            continue
        before = blocks[name].first < cut
        gain = kept.own[name].gain @ corner
        first = gain[before].reshape(-1, p)
        asked += first.T @ kept.own[name].residual[before].ravel()
        white += first.T @ first
        if name in kept.lags:
            for side, part in enumerate((before, ~before)):
                lasting[side] += lasting_covariance(gain[part], kept.lags[name])
    # Bounds and equalities keep the estimate from where all rows together ask for nothing.
    asked -= white @ np.linalg.solve(corner, factor.parameter_gradient)
    rest = np.eye(p) - white
    covariance = white @ rest + rest @ lasting[0] @ rest.T + white @ lasting[1] @ white.T
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    told = values > TOLD
    along = (vectors.T @ asked)[told]
    if not told.any():
        return 1.0, np.zeros(p)
    back = np.linalg.solve(corner.T, vectors[:, told])
    sigma = np.sqrt(np.maximum(np.sum(back**2 * values[told], axis=1), np.finfo(float).tiny))
    return float(chdtrc(int(told.sum()), float(np.sum(along**2 / values[told])))), back @ along / sigma
