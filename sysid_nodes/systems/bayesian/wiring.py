# SPDX-License-Identifier: Apache-2.0
"""Whether torques are more probable if they were read another way: turned round, of one another's joint, scaled.

Along the motion that readings of positions show by themselves, torques are linear in the constants phi (knowledge.py).
How probable the readings are, whatever the constants, is then had without a search for a motion: by Laplace's method at
the most probable constants, with what bounds cut off, each joint's noise as it is most probable. An honest log, its
robot of the prior, has

    P(p(readings | another way) > k p(readings | as they are)) <= 1 / k                           (Markov's inequality)

for a way that is chosen before, or the mean of several: that is how seldom honest logs are refused. With torques of
another scale, friction, rotors and offsets are expected in that scale, too: where little is known of them their prior
is wide, and would speak for whatever makes them larger (M. S. Bartlett, A comment on D. V. Lindley's statistical
paradox, Biometrika 44, 1957). Links tell the scale, where a description knows their masses (ways_of_reading.py). Noise
of positions makes torques of single stages err by what links are heavy, all joints' together and one stage against the
next, which no noise of torques describes: means over some stages, of which next to nothing of that is left, are
compared. Errors that last count for as many as times that they last, in the way in which they last least. A fit of the
whole problem cannot be asked: in a short log it bends the motion, and estimates noise, until torques that are turned
round are explained as well. Where loops have more forces than there are joints without a motor, as of two feet that
stand, torques are compared as far as they do not only press parts of the mechanism against each other
(torque_errors.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, logsumexp

from sysid_nodes.solvers.trajectory_least_squares.variance_components import correlation_time
from sysid_nodes.systems.bayesian.correlated_errors import most_probable_constants
from sysid_nodes.systems.bayesian.estimate import Estimate, LogInformation
from sysid_nodes.systems.bayesian.initial_motion import differences
from sysid_nodes.systems.bayesian.mechanism import Motion
from sysid_nodes.systems.bayesian.parameters import Parameters
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.torque_errors import TOGETHER, Judged, TorqueErrors, means, shares, torque_errors
from sysid_nodes.systems.bayesian.turning import turns
from sysid_nodes.systems.bayesian.ways_of_reading import Way, rescalings, rewirings

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_CHANCE = 0.01  # that an honest log speaks for another way of reading as much as contradicts it
_CHANCE_OF_SCALE = 0.05  # the same of another scale, of which nothing tells but the prior
_LEAST = 8  # means of a joint that tell its noise
_START = 0.3  # of the spread of a joint's torques, where its noise begins
_ROUNDS, _SETTLED = 6, 0.03  # of a search for noise at most, and its relative change that ends it
_HOPELESS = 20.0  # by which the logarithm of a probability without bounds is less, of ways that are not looked at
_EXACT = 1e-6  # of costs, relative: of twelve motors, logarithms of probabilities to a third, in two thirds of the time
_UNTOLD = np.log(100.0)  # odds against a way of reading, below which a log leaves it open
_NAMED = 6
_UNJUDGED = "whether torques were turned round or swapped was not judged: no constants were found along the readings"
_FINEST = 1e-9  # noise of torques at least [N m]


@dataclass(frozen=True)
class _Rows:
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
class _Evidence:
    """Attributes: logarithm of the probability, but for what all ways share; constants; (m,) correlation times; (m,)
    noise [N m]."""

    value: float
    x: Array
    lasts: Array
    noise: Array


class Wiring(NamedTuple):
    """Attributes: in words, another way in which torques may have been read that a log speaks for, and the ways of
    reading at single joints that it does not speak against either; empty where there is none. Logarithm of the largest
    odds for one of these; minus infinity where none came into question."""

    against: str = ""
    open: str = ""
    odds: float = -np.inf


def other_wiring(problem: MechanismProblem, read: Array) -> Wiring:
    """Whether torques were read another way, as far as a log tells along positions (N, n) by the readings alone."""
    own = problem.mechanism.parameters
    if problem.mechanism.contacts.touching or not np.isfinite(problem.log.torque).any() or not len(own.free):
        return Wiring()
    if problem.reference is not None:  # idle motors brake: torques that hardly drive a motion seem turned round
        return Wiring()
    rows = _rows(problem, read)
    names, there = [str(name) for name in np.array(own.joints)[own.motors]], np.asarray(rows.used.any(axis=0))
    m, white = len(names), np.ones(len(names))
    straight = Way("", np.arange(m), white)
    if (as_read := _evidence(own, rows, straight, white, own.mean)) is None:
        return Wiring(open=_UNJUDGED) if rows.used.any() else Wiring()
    shared = as_read.noise if rows.handed.shape[2] else None  # forces hand errors on: one noise for all, in time
    untold, highest = "", -np.inf
    for every, chance in ((list(rewirings(names)), _CHANCE), (list(rescalings(own, m)), _CHANCE_OF_SCALE)):
        told = [way for way in every if there[way.source][there].all()]  # not by what was never read
        # Beside what is as read, bounds and all: where that is wrong, impossible constants would explain it.
        ways = [way for way in told if _unbounded_evidence(own, rows, way, shared) > as_read.value - _HOPELESS]
        if not ways:
            continue
        found = [_evidence(own, rows, way, white, own.mean) for way in ways]
        values = np.array([-np.inf if one is None else one.value - as_read.value for one in found])
        least, best = np.log(len(every) / chance), int(np.argmax(values))
        if chance == _CHANCE:
            highest = float(values[best])
            untold = _untold([way.words for way, value in zip(ways, values, strict=True) if value > -_UNTOLD])
        if logsumexp(values) < least or (other := found[best]) is None:
            continue
        lasts = np.minimum(as_read.lasts, other.lasts)
        again = [_evidence(own, rows, way, lasts, one.x) for way, one in ((straight, as_read), (ways[best], other))]
        if again[0] is not None and again[1] is not None and (odds := again[1].value - again[0].value) > least:
            words = f"the log is {_times(odds)} as probable had torques been {ways[best].words}"
            return Wiring(words, odds=max(highest, odds))
    return Wiring(open=untold, odds=highest)


def _untold(ways: Sequence[str]) -> str:
    if not ways:
        return ""
    more = f", and {len(ways) - _NAMED} ways more" * (len(ways) > _NAMED)
    return f"the log does not tell whether torques were {', or '.join(ways[:_NAMED])}{more}"


def _times(odds: float) -> str:
    return f"{np.exp(odds):.2g} times" if odds < 200.0 else "1e87 times and more"


def _rows(problem: MechanismProblem, read: Array) -> _Rows:
    """Along positions (N, n) by the readings alone; loop forces leave nothing to do to joints without a motor."""
    mechanism, own, log = problem.mechanism, problem.mechanism.parameters, problem.log
    x, (motors,), (others,) = own.mean, np.nonzero(own.motors), np.nonzero(~own.motors)
    motion = Motion(*differences(read, log.step), np.zeros((log.stages - 2, mechanism.closures.count)))
    found = mechanism.linearise(motion, x)
    phi, slope = own.linear(x)
    by_phi = found.by_x[:, :, own.free] @ np.linalg.inv(slope)
    torque, by_phi, rest = found.value[:, motors], by_phi[:, motors], by_phi[:, others]
    free = np.zeros((len(torque), len(motors), 0))
    if mechanism.closures.count:
        handed = found.by_force[:, motors] @ np.linalg.pinv(found.by_force[:, others])
        torque = torque - np.einsum("kmp,kp->km", handed, found.value[:, others])
        by_phi = by_phi - handed @ rest
        unfelt = np.linalg.svd(found.by_force[:, others])[2][:, len(others) :].swapaxes(1, 2)
        free = found.by_force[:, motors] @ unfelt
    gain, offset, delay = (own.constants(x, name)[motors] for name in ("gain", "offset", "delay"))
    rate, by_phi = log.torque_rate[1:-1], by_phi * gain[:, None]
    free = free * gain[:, None]
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
    return _Rows(by_phi, rest, free, weight, np.nan_to_num(log.torque[1:-1]), np.maximum(scatter, _FINEST), told)


def _evidence(own: Parameters, rows: _Rows, way: Way, lasts: Array, x: Array) -> _Evidence | None:
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
    for _ in range(_ROUNDS):
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
    value = _size(judged, way, noise, lasts) - 0.5 * off @ off + 0.5 * np.sum(np.log(narrowing)) + cut
    times = np.ones(len(lasts))
    for j in np.flatnonzero(rows.used.any(axis=0)):
        times[j] = correlation_time(judged.left[rows.used[:, j], j, None])[0]
    return _Evidence(float(value), x, times, noise)


def _size(judged: Judged, way: Way, noise: Array, lasts: Array) -> float:
    """Logarithm of the probability of errors, of which as many are one as they last; what loops share out, least."""
    each = judged.number * np.log(np.abs(way.factor) / noise) - 0.5 * np.sum(judged.left**2, axis=0) / noise**2
    return float(np.sum(each / lasts) - judged.volume / lasts.max())


def _unbounded_evidence(own: Parameters, rows: _Rows, way: Way, noise: Array | None = None) -> float:
    """`_Evidence.value` were the prior a Gaussian in phi, which leaves more to ways that are wrong: in closed form.

    Noise (m,) is looked for where it is not given.
    """
    own, errors = way.prior(own), rows.errors(way)
    phi, slope = own.linear(own.mean)
    half, rounds = slope * own.sigma[own.free], 1 if noise is not None else _ROUNDS
    noise = rows.start(way) if noise is None else noise
    for _ in range(rounds):
        root, target = errors.rows(noise)
        basis, upper = np.linalg.qr(np.concatenate([root @ half, np.eye(len(phi))]))
        z = np.linalg.solve(upper, basis[: len(root)].T @ (target - root @ phi))
        judged = errors.judge(phi + half @ z, noise)
        noise = judged.noise(rows.least(way)) if rounds > 1 else noise
    narrowing = np.sum(np.log(np.abs(np.diag(upper))))
    return _size(judged, way, noise, np.ones(len(noise))) - 0.5 * float(z @ z) - float(narrowing)
