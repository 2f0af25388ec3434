# SPDX-License-Identifier: Apache-2.0
"""Clips of one length as a problem of multiple shooting, its derivatives by finite differences of rollouts.

Every clip is simulated once as it is, once for each unknown that simulations depend on, and once for each coordinate of
its start state, all from the same state and with the same set-points (common random numbers: there is no other chance
in it). Unknowns of the sensors need no simulation, nor does a start farther along level ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.rollouts import Simulator, Work
from sysid_nodes.solvers.shooting import Rollout
from sysid_nodes.systems.sampling.config import NoiseConfig
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.residuals import residuals
from sysid_nodes.systems.sampling.starts import StateCoordinates
from sysid_nodes.systems.sampling.unknowns import Sensing, Unknowns

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_STEEP = 2.0  # times the median clip's slope from which on it is looked at from the other side
_LEVEL = 2  # start coordinates, the first ones, along which the ground is the same: a robot moves alike from there
_JUMP = 1.5  # times the slope on the other side: no smooth curve differs by so much within a step of the differences


@dataclass(frozen=True)
class ClipProblem:
    """C clips of L instants each; sample l of clip c is number c L + l.

    Attributes:
        log: what was measured.
        first: (C,) instants of the log at which clips begin.
        length: L.
        guess: (C, nq + nv) of the states there.
        lead: instants at the beginning of every clip that are simulated and not compared: their residuals are zero.
    """

    log: MotionLog
    noise: NoiseConfig
    unknowns: Unknowns
    simulator: Simulator
    first: IntArray
    length: int
    guess: Array
    lead: int = 0

    @property
    def coordinates(self) -> StateCoordinates:
        """Of the start states."""
        return StateCoordinates(self.log.q.shape[1])

    @property
    def samples(self) -> int:
        """C L."""
        return len(self.first) * self.length

    @property
    def breaks(self) -> tuple[int, ...]:
        """Every clip stands alone."""
        return tuple(range(self.length, self.samples, self.length))

    @property
    def instants(self) -> IntArray:
        """(C, L) of the log."""
        return self.first[:, None] + np.arange(self.length)

    @property
    def targets(self) -> Array:
        """(C, L - 1, n) set-points."""
        return self.log.target[self.instants[:, :-1]]

    def start(self, first: IntArray) -> tuple[Array, Array]:
        """Coordinates about the guesses, hence zeros, and what the guesses know."""
        own = self.coordinates
        return np.zeros((len(first), own.size)), own.information

    def states(self, parameters: Array, start: Array) -> Array:
        """(C, L, nq + nv) simulated states from start coordinates (C, d)."""
        begin = self.coordinates.state(self.guess, start)
        which = np.arange(len(begin))
        return self._simulate([parameters], begin, np.zeros_like(which), which)

    def rollout(self, parameters: Array, first: IntArray, start: Array, *, by_start: Array | None = None) -> Rollout:
        """See `ShootingProblem`; derivatives by the start (C L, m, d) are simulated if they are not given."""
        clips, d, k = len(first), self.coordinates.size, len(parameters)
        simulated, steps, moves = self.unknowns.simulated, self.unknowns.column("step"), self.coordinates.steps
        vectors = [parameters, *(parameters + steps[i] * np.eye(k)[i] for i in simulated)]
        m = len(vectors)
        begin = self.coordinates.state(self.guess, start)
        # Per clip: m variants from its start, then the first variant from d starts beside it.
        beside = self.coordinates.state(self.guess[:, None], start[:, None] + np.diag(moves)[_LEVEL:])
        if by_start is not None:
            beside, d = beside[:, :0], 0
        several = m + beside.shape[1]
        begins = np.concatenate([np.repeat(begin[:, None], m, axis=1), beside], axis=1).reshape(clips * several, -1)
        variant = np.tile(np.concatenate([np.arange(m), np.zeros(several - m, dtype=np.int64)]), clips)
        states = self._simulate(vectors, begins, variant, np.repeat(np.arange(clips), several))
        states = states.reshape(clips, several, self.length, -1)
        if d:
            states = self._with_aside(states, m)
        sensing = self.unknowns.sensing(parameters)
        at = self.instants[:, None]
        all_ = self._compare(np.broadcast_to(at, states.shape[:3]), states, sensing)
        base = all_[:, 0]
        units = np.concatenate([steps[simulated], moves[:d]])
        slopes = np.moveaxis(all_[:, 1:] - base[:, None], 1, -1) / units
        self._mend_steep(slopes, base, parameters, start)
        by_parameters = np.zeros((*base.shape, k))
        by_parameters[..., simulated] = slopes[..., : len(simulated)]
        for i in set(range(k)) - set(simulated):
            moved = self.unknowns.sensing(parameters + 1e-4 * np.eye(k)[i])
            other = self._compare(self.instants, states[:, 0], moved)
            by_parameters[..., i] = (other - base) / 1e-4
        rows = self.samples
        if by_start is None:
            by_start = slopes[..., len(simulated) :].reshape(rows, -1, d)
        return Rollout(base.reshape(rows, -1), by_parameters.reshape(rows, -1, k), by_start)

    def _mend_steep(self, slopes: Array, base: Array, parameters: Array, start: Array) -> None:
        """Slopes of clips far steeper than others' become those of the step beside it, where these are gentler.

        A foot that lands an instant of the simulation sooner is kicked sooner, however little has changed. Slopes a
        hundred times too steep are of such a clip, and would decide over all others; few jump in both steps.

        Args:
            slopes: (C, L, m, M) by the unknowns that simulations depend on and, if there are more, by the start.
            base: (C, L, m) residuals.
            start: (C, d) coordinates.
        """
        size = np.nan_to_num(_sizes(slopes), nan=np.inf)
        clip, which = np.nonzero(size > _STEEP * np.median(size, axis=0))
        if not len(clip):
            return
        simulated, moves = self.unknowns.simulated, self.coordinates.steps
        k, (steps, lower) = len(simulated), (self.unknowns.column(name)[simulated] for name in ("step", "lower"))
        # The other step goes back; behind a bound nothing can be simulated, negative friction, say: there it goes on.
        end = np.append(np.where(parameters[simulated] - steps >= lower, -steps, 2.0 * steps), -moves)
        vectors = [parameters, *(parameters + end[:k, None] * np.eye(len(parameters))[simulated])]
        aside = start[clip] + (end[k:] * (which[:, None] == k + np.arange(len(moves))))
        begin = self.coordinates.state(self.guess[clip], aside)
        states = self._simulate(vectors, begin, np.where(which < k, which + 1, 0), clip)
        moved = self._compare(self.instants[clip], states, self.unknowns.sensing(parameters)) - base[clip]
        gone = (np.append(steps, moves) * (end > 0.0))[which, None, None]
        other = (moved - gone * slopes[clip, :, :, which]) / (end[which, None, None] - gone)
        gentler = _sizes(other[..., None])[:, 0] < size[clip, which] / _JUMP
        slopes[clip[gentler], :, :, which[gentler]] = other[gentler]

    def by_start(self, parameters: Array) -> tuple[Array, Array]:
        """Residuals (C, L m) at the guesses and derivatives (C, L m, d) by the start coordinates alone."""
        clips, moves = len(self.first), self.coordinates.steps
        each = np.vstack([np.zeros(len(moves)), np.diag(moves)[_LEVEL:]])
        states = self._with_aside(self._from_each(parameters, self.coordinates.state(self.guess[:, None], each)), 1)
        found = self._compare_each(states, parameters)
        base, moved = found[:, 0], found[:, 1:]
        return base, np.moveaxis((moved - base[:, None]) / moves[:, None], 1, -1).reshape(clips, -1, len(moves))

    def trials(self, parameters: Array, starts: Array) -> tuple[Array, Array]:
        """Costs (V, C), guesses' information included, and residuals (V, C, L m) at start coordinates (V, C, d)."""
        states = np.moveaxis(self.coordinates.state(self.guess, starts), 0, 1)
        residual = np.moveaxis(self._residuals(parameters, states), 1, 0)
        squares = (residual**2).sum(axis=2) + (starts**2) @ self.coordinates.information
        return np.nan_to_num(squares, nan=np.inf), residual

    def residuals(self, parameters: Array) -> Array:
        """(C, L m) at the guesses."""
        return self._residuals(parameters, self.guess[:, None])[:, 0]

    def _residuals(self, parameters: Array, begins: Array) -> Array:
        """(C, V, L m) from start states (C, V, nq + nv)."""
        return self._compare_each(self._from_each(parameters, begins), parameters)

    def _from_each(self, parameters: Array, begins: Array) -> Array:
        """States (C, V, L, nq + nv) from start states (C, V, nq + nv)."""
        clips, several = begins.shape[:2]
        begins = begins.reshape(clips * several, -1)
        none, clip = np.zeros(len(begins), dtype=np.int64), np.repeat(np.arange(clips), several)
        return self._simulate([parameters], begins, none, clip).reshape(clips, several, self.length, -1)

    def _with_aside(self, states: Array, behind: int) -> Array:
        """States (C, V + 2, L, nq + nv): behind so many of V, the first ones as moved along the ground by a step."""
        aside = np.repeat(states[:, :1], _LEVEL, axis=1)
        for k in range(_LEVEL):
            aside[:, k, :, k] += self.coordinates.steps[k]
        return np.concatenate([states[:, :behind], aside, states[:, behind:]], axis=1)

    def _compare_each(self, states: Array, parameters: Array) -> Array:
        """(C, V, L m) of states (C, V, L, nq + nv)."""
        at = np.broadcast_to(self.instants[:, None], states.shape[:3])
        return self._compare(at, states, self.unknowns.sensing(parameters)).reshape(*states.shape[:2], -1)

    def _compare(self, instants: IntArray, states: Array, sensing: Sensing) -> Array:
        """(..., L, m) residuals of states (..., L, nq + nv) at instants (..., L)."""
        found = residuals(self.log, self.noise, instants, states, sensing)
        found[..., : self.lead, :] = 0.0
        return found

    def _simulate(self, vectors: list[Array], begins: Array, variant: IntArray, clip: IntArray) -> Array:
        work = Work(begins, variant, clip, self.targets)
        states = self.simulator.run(self.unknowns.variants(vectors), work)
        return np.concatenate([begins[:, None], states], axis=1)


def _sizes(slopes: Array) -> Array:
    """(C, M) norms of slopes (C, L, m, M); infinite where a simulation was about to fail."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((slopes**2).sum(axis=(1, 2))))


def place_clips(log: MotionLog, length: int, count: int, rng: np.random.Generator) -> IntArray:
    """(C,) first instants of clips at chance places, spread over what is usable of a log.

    There are no more of them than fit side by side; neighbours may still overlap by part of a clip.
    """
    allowed = log.starts(length)
    if not len(allowed):
        return allowed
    # Clips that overlap would vouch for one another.
    room = int(log.usable.sum()) // length
    edges = np.linspace(0, len(allowed), max(min(count, room, len(allowed)), 1) + 1).astype(int)
    return np.array([allowed[rng.integers(a, b)] for a, b in pairwise(edges)], dtype=np.int64)
