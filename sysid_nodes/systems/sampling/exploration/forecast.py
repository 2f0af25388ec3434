# SPDX-License-Identifier: Apache-2.0
"""Precision to be expected of an identification of the first log and a walk together."""

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
from sysid_nodes.systems.sampling.exploration.information import walks_information
from sysid_nodes.systems.sampling.gauss_newton import clips_of
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]


class Forecast:
    """For one estimate and plans of one duration.

    Args:
        sampling: of the identification that is to follow.
        config: of the plan.
        posterior: the estimate.
        unknowns: that it is of.
        simulator: of the robot.

    Attributes:
        asked: (Q) parameters that are asked for.
        known: (K, K) information of the first log in the identification that is to follow.
        now: (Q,) standard deviations today.
    """

    def __init__(
        self,
        sampling: SamplingConfig,
        config: ExplorationConfig,
        posterior: Posterior,
        unknowns: Unknowns,
        simulator: Simulator,
    ) -> None:
        self._sampling, self._config, self._posterior = sampling, config, posterior
        self._unknowns, self._simulator = unknowns, simulator
        found = quantities(unknowns, sampling.verdict)
        self.asked = tuple(q for q in found if q.wanted is not None and q.group in ("inertia", "motors"))
        self._natural = jacobian(self.asked, posterior.values)
        wanted = [q.wanted(q.value(posterior.values)) for q in self.asked if q.wanted is not None]
        self._slopes = self._natural / np.maximum(wanted, 1e-9)[:, None]
        # The identification that is to follow takes its clips from both motions alike.
        share = config.duration / (config.duration + posterior.duration)
        together = clips_of(sampling.horizons, len(sampling.horizons.clips) - 1, config.duration + posterior.duration)
        prior = np.diag(posterior.prior)
        self.known = prior + together * (1.0 - share) / max(posterior.clips, 1) * (posterior.information - prior)
        self._clips = together * share
        plain = self._root(invert(posterior.information))
        # What the log's residuals showed beyond the stated noise is expected of the next log, too; where a bound hid
        # it, as much as of the others.
        held = np.diag(posterior.covariance) <= 0.0
        hidden = (np.abs(self._natural[:, held]) > 1e-9).any(axis=1)
        excess = np.maximum(self._root(posterior.covariance) / plain, 1.0)
        self._excess = np.where(hidden, np.median(excess[~hidden]) if (~hidden).any() else 1.0, excess)
        self.now = self._excess * plain

    def told(self, states: Array, targets: Array) -> Array:
        """(B, K, K) information of B walks, each as if the whole plan were like it."""
        config, sampling = self._config, self._sampling
        segments = max(round(targets.shape[1] * sampling.step / config.segment), 1)
        clip = walks_information(
            states,
            targets,
            sampling.step,
            config.pose_rate,
            self._unknowns,
            sampling.noise,
            self._simulator,
            self._posterior.values,
            round(sampling.horizons.lengths[-1] / sampling.step) + 1,
            config.search.clips * segments,
        )
        return clip * self._clips

    def judge(self, information: Array) -> Callable[[Array, Array], Array]:
        """Criteria (P,) with walks of one segment, beside an information."""

        def costs(states: Array, targets: Array) -> Array:
            told = self.told(states, targets) / self._config.segments
            return np.array([self.cost(information + each) for each in told])

        return costs

    def cost(self, information: Array) -> float:
        """The criterion."""
        return criterion(self._config.criterion, information, self._slopes)

    def sigmas(self, information: Array) -> Array:
        """(Q,) standard deviations to be expected."""
        return np.asarray(self._excess * self._root(invert(information)))

    def _root(self, covariance: Array) -> Array:
        variances = np.einsum("qk,kl,ql->q", self._natural, covariance, self._natural)
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))
