# SPDX-License-Identifier: Apache-2.0
"""Candidates for the next segment of a plan: by CMA-ES on what they tell, or by chance to compare with.

CMA-ES begins at the best of some bold candidates, commands that go all the way and stay there or turn round once. A
Bezier curve is the mean of its control points: where these are by chance it hardly moves, and tells little.

Every candidate is followed by the estimated robot and by some of those drawn from the estimate; one under which any of
them comes to harm is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.sampling.cma_es import minimise
from sysid_nodes.systems.sampling.exploration.config import SearchConfig
from sysid_nodes.systems.sampling.exploration.crowd import Crowd, Places
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves, CurveSpace
from sysid_nodes.systems.sampling.exploration.vetting import COARSE, Conditions

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Judge = Callable[[Array, Array], Array]
"""Criteria (P,) with the states (P, T + 1, nq + nv) and set-points (P, T, n) of P estimated robots."""

_FEW = 4  # candidates by chance; the first that does no harm is taken
_REFUSED = 1e6  # cost of a candidate under which a robot comes to harm; more for each


@dataclass(frozen=True)
class Start:
    """State in which a segment begins.

    Attributes:
        places: of all robots of the crowd.
        commands: (5,) at the end of the segment before.
        last: whether the segment is the plan's last one.
    """

    places: Places
    commands: Array
    last: bool


@dataclass(frozen=True)
class Candidate:
    """A segment (curves of one robot) and the criterion with it."""

    curves: CommandCurves
    cost: float


class SegmentSearch:
    """Looks for segments.

    Args:
        crowd: robots that follow the candidates.
        space: of the curves.
        segment, height: duration [s], and height of the base [m].
        conditions: what no robot may do.
    """

    def __init__(
        self,
        crowd: Crowd,
        space: CurveSpace,
        segment: float,
        height: float,
        conditions: Conditions,
        config: SearchConfig,
    ) -> None:
        self._crowd, self._space, self._config = crowd, space, config
        self._segment, self._height, self._conditions = segment, height, conditions

    def best(
        self,
        start: Start,
        watched: Sequence[int],
        judge: Judge,
        scale: float,
        seed: int,
        tell: Callable[[], None],
    ) -> list[Candidate]:
        """Harmless candidates, those that tell most first; none if all of the bold ones do harm."""
        found: list[Candidate] = []

        def function(vectors: Array) -> Array:
            curves = self._curves(vectors, start, scale)
            walks = self._crowd.follow(*self._sides(start, watched, curves))
            harmed = self._conditions.judge(walks, COARSE).harmed.reshape(-1, len(watched)).sum(axis=1)
            costs = _REFUSED * (1.0 + harmed)
            kept = np.flatnonzero(harmed == 0)
            if len(kept):
                own = kept * len(watched)  # number 0 is the estimated robot
                costs[kept] = judge(walks.states[own], walks.targets[own])
            found.extend(Candidate(curves.take(np.array([k])), float(costs[k])) for k in kept)
            tell()
            return np.asarray(costs)

        bold = self._space.draw_large(2 * self._config.population, np.random.default_rng(seed))
        costs = function(bold)
        if not found:  # smaller commands are worth more than a search among these
            return []
        minimise(
            function,
            bold[np.argmin(costs)],
            -np.ones(self._space.size),
            np.ones(self._space.size),
            spread=self._config.spread,
            iterations=self._config.iterations,
            population=self._config.population,
            seed=seed,
        )
        return sorted(found, key=lambda candidate: candidate.cost)

    def random(self, start: Start, watched: Sequence[int], scale: float, rng: np.random.Generator) -> list[Candidate]:
        """Harmless candidates by chance."""
        vectors = rng.uniform(-1.0, 1.0, (_FEW, self._space.size))
        curves = self._curves(vectors, start, scale)
        found = [Candidate(curves.take(np.array([k])), 0.0) for k in range(len(vectors))]
        return self.drop_harmful(found, start, watched)

    def drop_harmful(self, candidates: list[Candidate], start: Start, watched: Sequence[int]) -> list[Candidate]:
        """Those of the candidates that do none of these robots harm."""
        if not candidates:
            return []
        curves = CommandCurves.joined([candidate.curves for candidate in candidates])
        walks = self._crowd.follow(*self._sides(start, watched, curves), every=COARSE)
        harmed = self._conditions.judge(walks).harmed.reshape(len(candidates), -1).sum(axis=1)
        return [candidates[k] for k in np.flatnonzero(harmed == 0)]

    def _curves(self, vectors: Array, start: Start, scale: float) -> CommandCurves:
        points, gaits = self._space.segment(vectors, start.commands, scale=scale, last=start.last)
        return CommandCurves(points[:, None], gaits[:, None], self._segment, self._height)

    def _sides(
        self, start: Start, watched: Sequence[int], curves: CommandCurves
    ) -> tuple[IntArray, Places, CommandCurves, float]:
        """Each candidate with each robot: numbers, places, curves and duration."""
        which = np.tile(np.array(watched, dtype=np.int64), len(curves.gaits))
        return which, start.places.take(which), curves.repeat(len(watched)), self._segment
