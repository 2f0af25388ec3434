# SPDX-License-Identifier: Apache-2.0
"""From the posterior of theta to constants with units: draws are mapped, and means and quantiles taken of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import PARAMETER_NAMES, PARAMETER_UNITS
from sysid_nodes.models.lugre import steady_friction
from sysid_nodes.models.stribeck import friction
from sysid_nodes.results.bayesian import BlindDirection, FrictionCurve, PosteriorParameter
from sysid_nodes.solvers.eigenvectors import eigenvectors
from sysid_nodes.solvers.trajectory_least_squares.parameter_posterior import ParameterPosterior
from sysid_nodes.systems.bayesian.config import BayesianConfig
from sysid_nodes.systems.bayesian.parameters import (
    FRICTION_TERMS,
    JOINT,
    LOGARITHMS,
    LUGRE_TERMS,
    Parameters,
)

Array = npt.NDArray[np.float64]

OBSERVED, IN_PART, NOT_OBSERVED = "observed", "in part", "not observed"

_LOG_CHOLESKY = ("log mass / 2", "size x", "size y", "size z", "s12", "s23", "s13", "centre x", "centre y", "centre z")
_SPREAD = (0.025, 0.975)
_AT_BOUND = 1e-6  # prior sigmas
_SHARES = 4  # of a blind direction, the largest
_DIRECTIONS = 10
_SPEEDS = 41


def prior_spreads(own: Parameters, config: BayesianConfig) -> tuple[Spread, ...]:
    """Of all K constants that have a prior, before the log."""
    count, free = config.verdict.samples, own.free
    lower, upper = ((bound - own.mean)[free] for bound in (own.lower, own.upper))
    alone = ParameterPosterior(np.zeros(len(free)), np.diag(own.sigma[free] ** 2), lower, upper)
    draws = np.tile(own.mean, (count, 1))
    draws[:, free] += alone.samples(count, np.random.default_rng(config.search.seed))
    return Spread.of(np.array([column.draws for column in _columns(own, draws)]))


def parameters(
    own: Parameters, prior: Sequence[Spread], draws: Array, theta: ParameterPosterior, config: BayesianConfig
) -> tuple[tuple[PosteriorParameter, ...], Array]:
    """All K constants that have a prior, and their covariance (K, K).

    Args:
        own: layout and prior.
        prior: spreads before the log.
        draws: (S, P) from the posterior.
        theta: posterior of the steps from the estimate.
        config: verdicts.
    """
    close = _AT_BOUND * own.sigma[own.free]
    at_bound = ((theta.lower >= -close) & (theta.mean < 0.0)) | ((theta.upper <= close) & (theta.mean > 0.0))
    held, columns = set(own.free[at_bound].tolist()), _columns(own, draws)
    values = np.array([column.draws for column in columns])
    told = zip(columns, prior, Spread.of(values), strict=True)
    rows = tuple(_parameter(column, before, after, column.at in held, config) for column, before, after in told)
    return rows, np.cov(values).reshape(len(columns), len(columns))


class _Column(NamedTuple):
    """Attributes: name, unit, group of a constant; at, its place in x, -1 where it is made of several; draws (S,)."""

    name: str
    unit: str
    group: str
    at: int
    draws: Array


def _columns(own: Parameters, draws: Array) -> list[_Column]:
    """All constants that have a prior, with units, of draws (S, P)."""
    columns: list[_Column] = []
    names = [f"{link}.{name}" for link in own.links for name in PARAMETER_NAMES]
    inertias = own.inertia(draws).reshape(len(draws), -1)
    unknown = np.repeat([own.sigma[own.body(i)].any() for i in range(own.n)], 10)
    for k in np.flatnonzero(unknown):
        columns.append(_Column(names[k], PARAMETER_UNITS[k % 10], "inertia", -1, inertias[:, k]))
    for row, name in enumerate(JOINT):
        for j, joint in enumerate(own.joints):
            k = own.joint(name).start + j
            if own.sigma[k] > 0.0:
                group = "friction" if row < FRICTION_TERMS else ("power" if name == "loss" else "drive")
                values = np.exp(draws[:, k]) if name in LOGARITHMS else draws[:, k]
                columns.append(_Column(f"{joint}.{name}", own.unit(name, j), group, k, values))
    if own.sigma[own.idle] > 0.0:
        columns.append(_Column("idle power", "W", "power", own.idle, draws[:, own.idle]))
    for i, constant in enumerate(own.user, start=own.idle + 1):
        columns.append(_Column(constant.name, constant.unit, "user", i, draws[:, i]))
    told = own.contact[: len(own.contact) - own.hidden]
    for i, constant in enumerate(told, start=own.users.stop):
        if own.sigma[i] > 0.0:
            columns.append(_Column(constant.name, constant.unit, "contact", i, draws[:, i]))
    return columns


def coordinate_names(own: Parameters) -> tuple[str, ...]:
    """(p,) names of theta's coordinates."""
    names = [f"{link}: {part}" for link in own.links for part in _LOG_CHOLESKY]
    names += [f"{joint}.{name}" for name in JOINT for joint in own.joints]
    names += ["idle power", *(constant.name for constant in (*own.user, *own.contact))]
    return tuple(names[k] for k in own.free)


def blind_directions(own: Parameters, theta: ParameterPosterior, config: BayesianConfig) -> tuple[BlindDirection, ...]:
    """Directions in units of the prior in which the posterior is about as wide, the widest first."""
    sigma = own.sigma[own.free]
    values, vectors = eigenvectors(theta.covariance / np.outer(sigma, sigma))
    names = coordinate_names(own)
    out: list[BlindDirection] = []
    for value, vector in sorted(zip(values, vectors.T, strict=True), key=lambda pair: -pair[0]):
        if not value >= config.verdict.blind**2 or len(out) == _DIRECTIONS:
            break
        largest = np.argsort(-np.abs(vector))[:_SHARES]
        out.append(BlindDirection(float(np.sqrt(value)), tuple((names[k], float(vector[k])) for k in largest)))
    return tuple(out)


def friction_curves(own: Parameters, draws: Array, covered: Array) -> tuple[FrictionCurve, ...]:
    """Friction over speed of every joint that has a prior of some; (2, n) lowest and highest speeds of the log."""
    out = []
    for j, joint in enumerate(own.joints):
        if not any(own.sigma[own.joint(name).start + j] > 0.0 for name in JOINT[:5]):
            continue
        slowest, fastest = (float(speed) for speed in covered[:, j])
        reach = max(abs(slowest), abs(fastest), 1e-3)
        speed = np.linspace(0.0, reach, _SPEEDS)
        names, of = (LUGRE_TERMS, steady_friction) if own.bristles[j] else (JOINT[:5], friction)
        coefficients = draws[:, [own.joint(name).start + j for name in names]].T.copy()
        coefficients[3:] = np.exp(coefficients[3:])
        values = of(coefficients[:, None], speed[:, None], float(own.viscous_power[j]))
        lower, median, upper = np.quantile(values, [_SPREAD[0], 0.5, _SPREAD[1]], axis=1)
        # Friction is odd in the speed.
        pairs = ((upper, lower), (median, median), (lower, upper))
        low, middle, high = (np.concatenate([-back[:0:-1], ahead]) for back, ahead in pairs)
        out.append(FrictionCurve(joint, np.concatenate([-speed[:0:-1], speed]), middle, low, high, (slowest, fastest)))
    return tuple(out)


class Spread(NamedTuple):
    """Of the draws of a constant."""

    mean: float
    sigma: float
    lower: float
    upper: float

    @classmethod
    def of(cls, draws: Array) -> tuple[Spread, ...]:
        """Of each row of draws (K, S)."""
        ends = np.quantile(draws, _SPREAD, axis=1) if len(draws) else np.zeros((2, 0))
        rows = zip(draws.mean(axis=1), draws.std(axis=1), *ends, strict=True) if len(draws) else ()
        return tuple(cls(*map(float, row)) for row in rows)


def _parameter(
    column: _Column, before: Spread, after: Spread, active: bool, config: BayesianConfig
) -> PosteriorParameter:
    narrowing = after.sigma / before.sigma
    verdict = OBSERVED if narrowing <= config.verdict.observed else IN_PART
    if narrowing >= config.verdict.blind:
        verdict = NOT_OBSERVED
    return PosteriorParameter(column.name, column.unit, column.group, *before, *after, narrowing, verdict, active)
