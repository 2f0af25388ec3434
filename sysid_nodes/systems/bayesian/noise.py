# SPDX-License-Identifier: Apache-2.0
"""Noise of a log, estimated with everything else: descents and variance components in turn, until both stay.

What the stated noise was to begin with hardly matters then. A torque's noise is of its reading and of all that the
model misses. That weighs readings as if it were white. Where it errs the same way for some time, the parameters err
by more than they would for white noise, and their covariance allows for it (`lasting_errors`). Noise of passive joints
is not estimated: loop forces take their rows up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import FeasiblePoint, LinearModel, linear_model
from sysid_nodes.solvers.trajectory_least_squares.influence import Influence, influences, white_residuals
from sysid_nodes.solvers.trajectory_least_squares.variance_components import (
    correlation_time,
    lasting_correlation,
    variance_ratios,
)
from sysid_nodes.systems.bayesian.problem import GROUPS, Estimate, MechanismProblem, Noise

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

WHITE = 1.5
"""Correlation times below that are chance's."""

_SETTLED = 0.05  # relative change of a standard deviation from which on another round would show nothing
_LEAST = 0.02  # of the information in the rows of a kind that must be left to tell their noise
_DRAWS = 4  # of white noise, for the correlation that it leaves
_SHORTEST = 8  # blocks in which correlation is looked for
_FINEST = 1e-7  # [rad] of an encoder's noise: a joint that stands still shows none at all
_FACTOR = 30.0  # by which a round may change a standard deviation


@dataclass(frozen=True)
class Correlation:
    """Errors that stay the same for some time.

    Attributes:
        torque: (m,) correlation times of the motors' residuals, in stages; 1 for white noise.
        power: of the power meter's.
        extra: (p, p) covariance of the parameters that it adds.
    """

    torque: Array
    power: float
    extra: Array


def shown_noise(problem: MechanismProblem, at: FeasiblePoint[Estimate]) -> Noise | None:
    """The noise that a minimum's residuals show, as if it were white; None where a coordinate is undetermined."""
    own = _influences(linear_model(problem, at))
    if own is None:
        return None
    noise, m, n = problem.noise, len(problem.noise.torque), own["position"].residual.shape[1]
    read = np.any(np.isfinite(problem.log.position), axis=0)
    position = noise.position.copy()
    position[read] *= np.sqrt(_ratios(own["position"], np.tile(np.arange(n), (len(own["position"].residual), 1)), n))
    position = np.maximum(position, np.minimum(noise.position, _FINEST))
    # What is not counted is of a kind of its own.
    turning = np.where(problem.turning[_read(problem)], m, np.arange(m))
    torque = noise.torque * np.sqrt(_ratios(own["torque"], turning, m + 1)[:m])
    power = noise.power * float(np.sqrt(_ratios(own["power"], _turns(problem).astype(np.intp), 2)[0]))
    return replace(noise, position=position, torque=torque, power=power)


def _read(problem: MechanismProblem) -> BoolArray:
    """(N - 2,) inner stages at which torques were read."""
    return np.asarray(np.all(np.isfinite(problem.log.torque[1:-1]), axis=1))


def _turns(problem: MechanismProblem) -> BoolArray:
    """(B, 1) whether friction turns where power was read."""
    return np.asarray(problem.turning[np.isfinite(problem.log.power[1:-1])].any(axis=1, keepdims=True))


def _ratios(own: Influence, kinds: IntArray, count: int) -> Array:
    """(count,) variances of the kinds of rows (B, m) in units of what they were; 1 where too little is left to tell."""
    flat = Influence(own.residual.reshape(1, -1), own.leverage.reshape(1, -1), own.gain[:0])
    ratio = np.clip(variance_ratios(flat, kinds.ravel(), count), _FACTOR**-2, _FACTOR**2)
    rows = np.maximum(np.bincount(kinds.ravel(), minlength=count), 1)
    left = np.bincount(kinds.ravel(), 1.0 - own.leverage.ravel(), count) / rows
    return np.where(left > _LEAST, ratio, 1.0)


def pooled_noise(before: Noise, stages: int, shown: Noise, more: int) -> Noise:
    """Of two parts of a log, by their numbers of stages."""
    share = more / (stages + more)

    def pool(a: Any, b: Any) -> Any:
        return np.sqrt((1.0 - share) * a**2 + share * b**2)

    return replace(
        before,
        position=pool(before.position, shown.position),
        torque=pool(before.torque, shown.torque),
        power=float(pool(before.power, shown.power)),
    )


def louder(before: Noise, shown: Noise) -> float:
    """By how much noise exceeds what it was, as a factor on a standard deviation, where that is most."""
    return float((_levels(shown) / _levels(before)).max())


def has_settled(before: Noise, after: Noise) -> bool:
    """Whether another round would show nothing."""
    ratios = _levels(after) / _levels(before)
    return bool(np.abs(ratios - 1.0).max() < _SETTLED)


def correlation(problem: MechanismProblem, model: LinearModel) -> Correlation:
    """How long residuals keep, and what that costs."""
    own, p = _influences(model), problem.layout.parameters
    extra = np.zeros((p, p))
    if own is None:
        return Correlation(np.ones(len(problem.noise.torque)), 1.0, extra)
    rng = np.random.default_rng(0)
    draws = [white_residuals(model.blocks, model.layout, rng) for _ in range(_DRAWS)]
    white = [dict(zip(GROUPS, draw, strict=True)) for draw in draws if draw is not None]
    counted = {"torque": ~problem.turning[_read(problem)], "power": ~_turns(problem)}
    times = {}
    for name, there in counted.items():
        alike = [draw[name] * there for draw in white]
        times[name], added = lasting_errors(own[name], alike)
        extra += added
    return Correlation(times["torque"], float(times["power"][0]), extra)


def _levels(noise: Noise) -> Array:
    return np.array([*noise.position, *noise.torque, noise.power])


def _influences(model: LinearModel) -> dict[str, Influence] | None:
    found = None if model.factor is None else influences(model.blocks, model.factor)
    return None if found is None else dict(zip(GROUPS, found[1], strict=True))


def lasting_errors(own: Influence, white: Sequence[Array] = ()) -> tuple[Array, Array]:
    """(m,) correlation times, 1 where residuals may as well be white, and (p, p) covariance that the others add.

    The parameters err by sum_k g_k e_k: noise of correlation rho adds sum_l rho_l sum_k (g_k g_(k+l)' + g_(k+l) g_k').
    Where the motion has turned before the noise has, gains have another sign and what lasts is averaged out.
    """
    m, p = own.gain.shape[1:]
    times, added = np.ones(m), np.zeros((p, p))
    if len(own.residual) < _SHORTEST:
        return times, added
    times = correlation_time(own.residual, white)
    rho = lasting_correlation(own.residual, white)
    for j in np.flatnonzero(times > WHITE):
        gain = own.gain[:, j]
        for lag in range(1, len(rho)):
            both = rho[lag, j] * gain[:-lag].T @ gain[lag:]
            added += both + both.T
    scale = np.sqrt(np.maximum(np.einsum("kmp,kmp->p", own.gain, own.gain), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(added / np.outer(scale, scale))
    half = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))  # never less than what white noise gives
    return np.where(times > WHITE, times, 1.0), half @ half.T
