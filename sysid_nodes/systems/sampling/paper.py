# SPDX-License-Identifier: Apache-2.0
"""The paper's own method: clips from their measured start, a weighted cost, CMA-ES (SPI-Active, eq. (4), Table 3).

Clips have random lengths. Each term is normalised to one at the nominal robot and then weighted: velocities by 0.5,
torques by 0.2, the regularisation by 0.1. Measured start states are taken as they are; what comes out has no
uncertainty, and is biased where readings are noisy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import parameters_to_com
from sysid_nodes.exceptions import LogError
from sysid_nodes.rollouts import Drive, Simulator, Variants, Work
from sysid_nodes.rollouts.rotations import drift
from sysid_nodes.solvers.sampling import minimise
from sysid_nodes.systems.sampling.config import PaperConfig, SamplingConfig
from sysid_nodes.systems.sampling.gauss_newton import Fit, Progress
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.problem import ClipProblem, place_clips
from sysid_nodes.systems.sampling.starts import StartGuess
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Weights of Table 3, and of the groups after normalisation.
_STATE = {"position": 4.0, "velocity": 2.0, "orientation": 2.0, "turning": 0.5, "joints": 3.0, "rates": 0.1}
_GROUP = {"velocity": 0.5, "turning": 0.5, "rates": 0.5}
_TORQUE, _TORQUE_GROUP = 0.01, 0.2
_REGULARISATION = {"mass": 0.01, "centre": 10.0, "inertia": 1.0, "strength": 0.01, "gain": 0.1}
_REGULARISATION_GROUP = 0.1
_SHAPE_REACH = 2.0  # log-Cholesky coordinates without bounds of their own are searched this far about the nominal ones


@dataclass(frozen=True)
class PaperCost:
    """The cost of candidates.

    Attributes:
        log: what was measured.
        drive: of its joints.
        first: (C,) instants at which clips begin.
        steps: (C,) their lengths.
        start: (C, nq + nv) measured states there.
        velocity: (N, 3) of the base, by differences of the recorded positions [m/s].
    """

    log: MotionLog
    unknowns: Unknowns
    simulator: Simulator
    drive: Drive
    first: IntArray
    steps: IntArray
    start: Array
    velocity: Array

    def terms(self, vectors: Array) -> dict[str, Array]:
        """(P,) mean square of each term, by its name, for candidates (P, K)."""
        count, clips, longest = len(vectors), len(self.first), int(self.steps.max())
        at = self.first[:, None] + np.arange(longest + 1)
        at = np.minimum(at, len(self.log) - 1)
        variants = self.unknowns.variants(list(vectors))
        clip = np.tile(np.arange(clips), count)
        work = Work(self.start[clip], np.repeat(np.arange(count), clips), clip, self.log.target[at[:, :-1]])
        states = drift(self.simulator.run(variants, work), -0.5 * self.log.step).reshape(count, clips, longest, -1)
        inside = np.arange(longest) < self.steps[:, None]
        seen = at[:, 1:]
        found = self._squares(states, seen, variants)
        return {name: (square * inside).sum(axis=(1, 2)) / inside.sum() for name, square in found.items()}

    def _squares(self, states: Array, seen: IntArray, variants: Variants) -> dict[str, Array]:
        """(P, C, T) squared errors of states (P, C, T, nq + nv) at instants (C, T)."""
        log, n = self.log, self.log.q.shape[1]
        velocity, turning = states[..., 7 + n : 10 + n], states[..., 10 + n : 13 + n]
        q, w = states[..., 7 : 7 + n], states[..., 13 + n :]
        same = np.einsum("pcti,cti->pct", states[..., 3:7], log.rotation[seen])
        which = (slice(None), None, None)
        torque = self.drive.torque(
            log.target[seen - 1], q, w, variants.gain[which], variants.weakness[which], variants.dry[which]
        )

        def square(error: Array) -> Array:
            return np.asarray((error**2).sum(axis=-1))

        return {
            "position": square(states[..., :3] - log.position[seen]),
            "velocity": square(velocity - self.velocity[seen]),
            "orientation": 1.0 - same**2,
            "turning": square(turning - log.gyro[seen]),
            "joints": square(q - log.q[seen]),
            "rates": square(w - log.w[seen]),
        } | ({} if log.torque is None else {"torque": square(torque - log.torque[seen])})

    def total(self, vectors: Array, scale: Mapping[str, float]) -> Array:
        """(P,) weighted sum of terms, each over its scale, and regularisation."""
        terms = self.terms(vectors)
        weights = {**_STATE, "torque": _TORQUE}
        groups = {**_GROUP, "torque": _TORQUE_GROUP}
        total = sum(weights[n] * groups.get(n, 1.0) * terms[n] / scale[n] for n in terms)
        return np.asarray(total + _REGULARISATION_GROUP * self.regularisation(vectors))

    def regularisation(self, vectors: Array) -> Array:
        """(P,) of candidates (P, K), relative to the nominal robot."""
        return np.array([_distance(self.unknowns, vector) for vector in vectors])


def fit_paper(
    log: MotionLog,
    unknowns: Unknowns,
    simulator: Simulator,
    drive: Drive,
    guess: StartGuess,
    config: SamplingConfig,
    progress: Progress | None = None,
) -> Fit:
    """Fits a log; the method gives no covariances: they are NaN.

    Raises:
        LogError: it is too short for the clips.
        ConfigError: the library `cma` is not installed.
    """
    paper = config.paper
    cost = paper_cost(log, unknowns, simulator, drive, guess, config)
    nominal = unknowns.column("guess")[None]
    scale = {name: max(float(value[0]), 1e-12) for name, value in cost.terms(nominal).items()}
    searched = np.array([k for k in unknowns.simulated if unknowns.items[k].name not in ("friction", "compliance")])
    lower, upper = box(unknowns)

    def complete(points: Array) -> Array:
        vectors = np.repeat(nominal, len(points), axis=0)
        vectors[:, searched] = points
        return vectors

    tell = None if progress is None else (lambda value: progress(paper.longest, value))
    search = minimise(
        lambda points: cost.total(complete(points), scale),
        nominal[0, searched],
        lower[searched],
        upper[searched],
        spread=paper.spread,
        iterations=paper.iterations,
        population=paper.population,
        seed=config.seed,
        progress=tell,
    )
    vector = complete(search.best[None])[0]
    among = np.isin(np.arange(len(vector)), searched)
    span = 1e-3 * (upper - lower)
    unknown = np.full((len(vector), len(vector)), np.nan)
    return Fit(
        vector,
        unknown,
        unknown,
        unknown,
        np.zeros(len(vector)),
        np.full(len(vector), np.inf),
        among & (vector <= lower + span),
        among & (vector >= upper - span),
        converged=len(search.history) < paper.iterations,
        misfit=search.cost,
        problem=ClipProblem(log, config.noise, unknowns, simulator, cost.first, int(cost.steps.min()) + 1, cost.start),
        left_out=0,
        lengths=(paper.longest,),
        levels=((vector, unknown),),
    )


def paper_cost(
    log: MotionLog, unknowns: Unknowns, simulator: Simulator, drive: Drive, guess: StartGuess, config: SamplingConfig
) -> PaperCost:
    """The cost of clips of a log, with lengths and places by chance.

    Raises:
        LogError: it is too short for the clips.
    """
    paper: PaperConfig = config.paper
    rng = np.random.default_rng(config.seed)
    shortest, longest = round(paper.shortest / log.step), round(paper.longest / log.step)
    first = place_clips(log, longest + 1, paper.clips, rng)
    if not len(first):
        raise LogError(f"has no room for a clip of {paper.longest:g} s with all streams")
    steps = rng.integers(shortest, longest + 1, len(first))
    velocity = np.gradient(log.position, log.step, axis=0)
    return PaperCost(log, unknowns, simulator, drive, first, steps, guess.at(first), velocity)


def box(unknowns: Unknowns) -> tuple[Array, Array]:
    """(K,) finite bounds of a search, the lower and the upper."""
    nominal = unknowns.column("guess")
    lower, upper = unknowns.column("lower"), unknowns.column("upper")
    reach = _SHAPE_REACH * np.array([np.exp(nominal[1:4]).max() if i.name[0] == "s" else 1.0 for i in unknowns.items])
    return np.where(np.isfinite(lower), lower, nominal - reach), np.where(np.isfinite(upper), upper, nominal + reach)


def _distance(unknowns: Unknowns, vector: Array) -> float:
    nominal, total = unknowns.column("guess"), 0.0
    for k in range(len(unknowns.bodies)):
        now, then = (parameters_to_com(unknowns.inertia(v, k)) for v in (vector, nominal))
        total += _REGULARISATION["mass"] * (now[0] - then[0]) ** 2
        total += _REGULARISATION["centre"] * float(((now[1] - then[1]) ** 2).sum())
        total += _REGULARISATION["inertia"] * float(((now[2] - then[2]) ** 2).sum())
    for name, k in unknowns.index.items():
        if name.startswith("gain"):
            total += _REGULARISATION["gain"] * float((vector[k] - nominal[k]) ** 2)
        elif name.startswith("saturation"):
            now_, then_ = (unknowns.strength_guess / max(float(v[k]), 1e-12) ** 0.5 for v in (vector, nominal))
            total += _REGULARISATION["strength"] * (now_ - then_) ** 2
    return total
