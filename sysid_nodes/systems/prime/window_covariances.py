# SPDX-License-Identifier: Apache-2.0
"""Covariances of windows that follow one another: residuals are looked at once, when they have settled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Posterior
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor
from sysid_nodes.solvers.trajectory_least_squares.influence import leverages
from sysid_nodes.solvers.trajectory_least_squares.posterior import covariances
from sysid_nodes.systems.prime.landings import landing_variances, with_landings
from sysid_nodes.systems.prime.noise_variances import REACH, ObservedVariances, near_contact_change, noisy_rows
from sysid_nodes.systems.prime.noise_weights import WindowWeights
from sysid_nodes.systems.prime.observed_noise import noisy_covariance
from sysid_nodes.systems.prime.real_time import Improved

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_SETTLING = 4
"""Newest stages whose residuals still change from solve to solve."""

_TOLD = 3
"""Place from the end of the stage whose variances are looked at."""


class WindowCovariances:
    """Of the parameters and of the newest configurations by the noise of the residuals of late.

    They are evaluated as often as residuals are looked at: of the parameters, constants, ever more is known. By how
    much a configuration's variances differ from those by the stated noise is that of one stage, until the next look. A
    landing is looked at in every window that has it.

    Args:
        covered: newest stages that get covariances; more where more of them are new.

    Attributes:
        variances: (B, m) of each group's noise, of the last window.
        weights: of the readings, by their noise while the robot moved.
        ratio: (nv,) variances of a configuration over those by the stated noise.
    """

    def __init__(self, covered: int) -> None:
        self._covered = covered
        self._observed = ObservedVariances()
        self.weights = WindowWeights()
        self.variances: list[Array] = []
        self.restart()

    def restart(self) -> None:
        """The motion ends; what is known of the noise is kept."""
        self._changing = np.zeros(0, dtype=bool)  # stages of the last window about a change of contact
        self._landings = np.zeros((0, 0))  # their variances for when feet touched
        self._counted = -np.inf  # stamp of the newest stage whose residuals are among those observed [s]
        self._parameter: Array | None = None
        self.ratio: Array = np.ones(1)

    def of(self, solved: Improved, times: Array, dropped: int, *, rests: bool = False) -> Posterior | None:
        """Covariances of a window, None where they are undetermined.

        Args:
            solved: a finite result.
            times: (N,) of its stages [s].
            dropped: stages of the last window before its first.
            rests: whether the robot stands still, whose readings then say nothing of their noise in motion.
        """
        problem, factor = solved.problem, solved.factor
        changing = near_contact_change(problem, solved.linearised)
        # A change just before the window shows no more.
        kept = self._changing[dropped:]
        # More stages than usual come at once where a stream that was waited for falls silent.
        new_stages = len(times) - len(kept)
        covered = self._covered + (new_stages if new_stages + 2 > self._covered else 0)
        before = kept[:REACH]
        changing[: len(before)] |= before
        self._changing = changing
        new = self._settled_stages(times) if factor is not None else slice(0)
        anew = len(changing[new]) > 0
        landings = self._remember_landings(landing_variances(problem, solved.linearised), dropped)
        whole = anew or self._parameter is None or bool(landings.any())
        found = None if factor is None else covariances(factor, last=None if whole else covered)
        if factor is not None and found is not None and anew:
            self._observe(solved, factor, found, new, rests)
            self._counted = float(times[new.stop - 1])
        observed = self._observed.of(problem, solved.blocks, changing)
        self.variances = with_landings(observed, solved.blocks, problem.layout.size, landings)
        if factor is None or found is None:
            return None
        if whole:
            self._look(solved, factor, found)
        assert self._parameter is not None
        if not (np.all(np.diag(self._parameter) > 0.0) and np.all(self.ratio > 0.0)):
            # Of windows that contradict all before, as in a fall, rounding can leave nothing else.
            self._parameter, self.ratio = None, np.ones(1)
            return None
        return replace(found, parameter=self._parameter)

    def _remember_landings(self, landings: Array, dropped: int) -> Array:
        """Variances (N, nc) with those of landings whose flight has left the window: nothing else shows them there."""
        begun = self._landings[dropped:][: REACH + 1]
        if len(begun):
            landings[: len(begun)] = np.maximum(landings[: len(begun)], begun)
        self._landings = landings
        return landings

    def _look(self, solved: Improved, factor: Factor, found: Posterior) -> None:
        """Covariances by the residuals' noise, of the parameters and of a stage that is told next."""
        window = solved.problem, solved.blocks, solved.linearised, factor
        stage, count = max(len(found.stage) - _TOLD, 0), len(found.parameter)
        parts = zip((found.stage_parameter, found.parameter), factor.covariances_with(stage), strict=True)
        known = tuple(np.concatenate(pair, axis=-1) for pair in parts)
        lasting = self._observed.with_lasting_sliding(self.variances, solved.blocks)
        self._parameter, spread = noisy_covariance(*window, known, self.variances, whole=count, lasting=lasting)
        self.ratio = spread / np.diag(found.stage[stage])

    def _settled_stages(self, times: Array) -> slice:
        """Stages that have settled since residuals were last looked at; none while they are too few."""
        stages = len(times)
        first = max(int(np.searchsorted(times, self._counted, side="right")), 1)
        last = stages - _SETTLING
        enough = last - first >= max(min(2 * stages // 3, last) - 1, 1)
        return slice(first, last) if enough else slice(0)

    def _observe(self, solved: Improved, factor: Factor, found: Posterior, new: slice, rests: bool) -> None:
        # Of the result: a prediction may be far off where the step then leads.
        pairs = zip(solved.blocks, solved.residuals, strict=True)
        blocks = [replace(entry, residual=residual) for entry, residual in pairs]
        leverage = leverages(blocks, factor, found, noisy_rows(solved.problem, blocks))
        self._observed.add(solved.problem, blocks, leverage, self._changing, new)
        if not rests:
            self.weights.add(solved.problem, blocks, leverage, new)
