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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from sysid_nodes.systems.bayesian.parameters import Parameters
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.reading_evidence import (
    ROUNDS,
    Along,
    Rows,
    evidence,
    lasting_odds,
    readings_along,
    size_of_errors,
)
from sysid_nodes.systems.bayesian.ways_of_reading import Way, rescalings, rewirings

Array = npt.NDArray[np.float64]

_CHANCE = 0.01  # that an honest log speaks for another way of reading as much as contradicts it
_CHANCE_OF_SCALE = 0.05  # the same of another scale, of which nothing tells but the prior
_HOPELESS = 20.0  # by which the logarithm of a probability without bounds is less, of ways that are not looked at
_UNTOLD = np.log(100.0)  # odds against a way of reading, below which a log leaves it open
_NAMED = 6
_UNJUDGED = "whether torques were turned round or swapped was not judged: no constants were found along the readings"


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
    rows = readings_along(problem, read, Along.of(problem, read))
    names, there = [str(name) for name in np.array(own.joints)[own.motors]], np.asarray(rows.used.any(axis=0))
    m, white = len(names), np.ones(len(names))
    straight = Way("", np.arange(m), white)
    if (as_read := evidence(own, rows, straight, white, own.mean)) is None:
        return Wiring(open=_UNJUDGED) if rows.used.any() else Wiring()
    shared = as_read.noise if rows.handed.shape[2] else None  # forces hand errors on: one noise for all, in time
    untold, highest = "", -np.inf
    for every, chance in ((list(rewirings(names)), _CHANCE), (list(rescalings(own, m)), _CHANCE_OF_SCALE)):
        told = [way for way in every if there[way.source][there].all()]  # not by what was never read
        # Beside what is as read, bounds and all: where that is wrong, impossible constants would explain it.
        ways = [way for way in told if _unbounded_evidence(own, rows, way, shared) > as_read.value - _HOPELESS]
        if not ways:
            continue
        found = [evidence(own, rows, way, white, own.mean) for way in ways]
        values = np.array([-np.inf if one is None else one.value - as_read.value for one in found])
        least, best = np.log(len(every) / chance), int(np.argmax(values))
        if chance == _CHANCE:
            highest = float(values[best])
            untold = _untold([way.words for way, value in zip(ways, values, strict=True) if value > -_UNTOLD])
        if logsumexp(values) < least or (other := found[best]) is None:
            continue
        if (odds := lasting_odds(own, rows, (straight, ways[best]), (as_read, other))) > least:
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


def _unbounded_evidence(own: Parameters, rows: Rows, way: Way, noise: Array | None = None) -> float:
    """`Evidence.value` were the prior a Gaussian in phi, which leaves more to ways that are wrong: in closed form.

    Noise (m,) is looked for where it is not given.
    """
    own, errors = way.prior(own), rows.errors(way)
    phi, slope = own.linear(own.mean)
    half, rounds = slope * own.sigma[own.free], 1 if noise is not None else ROUNDS
    noise = rows.start(way) if noise is None else noise
    for _ in range(rounds):
        root, target = errors.rows(noise)
        basis, upper = np.linalg.qr(np.concatenate([root @ half, np.eye(len(phi))]))
        z = np.linalg.solve(upper, basis[: len(root)].T @ (target - root @ phi))
        judged = errors.judge(phi + half @ z, noise)
        noise = judged.noise(rows.least(way)) if rounds > 1 else noise
    narrowing = np.sum(np.log(np.abs(np.diag(upper))))
    return size_of_errors(judged, way, noise, np.ones(len(noise))) - 0.5 * float(z @ z) - float(narrowing)
