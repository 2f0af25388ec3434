# SPDX-License-Identifier: Apache-2.0
"""Noise of a log, estimated with everything else: descents and variance components in turn, until both stay.

What the stated noise was to begin with hardly matters then. A torque's noise is of its reading and of all that the
model misses. That weighs readings as if it were white. Where it errs the same way for some time, the parameters err
by more than they would for white noise, and their covariance allows for it (`lasting_covariance`). Readings may be
weighed by a robust loss on the way (outliers.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import FeasiblePoint, LinearModel, linear_model
from sysid_nodes.solvers.trajectory_least_squares.influence import Influence, influences, white_residuals
from sysid_nodes.solvers.trajectory_least_squares.variance_components import (
    correlation_time,
    lasting_correlation,
    variance_ratios,
)
from sysid_nodes.systems.bayesian.config import NoiseConfig
from sysid_nodes.systems.bayesian.estimate import Estimate, Noise, Weights
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.outliers import LOSSES, Reweighted, reweigh
from sysid_nodes.systems.bayesian.problem import FINEST, GROUPS, MechanismProblem

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

WHITE = 1.5
"""Correlation times below that are chance's."""

_SETTLED = 0.05  # relative change of a standard deviation from which on another round would show nothing
_RETHOUGHT = 0.005  # mean change of the readings' weights, likewise
_SMALL = 0.1  # of the motors' torque noise, which that of joints without one need not be below
_LEAST = 0.02  # of the information in the rows of a kind that must be left to tell their noise
_DRAWS = 4  # of white noise, for the correlation that it leaves
_SHORTEST = 8  # blocks in which correlation is looked for
_FACTOR = 30.0  # by which a round may change a standard deviation


@dataclass(frozen=True)
class Correlation:
    """Errors that stay the same for some time.

    Attributes:
        torque: (m,) correlation times of the motors' residuals, in stages; 1 for white noise.
        power: of the power meter's.
        extra: (p, p) covariance of the parameters that it adds.
        own: influences of all groups of residuals; empty where a coordinate is undetermined.
        lags: (L, m) correlation of residuals by their distance, of each group in which some last.
    """

    torque: Array
    power: float
    extra: Array
    own: Mapping[str, Influence] = field(default_factory=dict)
    lags: Mapping[str, Array] = field(default_factory=dict)


class Shown(NamedTuple):
    """Attributes: noise that residuals show, as if it were white, not a number where they do not tell; weights by which
    readings are to count."""

    noise: Noise
    weights: Weights


def shown_noise(problem: MechanismProblem, at: FeasiblePoint[Estimate], config: NoiseConfig) -> Shown | None:
    """Noise and outliers that the residuals of a minimum show; None where a coordinate is undetermined."""
    own = _influences(linear_model(problem, at))
    if own is None:
        return None
    noise, m, full = problem.noise, len(problem.noise.torque), Weights.full(problem.log)
    weights = problem.weights or full
    read, there, meter = _read_positions(problem.log), _read(problem), np.isfinite(problem.log.power[1:-1])
    loss, known = LOSSES[config.loss], not config.estimate

    def judge(name: str, weight: Array, kinds: IntArray, count: int) -> tuple[Array, Array]:
        found = reweigh(own[name], weight, kinds, count + 1, loss, known)
        return found.weight, np.sqrt(_ratios(own[name], found, kinds, count + 1)[:count])

    joints = own["position"].residual.shape[1]
    # What is not counted is of a kind of its own.
    held = np.where(problem.stands[read], joints, np.arange(joints))
    by_position, position = judge("position", weights.position[read], held, joints)
    by_torque, torque = judge("torque", weights.torque[there], np.where(problem.uncounted[there], m, np.arange(m)), m)
    by_power, power = judge("power", weights.power[meter][:, None], _turns(problem).astype(np.intp), 1)
    full.position[read], full.torque[there], full.power[meter] = by_position, by_torque, by_power[:, 0]
    if known:
        return Shown(noise, full)
    levels = np.full_like(noise.position, np.nan)
    measured = np.any(np.isfinite(problem.log.position), axis=0)
    # What the model misses of torques may be put down to the motion, not beyond what readings and stages may be off.
    most = np.hypot(problem.log.most_noise, problem.log.stage_error)
    levels[measured] = np.minimum(noise.position[measured] * position, most[measured])
    # A short log may settle where positions are exact, torques noisy and rotors nothing: readings tell of themselves.
    levels = np.maximum(levels, np.maximum(problem.log.least_noise, np.minimum(noise.position, FINEST)))
    shown = replace(noise, position=levels, torque=noise.torque * torque, power=noise.power * float(power[0]))
    return Shown(replace(shown, passive=_passive_noise(own["passive"], noise, shown)), full)


def quietest(noise: Noise, log: MechanismLog) -> Noise:
    """Not more than readings scatter by themselves: where the estimation of the noise had better begin.

    From far above it comes down step by step, and where a short log tells little of torques it may stay on the way:
    positions taken for exact, torques for noisy, and no rotor. What the model misses makes it rise again at once. The
    scatter of what was not read is infinite.
    """
    position, torque = np.fmax(log.scatter, FINEST), np.fmax(log.torque_scatter, FINEST)
    quiet = replace(noise, position=np.minimum(noise.position, position), torque=np.minimum(noise.torque, torque))
    return replace(quiet, power=min(noise.power, log.power_scatter))


def _passive_noise(own: Influence, before: Noise, shown: Noise) -> float:
    """Of joints without a motor, as far as their rows are not taken up by loop forces.

    Not below a tenth of the motors': it adds next to nothing there, and rows that are almost equalities make a curved
    valley of the cost.
    """
    kinds = np.zeros(own.residual.shape, dtype=np.intp)
    found = Reweighted(np.ones_like(own.residual), own.residual, np.ones(1))
    level = before.passive * float(np.sqrt(_ratios(own, found, kinds, 1)[0]))
    motors = np.where(np.isfinite(shown.torque), shown.torque, before.torque)
    least = min(before.passive, _SMALL * float(motors.min()))
    return max(level, least) if np.isfinite(level) else level


def _read_positions(log: MechanismLog) -> tuple[IntArray, ...]:
    """Index of the readings (K, k) of positions: stages at which all joints that are read were."""
    joints = np.flatnonzero(np.any(np.isfinite(log.position), axis=0))
    return np.ix_(np.flatnonzero(np.all(np.isfinite(log.position[:, joints]), axis=1)), joints)


def _read(problem: MechanismProblem) -> BoolArray:
    """(N - 2,) inner stages at which torques were read."""
    return problem.log.torque_stages[1:-1]


def _turns(problem: MechanismProblem) -> BoolArray:
    """(B, 1) whether friction turns where power was read."""
    return np.asarray(problem.turning[np.isfinite(problem.log.power[1:-1])].any(axis=1, keepdims=True))


def _ratios(own: Influence, found: Reweighted, kinds: IntArray, count: int) -> Array:
    """(count,) variances of the kinds of rows (B, m) in units of what they were; nan where too little tells."""
    flat = Influence(found.psi.reshape(1, -1), own.leverage.reshape(1, -1), own.gain[:0])
    ratio = np.clip(found.factor * variance_ratios(flat, kinds.ravel(), count), _FACTOR**-2, _FACTOR**2)
    rows = np.maximum(np.bincount(kinds.ravel(), minlength=count), 1)
    left = np.bincount(kinds.ravel(), 1.0 - own.leverage.ravel(), count) / rows
    return np.where(left > _LEAST, ratio, np.nan)


class Pooled(NamedTuple):
    """Attributes: noise of all parts of a log; stages that have told of each of its levels."""

    noise: Noise
    stages: Noise


def pool_noise(before: Pooled, shown: Noise, more: int) -> Pooled:
    """With a further part of so many stages; what it does not tell stays, and what was only stated does not count."""

    def pool(name: str) -> tuple[Any, Any]:
        old, counted, new = (np.asarray(getattr(noise, name)) for noise in (before.noise, before.stages, shown))
        told = np.isfinite(new)
        share = np.where(told, more / (counted + more), 0.0)
        level = np.sqrt((1.0 - share) * old**2 + share * np.where(told, new, old) ** 2)
        found = level, counted + more * told
        return found if level.ndim else (float(found[0]), float(found[1]))

    parts = {name: pool(name) for name in ("position", "torque", "passive", "power")}
    return Pooled(*(Noise(**{name: part[k] for name, part in parts.items()}) for k in (0, 1)))


def pool_stated(noise: Noise) -> Pooled:
    """A noise that is stated, and not seen yet."""
    return Pooled(noise, Noise(np.zeros_like(noise.position), np.zeros_like(noise.torque), 0.0, 0.0))


def noise_growth(before: Pooled, shown: Noise) -> float:
    """By how much noise exceeds what was seen of it, as a factor on a standard deviation, where that is most."""
    ratios = _levels(shown) / _levels(before.noise)
    return float(np.max(ratios[np.isfinite(ratios) & (_levels(before.stages) > 0.0)], initial=0.0))


def has_settled(problem: MechanismProblem, after: Noise, weights: Weights) -> bool:
    """Whether another round would show nothing."""
    before, earlier = problem.noise, problem.weights or Weights.full(problem.log)
    ratios = np.append(_levels(after) / _levels(before), after.passive / before.passive)
    pairs = zip(
        (weights.position, weights.torque, weights.power),
        (earlier.position, earlier.torque, earlier.power),
        strict=True,
    )
    moved = max(float(np.mean(np.abs(new - old))) for new, old in pairs)
    return bool(np.abs(ratios - 1.0).max() < _SETTLED and moved < _RETHOUGHT)


def correlation(problem: MechanismProblem, model: LinearModel) -> Correlation:
    """How long residuals keep, and what that costs."""
    own, p = _influences(model), problem.layout.parameters
    extra = np.zeros((p, p))
    if own is None:
        return Correlation(np.ones(len(problem.noise.torque)), 1.0, extra)
    rng = np.random.default_rng(0)
    draws = [white_residuals(model.blocks, model.layout, rng) for _ in range(_DRAWS)]
    white = [dict(zip(GROUPS, draw, strict=False)) for draw in draws if draw is not None]
    counted = {"torque": ~problem.uncounted[_read(problem)], "power": np.ones(1, dtype=np.bool_)}
    times, lags = {}, {}
    for name, there in counted.items():
        times[name], lags[name] = lasting_lags(own[name].residual, [draw[name] * there for draw in white])
        extra += lasting_covariance(own[name].gain, lags[name])
    return Correlation(times["torque"], float(times["power"][0]), extra, own, lags)


def _levels(noise: Noise) -> Array:
    return np.array([*noise.position, *noise.torque, noise.power])


def _influences(model: LinearModel) -> dict[str, Influence] | None:
    found = None if model.factor is None else influences(model.blocks, model.factor)
    # After the groups may come coordinates that are left over where fewer contacts hold.
    return None if found is None else dict(zip(GROUPS, found[1], strict=False))


def lasting_lags(residual: Array, white: Sequence[Array] = ()) -> tuple[Array, Array]:
    """(m,) correlation times of residuals (B, m), 1 where they may as well be white; (L, m) their correlation."""
    if len(residual) < _SHORTEST:
        return np.ones(residual.shape[1]), np.ones((1, residual.shape[1]))
    times, rho = correlation_time(residual, white), lasting_correlation(residual, white)
    lasts = times > WHITE
    rho[1:] *= lasts
    return np.where(lasts, times, 1.0), rho


def lasting_covariance(gain: Array, rho: Array) -> Array:
    """(p, p) of the parameters, that errors of correlation rho (L, m) add to what white ones give.

    The parameters err by sum_k g_k e_k, gains (B, m, p): that is sum_l rho_l sum_k (g_k g_(k+l)' + g_(k+l) g_k'). Where
    the motion has turned before the noise has, gains have another sign and what lasts is averaged out.
    """
    p = gain.shape[2]
    added = np.zeros((p, p))
    for j in np.flatnonzero(np.any(rho[1:] != 0.0, axis=0)):
        own = gain[:, j]
        for lag in range(1, min(len(rho), len(own))):
            both = rho[lag, j] * own[:-lag].T @ own[lag:]
            added += both + both.T
    scale = np.sqrt(np.maximum(np.einsum("kmp,kmp->p", gain, gain), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(added / np.outer(scale, scale))
    half = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))  # never less than what white noise gives
    return np.asarray(half @ half.T)
