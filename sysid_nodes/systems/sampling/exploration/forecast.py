# SPDX-License-Identifier: Apache-2.0
"""Errors to be expected of an identification of the first log and a walk together.

The first brings the errors C1 that its estimate has; the walk, of information F2, noise beyond the stated one by k, as
the first log's residuals showed, and one error that all of its clips have in common, a standard normal number of the
pull g by the simulations' steps (`information`). Knowledge adds up:

    Cov^-1 = C1^-1 + (F2 - g g' / (k + g' F2^-1 g)) / k.

So no plan promises a standard deviation above the one that is known already or the one that it leaves by itself. Along
the pull, what a walk tells has an end, however long it is. What the identification doubts for the steps of both motions
(`gauss_newton`) is no error to be expected, and is in C1 alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.exploration import Posterior
from sysid_nodes.rollouts import Simulator
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.estimates import jacobian, quantities
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.criteria import criterion, invert
from sysid_nodes.systems.sampling.exploration.information import WalkInformation, clip_information
from sysid_nodes.systems.sampling.gauss_newton import Others, clips_of
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]

_LITTLE = 1e-9  # of what is known, for a walk that tells nothing of a parameter


class Forecast:
    """For one estimate and plans of one duration.

    Args:
        sampling: of the identification that is to follow.
        others: its simulations in smaller steps.

    Attributes:
        asked: (Q) parameters that are asked for.
        known: told by the first log in the identification that is to follow.
        now: (Q,) standard deviations today.
    """

    def __init__(
        self,
        sampling: SamplingConfig,
        config: ExplorationConfig,
        posterior: Posterior,
        unknowns: Unknowns,
        simulator: Simulator,
        others: Others,
    ) -> None:
        self._sampling, self._config, self._posterior = sampling, config, posterior
        self._unknowns, self._simulator, self._others = unknowns, simulator, others
        found = quantities(unknowns, sampling.verdict)
        self.asked = tuple(q for q in found if q.wanted is not None and q.group in ("inertia", "motors"))
        held, plain = np.diag(posterior.covariance) <= 0.0, invert(posterior.information)
        at = _inside(posterior.values, np.sqrt(np.diag(np.where(held, plain, posterior.covariance))), unknowns)
        self._natural = jacobian(self.asked, at)
        # A strength counts by what it takes away from torques, which is linear, and as of the one that is guessed:
        # relative to a bound's, ten times too large, it would outweigh all others a thousand times.
        curved = np.array([bool(q.coordinate) for q in self.asked])[:, None]
        self._slopes = np.where(curved, self._whiten(unknowns.column("guess")), self._whiten(at))
        # The identification that is to follow takes its clips from both motions alike.
        share = config.duration / (config.duration + posterior.duration)
        together = clips_of(sampling.horizons, len(sampling.horizons.clips) - 1, config.duration + posterior.duration)
        prior = np.diag(posterior.prior)
        first = prior + together * (1.0 - share) / max(posterior.clips, 1) * (posterior.information - prior)
        self.known = WalkInformation.without_pull(first)
        self._clips = together * share
        # What a bound holds has no errors of its own; they are then as much larger than noise's as the others' are.
        hidden = (np.abs(self._natural[:, held]) > 1e-9).any(axis=1)
        shown = self._root(posterior.covariance)[~hidden] / self._root(plain)[~hidden]
        self._beyond = float(np.median(np.maximum(shown, 1.0))) ** 2 if len(shown) else 1.0
        mask = np.diag(held).astype(np.float64)
        own = posterior.covariance + self._beyond * mask @ plain @ mask
        self._brought = invert(own)
        self.now = self._root(own)

    def walk_information(self, states: Array, targets: Array, clips: int = 0) -> WalkInformation:
        """Of B walks, each as if the whole plan were like it.

        Args:
            clips: of each; 0: as many as the identification will have of it. Of a few, one with a landing in it that
                seems to tell a lot would stand for a quarter of the plan.
        """
        config, sampling = self._config, self._sampling
        own = self._clips * targets.shape[1] * sampling.step / config.duration
        clip = clip_information(
            states,
            targets,
            sampling.step,
            config.pose_rate,
            self._unknowns,
            sampling.noise,
            self._simulator,
            self._others,
            self._posterior.values,
            round(sampling.horizons.lengths[-1] / sampling.step) + 1,
            clips or max(round(own), 1),
        )
        return clip.times(self._clips)

    def judge(self, known: WalkInformation, clips: int = 0) -> Callable[[Array, Array], Array]:
        """Criteria (P,) with walks of one segment, beside what is known; by so many clips, as of `walk_information`."""

        def costs(states: Array, targets: Array) -> Array:
            told = self.walk_information(states, targets, clips).times(1.0 / self._config.segments)
            return np.array([self.cost(known + told[k]) for k in range(len(states))])

        return costs

    def cost(self, told: WalkInformation) -> float:
        """The criterion."""
        covariance = self._covariance(told) if self._config.model_errors else invert(told.information)
        return criterion(self._config.criterion, told.information, covariance, self._slopes)

    def sigmas(self, told: WalkInformation) -> Array:
        """(Q,) standard deviations to be expected."""
        return self._root(self._covariance(told))

    def _whiten(self, vector: Array) -> Array:
        """(Q, K) derivatives of the parameters asked for, each over what is asked of it."""
        wanted = [q.wanted(q.value(vector)) for q in self.asked if q.wanted is not None]
        return np.asarray(jacobian(self.asked, vector) / np.maximum(wanted, 1e-9)[:, None])

    def _covariance(self, told: WalkInformation) -> Array:
        walk = told.information - self.known.information
        common = self._beyond + told.pull @ invert(walk + _LITTLE * self.known.information) @ told.pull
        return invert(self._brought + (walk - np.outer(told.pull, told.pull) / common) / self._beyond)

    def _root(self, covariance: Array) -> Array:
        variances = np.einsum("qk,kl,ql->q", self._natural, covariance, self._natural)
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


def _inside(values: Array, sigma: Array, unknowns: Unknowns) -> Array:
    """(K,) values a standard deviation (K,) away from the bounds at least: what they may turn out to be.

    A strength at or near its bound, ten times the true one, would be promised with an error a thousand times too large.
    """
    lower, upper = unknowns.column("lower"), unknowns.column("upper")
    distance = np.minimum(sigma, 0.5 * (upper - lower))
    return np.clip(values, lower + distance, upper - distance)
