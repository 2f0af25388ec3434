# SPDX-License-Identifier: Apache-2.0
"""Information of a log on a mechanism's constants and noise, kept while the log itself is not: the arrival cost.

Parts of a log are independent given the constants (problem.py), so that a Gaussian is all that a part leaves behind. It
is kept as information, without the prior's, and in coordinates phi in which torques are linear, so that it does not
matter much where the part was linearised: along a ridge that bends, information of parts that were linearised at
different points would add up to more than there is. Bounds and equalities are met anew at every part.

Errors that last for some stages make the gradient of the cost vary by more than the information P^-1 says, by G say:
then the estimate's covariance is P + P G P (the sandwich). Gradients of independent parts add up, and so does G.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve
from scipy.special import chdtri  # not stats, which takes a third of a node's start

from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.systems.bayesian.estimate import LogInformation
from sysid_nodes.systems.bayesian.mechanism import Mechanism
from sysid_nodes.systems.bayesian.noise import Pooled
from sysid_nodes.systems.bayesian.parameters import Parameters
from sysid_nodes.systems.bayesian.posterior import Spread

Array = npt.NDArray[np.float64]

_RANK = 1e-12  # of information in units of the prior's: below is rounding
TOLD = 0.02
"""Share of a direction's variance that a part of a log has to take away for its word to be tested."""


@dataclass(frozen=True)
class Readings:
    """Torques that were read.

    Attributes:
        count: of stages with all torques.
        sums, squares: (m,) over them.
    """

    count: int
    sums: Array
    squares: Array

    @classmethod
    def of(cls, torque: Array, before: Knowledge | None) -> Readings:
        """Of torques (N, m) and of all parts before them."""
        told = np.nan_to_num(torque[np.isfinite(torque).any(axis=1)])
        own = cls(len(told), told.sum(axis=0), np.sum(told**2, axis=0))
        if before is None:
            return own
        old = before.read
        return cls(own.count + old.count, own.sums + old.sums, own.squares + old.squares)

    @property
    def size(self) -> Array:
        """(m,) root mean squares; infinite where nothing was read."""
        return np.sqrt(self.squares / self.count) if self.count else np.full(len(self.squares), np.inf)

    @property
    def spread(self) -> Array:
        """(m,) standard deviations; infinite where nothing was read."""
        if not self.count:
            return self.size
        return np.sqrt(np.maximum(self.size**2 - (self.sums / self.count) ** 2, 0.0))


@dataclass(frozen=True)
class Knowledge:
    """After some parts of a log.

    Attributes:
        mechanism: whose constants they are.
        x: (P,) the estimate as if errors were white, where the information is linearised.
        weighed: (P,) the estimate (lasting.py).
        told: information about the free constants, without the prior's, as if all noise were white.
        lasting: (p, p) covariance of the cost's gradient by phi, beyond what white noise gives: G.
        noise: estimated, with the stages that have told of it.
        covered: (2, n) lowest and highest speed of each joint [rad/s].
        stages: used.
        status: of the search from which all began: a doubt about its minimum stays.
        prior: of the constants with units, before the log.
        read: torques of all parts.
    """

    mechanism: Mechanism
    x: Array
    weighed: Array
    told: LogInformation
    lasting: Array
    noise: Pooled
    covered: Array
    stages: int
    status: BayesianStatus
    prior: tuple[Spread, ...]
    read: Readings


@dataclass(frozen=True)
class Passage:
    """From what was known before a part of a log to what is known with it, linearised at the new estimate.

    Attributes:
        moved: (p,) the estimate, in theta.
        before, after: (p, p) covariances of theta for white noise.
        lasting: (p, p) covariance of theta that lasting errors of earlier parts add before.
        left: (p, p) that they add after.
    """

    moved: Array
    before: Array
    after: Array
    lasting: Array
    left: Array


def log_information(own: Parameters, factor: Factor, x: Array, extra: Array) -> tuple[LogInformation, Array]:
    """The information at a minimum, without the prior's, and G.

    Args:
        own: the constants and their prior.
        factor: of the minimum.
        x: (P,) the estimate.
        extra: (p, p) covariance of theta that lasting errors add.
    """
    phi, slope = own.linear(x)
    scale = own.sigma[own.free]  # numbers of one size, for the rank
    information = factor.corner @ factor.corner.T - own.prior_information
    gradient = factor.parameter_gradient - own.prior_information @ (x - own.mean)[own.free]
    values, vectors = np.linalg.eigh(information * np.outer(scale, scale))
    there = values > _RANK * values.max()
    root = np.sqrt(values[there])[:, None] * vectors[:, there].T / scale
    by_phi = np.linalg.solve(slope.T, root.T).T
    told = LogInformation(by_phi, by_phi @ phi - (vectors[:, there].T @ (scale * gradient)) / np.sqrt(values[there]))
    to_gradient = np.linalg.solve(slope.T, factor.corner @ factor.corner.T)
    return told, to_gradient @ extra @ to_gradient.T


def passage(before: Knowledge, factor: Factor, x: Array) -> Passage:
    """The passage to a minimum whose problem began with what was known before.

    Where the estimate was is told as the minimum of the earlier cost linearised here: the log's information is straight
    in phi and the prior in theta, so that a difference in either would take what bends for a movement.
    """
    own = before.mechanism.parameters
    phi, slope = own.linear(x)
    root = before.told.root @ slope
    old = np.linalg.inv(root.T @ root + own.prior_information)
    new = cho_solve((factor.corner, True), np.eye(len(phi)))
    lasting = slope.T @ before.lasting @ slope
    moved = old @ (_gradient(before, x) - _gradient(before, before.x))
    return Passage(np.asarray(moved), np.asarray(old), new, old @ lasting @ old, new @ lasting @ new)


def _gradient(before: Knowledge, x: Array) -> Array:
    """(p,) of the cost of all earlier parts by theta; where they ended, only bounds and equalities leave any."""
    own, told = before.mechanism.parameters, before.told
    phi, slope = own.linear(x)
    by_log = slope.T @ (told.root.T @ (told.root @ phi - told.target))
    return np.asarray(by_log + own.prior_information @ (x - own.mean)[own.free])


def disagreement(way: Passage, added: Array, scale: Array) -> tuple[float, Array]:
    """By how much a part of a log moved the estimate, against what it may have.

    Args:
        way: with the part.
        added: (p, p) covariance of theta that lasting errors of the part add.
        scale: (p,) prior standard deviations.

    Returns:
        Squared movement over its variance, summed over the directions of which the part tells something, over what
        chance exceeds once in a million parts: above 1 it contradicts. And (p,) the movement in units of its sigma.
    """
    rest = np.eye(len(scale)) - np.linalg.solve(way.before, way.after).T
    allowed = way.before - way.after + rest @ way.lasting @ rest.T + added
    root = np.linalg.inv(np.linalg.cholesky(way.before / np.outer(scale, scale)))
    values, vectors = np.linalg.eigh(root @ (allowed / np.outer(scale, scale)) @ root.T)
    told = values > TOLD
    if not told.any():
        return 0.0, np.zeros(len(scale))
    along = (vectors.T @ (root @ (way.moved / scale)))[told]
    ratio = float(np.sum(along**2 / values[told]) / chdtri(int(told.sum()), 1e-6))
    return ratio, way.moved / np.sqrt(np.maximum(np.diag(allowed), TOLD * np.diag(way.before)))
