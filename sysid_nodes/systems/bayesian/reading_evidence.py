# SPDX-License-Identifier: Apache-2.0
"""How probable a log's torques are, whatever the constants, along the motion that positions show by themselves.

By Laplace's method at the most probable constants, with what bounds cut off, each joint's noise as it is most probable
(wiring.py, of which ways to read torques are compared by it, and meter_sign.py of power).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from sysid_nodes.solvers.trajectory_least_squares.variance_components import correlation_time
from sysid_nodes.systems.bayesian.correlated_errors import most_probable_constants
from sysid_nodes.systems.bayesian.estimate import Estimate, LogInformation
from sysid_nodes.systems.bayesian.initial_motion import differences
from sysid_nodes.systems.bayesian.mechanism import Motion
from sysid_nodes.systems.bayesian.parameters import Parameters
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.torque_errors import TOGETHER, Judged, TorqueErrors, means, shares, torque_errors
from sysid_nodes.systems.bayesian.turning import turns
from sysid_nodes.systems.bayesian.ways_of_reading import Way

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

ROUNDS = 6
"""Of a search for noise at most."""

FINEST = 1e-9
"""Noise of torques at least [N m]."""

_LEAST = 8  # means of a joint that tell its noise
_START = 0.3  # of the spread of a joint's torques, where its noise begins
_SETTLED = 0.03  # relative change of noise that ends a search for it
_EXACT = 1e-6  # of costs, relative: of twelve motors, logarithms of probabilities to a third, in two thirds of the time


@dataclass(frozen=True)
class Rows:
    """Torques to be read along a motion, by_phi phi + rest (B, m), and what forces that nothing else tells hand on to
    them (B, m, f), means of stages by weights (B, TOGETHER, m); those that were, of each stage (K, m), and by how much
    their means scatter (m,); which means are used (B, m)."""

    by_phi: Array
    rest: Array
    handed: Array
    weight: Array
    read: Array
    scatter: Array
    used: BoolArray

    def errors(self, way: Way) -> TorqueErrors:
        """If they were read that way."""
        read = means(self.read[:, way.source] * way.factor, self.weight)
        return torque_errors(self.by_phi, read - self.rest, self.used, self.handed)

    def least(self, way: Way) -> Array:
        """(m,) noise that torques have at least [N m]."""
        return np.asarray(np.abs(way.factor) * self.scatter[way.source])

    def start(self, way: Way) -> Array:
        """(m,) noise that a search for it begins with [N m]."""
        columns = zip(means(self.read, self.weight).T, self.used.T, strict=True)
        spread = np.array([np.std(read[used]) if used.any() else 0.0 for read, used in columns])
        return np.maximum(_START * spread, self.least(way))


@dataclass(frozen=True)
class Evidence:
    """Attributes: logarithm of the probability, but for what all ways share; constants; (m,) correlation times; (m,)
    noise [N m]."""

    value: float
    x: Array
    lasts: Array
    noise: Array


class Along(NamedTuple):
    """Along positions by the readings alone, at the prior's mean: the motion; torques (K, m) that motors have to give
    there, with derivatives (K, m, p) by phi; what forces that nothing else tells hand on to them (K, m, f).

    Loop forces leave nothing to do to joints without a motor.
    """

    motion: Motion
    torque: Array
    by_phi: Array
    free: Array

    @classmethod
    def of(cls, problem: MechanismProblem, read: Array) -> Along:
        """Of positions (N, n)."""
        mechanism, own, log = problem.mechanism, problem.mechanism.parameters, problem.log
        (motors,), (others,) = np.nonzero(own.motors), np.nonzero(~own.motors)
        motion = Motion(*differences(read, log.step), np.zeros((log.stages - 2, mechanism.closures.count)))
        found = mechanism.linearise(motion, own.mean)
        by_phi = found.by_x[:, :, own.free] @ np.linalg.inv(own.linear(own.mean)[1])
        torque, by_phi, rest = found.value[:, motors], by_phi[:, motors], by_phi[:, others]
        free = np.zeros((len(torque), len(motors), 0))
        if mechanism.closures.count:
            handed = found.by_force[:, motors] @ np.linalg.pinv(found.by_force[:, others])
            torque = torque - np.einsum("kmp,kp->km", handed, found.value[:, others])
            by_phi = by_phi - handed @ rest
            unfelt = np.linalg.svd(found.by_force[:, others])[2][:, len(others) :].swapaxes(1, 2)
            free = found.by_force[:, motors] @ unfelt
        return cls(motion, torque, by_phi, free)


def readings_along(problem: MechanismProblem, read: Array, along: Along) -> Rows:
    """Torques along positions (N, n) by the readings alone."""
    mechanism, own, log = problem.mechanism, problem.mechanism.parameters, problem.log
    x, phi, (motors,) = own.mean, own.of_torques(own.mean), np.nonzero(own.motors)
    gain, offset, delay = (own.constants(x, name)[motors] for name in ("gain", "offset", "delay"))
    torque, rate, by_phi = along.torque, log.torque_rate[1:-1], along.by_phi * gain[:, None]
    free = along.free * gain[:, None]
    for name, slopes in (("gain", torque), ("offset", np.ones_like(torque)), ("delay", -rate)):
        for k, j in enumerate(motors):
            by_phi[:, k, own.free == own.joint(name).start + j] = slopes[:, k, None]
    value = gain * torque + offset - delay * rate
    still = Estimate(read, np.zeros((log.stages, mechanism.closures.count)), x)
    used = log.torque_stages[1:-1, None] & ~log.unread & ~turns(mechanism, log, still)
    weight, told = shares(used)
    told &= told.sum(axis=0) >= _LEAST
    by_phi, rest, free = (means(values, weight) for values in (by_phi, value - by_phi @ phi, free))
    scatter = np.where(np.isfinite(log.torque_scatter), log.torque_scatter, 0.0) / np.sqrt(TOGETHER)
    return Rows(by_phi, rest, free, weight, np.nan_to_num(log.torque[1:-1]), np.maximum(scatter, FINEST), told)


def evidence(own: Parameters, rows: Rows, way: Way, lasts: Array, x: Array) -> Evidence | None:
    """How probable the readings are one way; None where no constants are found.

    Args:
        own: constants and their prior.
        rows: of the log.
        way: of reading.
        lasts: (m,) errors that are one.
        x: (P,) where the search begins.
    """
    own, errors = way.prior(own), rows.errors(way)
    if not rows.used.any():
        return None
    noise = rows.start(way)
    for _ in range(ROUNDS):
        weighed = noise * np.sqrt(lasts)
        found = most_probable_constants(own, LogInformation(*errors.rows(weighed)), x, _EXACT)
        if found is None:
            return None
        x, posterior, _ = found
        phi = own.of_torques(x)
        judged = errors.judge(phi, weighed)
        before, noise = noise, judged.noise(rows.least(way))
        if np.all(np.abs(np.log(noise / before)) < _SETTLED):
            break
    sigma, low = own.sigma[own.free], np.isfinite(posterior.lower)
    off = (x - own.mean)[own.free] / sigma
    narrowing = np.linalg.eigvalsh(posterior.covariance / np.outer(sigma, sigma))[len(own.equalities(x)) :]
    inside = (posterior.mean - posterior.lower)[low] / np.sqrt(np.diag(posterior.covariance)[low])
    cut = np.sum(log_ndtr(inside) + 0.5 * np.minimum(inside, 0.0) ** 2)
    value = size_of_errors(judged, way, noise, lasts) - 0.5 * off @ off + 0.5 * np.sum(np.log(narrowing)) + cut
    times = np.ones(len(lasts))
    for j in np.flatnonzero(rows.used.any(axis=0)):
        times[j] = correlation_time(judged.left[rows.used[:, j], j, None])[0]
    return Evidence(float(value), x, times, noise)


def lasting_odds(own: Parameters, rows: Rows, ways: Sequence[Way], found: Sequence[Evidence]) -> float:
    """Logarithm of the odds for the second of two ways; not a number where no constants are found.

    Errors that last count for as many as times that they last, in the way in which they last least.

    Args:
        own: constants and their prior.
        rows: of the log.
        ways: of reading.
        found: by them, as if errors were white.
    """
    lasts = np.minimum(found[0].lasts, found[1].lasts)
    again = [evidence(own, rows, way, lasts, one.x) for way, one in zip(ways, found, strict=True)]
    values = [np.nan if one is None else one.value for one in again]
    return values[1] - values[0]


def size_of_errors(judged: Judged, way: Way, noise: Array, lasts: Array) -> float:
    """Logarithm of the probability of errors, of which as many are one as they last; what loops share out, least."""
    each = judged.number * np.log(np.abs(way.factor) / noise) - 0.5 * np.sum(judged.left**2, axis=0) / noise**2
    return float(np.sum(each / lasts) - judged.volume / lasts.max())
