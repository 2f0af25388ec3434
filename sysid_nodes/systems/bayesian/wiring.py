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
paradox, Biometrika 44, 1957). Links tell the scale, whose masses a description knows. Errors that last count for as
many as times that they last, in the way in which they last least. A fit of the whole problem cannot be
asked: in a short log it bends the motion, and estimates noise, until torques that are turned round are explained as
well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, logsumexp

from sysid_nodes.solvers.trajectory_least_squares.variance_components import correlation_time
from sysid_nodes.systems.bayesian.correlated_errors import most_probable_constants
from sysid_nodes.systems.bayesian.descent import Fitted
from sysid_nodes.systems.bayesian.estimate import Estimate, LogInformation
from sysid_nodes.systems.bayesian.initial_motion import differences
from sysid_nodes.systems.bayesian.mechanism import Motion
from sysid_nodes.systems.bayesian.parameters import Parameters
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.turning import turns

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_CHANCE = 0.01  # that an honest log speaks for another way of reading as much as contradicts it
_CHANCE_OF_SCALE = 0.05  # the same of another scale, of which nothing tells but the prior
_SCALES = (0.5, 2.0)
_LEAST = 8  # stages of a joint that tell its noise
_START = 0.3  # of the spread of a joint's torques, where its noise begins
_ROUNDS = 6
_SETTLED = 0.03  # relative change of noise
_HOPELESS = 20.0  # by which the logarithm of a probability without bounds is less, of ways that are not looked at
_EXACT = 1e-6  # of costs, relative: of twelve motors, logarithms of probabilities to a third, in two thirds of the time
_FINEST = 1e-9  # noise of torques at least [N m]
_DRIVES = ("coulomb", "stiction", "viscous", "armature", "offset")
"""Constants of joints that grow with torques and are not links'."""


@dataclass(frozen=True)
class _Rows:
    """Torques to be read along a motion, by_phi phi + rest (K, m); those that were, and by how much they scatter (m,);
    which of them are used (K, m)."""

    by_phi: Array
    rest: Array
    read: Array
    scatter: Array
    used: BoolArray


@dataclass(frozen=True)
class _Way:
    """Of reading: the torque of motor j is `factor[j]` times what was read at `source[j]`; the prior of what drives
    have of their own is `scale` times as large."""

    words: str
    source: npt.NDArray[np.intp]
    factor: Array
    scale: float = 1.0

    def expected(self, own: Parameters) -> Parameters:
        """Constants with the prior that goes with this way."""
        mean, sigma = own.mean.copy(), own.sigma.copy()
        for name in _DRIVES:
            mean[own.joint(name)] *= self.scale
            sigma[own.joint(name)] *= self.scale
        return replace(own, mean=mean, sigma=sigma)


@dataclass(frozen=True)
class _Evidence:
    """Attributes: logarithm of the probability, but for what all ways share; constants; (m,) correlation times."""

    value: float
    x: Array
    lasts: Array


def other_wiring(fitted: Fitted) -> str:
    """In words, another way in which torques may have been read that a log speaks for; empty where it does not."""
    problem, own = fitted.problem, fitted.problem.mechanism.parameters
    if problem.mechanism.contacts.touching or not np.isfinite(problem.log.torque).any() or not len(own.free):
        return ""
    if problem.reference is not None:  # idle motors brake: torques that hardly drive a motion seem turned round
        return ""
    rows = _rows(problem, fitted.read)
    names, read = [str(name) for name in np.array(own.joints)[own.motors]], np.asarray(rows.used.any(axis=0))
    m, white = len(names), np.ones(len(names))
    straight = _Way("", np.arange(m), white)
    roughly = _unbounded_evidence(own, rows, straight)
    as_read = None
    for every, chance in ((list(_wired(names)), _CHANCE), (list(_scaled(m)), _CHANCE_OF_SCALE)):
        told = [way for way in every if read[way.source][read].all()]  # not by what was never read
        ways = [way for way in told if _unbounded_evidence(own, rows, way) > roughly - _HOPELESS]
        if not ways or (as_read := as_read or _evidence(own, rows, straight, white, own.mean)) is None:
            continue
        found = [_evidence(own, rows, way, white, own.mean) for way in ways]
        values = np.array([-np.inf if one is None else one.value - as_read.value for one in found])
        least, best = np.log(len(every) / chance), int(np.argmax(values))
        if logsumexp(values) < least or (other := found[best]) is None:
            continue
        lasts = np.minimum(as_read.lasts, other.lasts)
        again = [_evidence(own, rows, way, lasts, one.x) for way, one in ((straight, as_read), (ways[best], other))]
        if again[0] is not None and again[1] is not None and (odds := again[1].value - again[0].value) > least:
            return f"the log is {_times(odds)} as probable had torques been {ways[best].words}"
    return ""


def _times(odds: float) -> str:
    return f"{np.exp(odds):.2g} times" if odds < 200.0 else "1e87 times and more"


def _wired(joints: Sequence[str]) -> Iterator[_Way]:
    """Of one joint turned round, or of two swapped."""
    m, own = len(joints), np.arange(len(joints))
    for j, name in enumerate(joints):
        yield _Way(f"turned round at '{name}'", own, np.where(own == j, -1.0, 1.0))
    for i, j in combinations(range(m), 2):
        source = own.copy()
        source[[i, j]] = j, i
        yield _Way(f"those of '{joints[i]}' and '{joints[j]}' swapped", source, np.ones(m))


def _scaled(m: int) -> Iterator[_Way]:
    for scale in _SCALES:
        yield _Way(f"{scale:g} times what was read", np.arange(m), np.full(m, scale), scale)


def _rows(problem: MechanismProblem, read: Array) -> _Rows:
    """Along positions (N, n) by the readings alone; loop forces are those that leave other joints nothing to do."""
    mechanism, own, log = problem.mechanism, problem.mechanism.parameters, problem.log
    x, (motors,), (others,) = own.mean, np.nonzero(own.motors), np.nonzero(~own.motors)
    motion = Motion(*differences(read, log.step), np.zeros((log.stages - 2, mechanism.closures.count)))
    found = mechanism.linearise(motion, x)
    phi, slope = own.linear(x)
    by_phi = found.by_x[:, :, own.free] @ np.linalg.inv(slope)
    torque, by_phi, rest = found.value[:, motors], by_phi[:, motors], by_phi[:, others]
    if mechanism.closures.count:
        handed = found.by_force[:, motors] @ np.linalg.pinv(found.by_force[:, others])
        torque = torque - np.einsum("kmp,kp->km", handed, found.value[:, others])
        by_phi = by_phi - handed @ rest
    gain, offset, delay = (own.constants(x, name)[motors] for name in ("gain", "offset", "delay"))
    rate, by_phi = log.torque_rate[1:-1], by_phi * gain[:, None]
    for name, slopes in (("gain", torque), ("offset", np.ones_like(torque)), ("delay", -rate)):
        for k, j in enumerate(motors):
            by_phi[:, k, own.free == own.joint(name).start + j] = slopes[:, k, None]
    value = gain * torque + offset - delay * rate
    still = Estimate(read, np.zeros((log.stages, mechanism.closures.count)), x)
    used = log.torque_stages[1:-1, None] & ~log.unread & ~turns(mechanism, log, still)
    used &= used.sum(axis=0) >= _LEAST
    scatter = np.where(np.isfinite(log.torque_scatter), log.torque_scatter, 0.0)
    torques = np.nan_to_num(log.torque[1:-1])
    return _Rows(by_phi, value - by_phi @ phi, torques, np.maximum(scatter, _FINEST), used)


def _evidence(own: Parameters, rows: _Rows, way: _Way, lasts: Array, x: Array) -> _Evidence | None:
    """How probable the readings are one way; None where no constants are found.

    Args:
        own: constants and their prior.
        rows: of the log.
        way: of reading.
        lasts: (m,) errors that are one.
        x: (P,) where the search begins.
    """
    own, count = way.expected(own), rows.used.sum(axis=0)
    joints = np.flatnonzero(count)
    if not len(joints):
        return None
    read = rows.read[:, way.source] * way.factor - rows.rest
    parts = [_compressed(rows.by_phi[rows.used[:, j], j], read[rows.used[:, j], j]) for j in joints]
    spread = np.array([np.std(rows.read[rows.used[:, j], j]) for j in joints])
    least = (np.abs(way.factor) * rows.scatter[way.source])[joints]
    noise, each = np.maximum(_START * spread, least), np.sqrt(lasts[joints])
    for _ in range(_ROUNDS):
        root, target = (
            np.concatenate([part[k] / (s * w) for part, s, w in zip(parts, noise, each, strict=True)]) for k in (0, 1)
        )
        found = most_probable_constants(own, LogInformation(*_compressed(root, target)), x, _EXACT)
        if found is None:
            return None
        x, posterior, _ = found
        phi, _ = own.linear(x)
        squares = np.array([np.sum((root @ phi - target) ** 2) for root, target in parts])
        before, noise = noise, np.maximum(np.sqrt(squares / count[joints]), least)
        if np.all(np.abs(np.log(noise / before)) < _SETTLED):
            break
    sigma, low = own.sigma[own.free], np.isfinite(posterior.lower)
    off = (x - own.mean)[own.free] / sigma
    narrowing = np.linalg.eigvalsh(posterior.covariance / np.outer(sigma, sigma))[len(own.equalities(x)) :]
    inside = (posterior.mean - posterior.lower)[low] / np.sqrt(np.diag(posterior.covariance)[low])
    cut = np.sum(log_ndtr(inside) + 0.5 * np.minimum(inside, 0.0) ** 2)
    size = np.log(np.abs(way.factor[joints]) / noise) - 0.5 * squares / count[joints] / noise**2
    value = np.sum(count[joints] / lasts[joints] * size) - 0.5 * off @ off + 0.5 * np.sum(np.log(narrowing)) + cut
    left, times = rows.by_phi @ phi - read, np.ones(len(count))
    for j in joints:
        times[j] = correlation_time(left[rows.used[:, j], j, None])[0]
    return _Evidence(float(value), x, times)


def _unbounded_evidence(own: Parameters, rows: _Rows, way: _Way) -> float:
    """`_Evidence.value` were the prior a Gaussian in phi, which leaves more to ways that are wrong: in closed form."""
    own, count = way.expected(own), rows.used.sum(axis=0)
    joints = np.flatnonzero(count)
    phi, slope = own.linear(own.mean)
    half = slope * own.sigma[own.free]
    left = rows.read[:, way.source] * way.factor - rows.rest - rows.by_phi @ phi
    parts = [_compressed(rows.by_phi[rows.used[:, j], j] @ half, left[rows.used[:, j], j]) for j in joints]
    least = (np.abs(way.factor) * rows.scatter[way.source])[joints]
    noise = np.maximum(_START * np.array([np.std(rows.read[rows.used[:, j], j]) for j in joints]), least)
    value = -np.inf
    for _ in range(_ROUNDS if len(joints) else 0):
        stacked = np.concatenate([np.eye(len(phi)), *(root / s for (root, _), s in zip(parts, noise, strict=True))])
        target = np.concatenate([np.zeros(len(phi)), *(off / s for (_, off), s in zip(parts, noise, strict=True))])
        basis, upper = np.linalg.qr(stacked)
        z = np.linalg.solve(upper, basis.T @ target)
        rest = np.array([np.sum((off - root @ z) ** 2) for root, off in parts])
        noise = np.maximum(np.sqrt(rest / count[joints]), least)
        size = np.log(np.abs(way.factor[joints]) / noise) - 0.5 * rest / count[joints] / noise**2
        value = float(count[joints] @ size - 0.5 * z @ z - np.sum(np.log(np.abs(np.diag(upper)))))
    return value


def _compressed(root: Array, target: Array) -> tuple[Array, Array]:
    """Rows that give the same squares, no more of them than columns."""
    if len(root) <= root.shape[1]:
        return root, target
    both = np.asarray(np.linalg.qr(np.column_stack([root, target]), mode="r"))
    return both[:, :-1], both[:, -1]
