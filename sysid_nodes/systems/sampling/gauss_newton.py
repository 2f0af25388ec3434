# SPDX-License-Identifier: Apache-2.0
"""Sampled Gauss-Newton: parameters and the clips' start states together, over longer and longer clips.

The covariance is the block jackknife's, blocks being clips: a sandwich that counts what residuals do show of the
model's errors instead of what the sensors' noise promises. With H the Hessian, P the priors' information, J the
jackknife and D = H^-1 - H^-1 P H^-1 what white residuals would leave of the readings' part,

    Cov = H^-1 + (J - D)+ + sum s s'.

So in no direction is anything known better than white residuals of the clips' own size tell it, what only the prior
knows is as uncertain as the prior says, and neither is counted twice. Of J - D the part is taken that is positive in
units of H: a jackknife of few blocks has directions in which it shows nothing. What simulations are known to get wrong
(`Others`) is in the last of the equations:

- They are of the residuals that no step at all would leave, by what simulations in half and in a quarter of it change
  (Richardson). Clips differ in that, next to landings most, so that the jackknife is of these, and by how far: of the
  residuals of a clip, what half a step changes and what whole and half steps would have otherwise are unknown by as
  much, a standard normal number each, the clip's own (generalised least squares). Without, one that lands decides over
  those that simulations follow, and lively motion makes what a calm one tells less sure. By how much whole and half
  steps would have the estimate otherwise is one of the vectors s, errors that are the same in every clip; by how much
  it would be another if no clip told less for its steps, the next: what all clips have in common shows in neither
  clips' scatter nor, once it is theirs to take, in the former. Another is what the linear model gets wrong of the
  correction: where start states do not follow it as far as derivatives say, next to landings again, simulations at its
  end ask for a step more.
- How a gear's dry friction brings a joint to rest, and how far it bends before it slides, is an unknown more: so much
  of the difference that another gear would make, a standard normal number, which logs tell to a fifth at worst.

A search that ends at its limit adds the step that would have come next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError
from sysid_nodes.rollouts import ExtrapolatedSimulations, Simulator
from sysid_nodes.solvers.shooting import Covariance, Gaussian, block_jackknife
from sysid_nodes.solvers.shooting.normal_equations import Equations
from sysid_nodes.systems.sampling.config import HorizonsConfig, SamplingConfig
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.problem import ClipProblem, place_clips
from sysid_nodes.systems.sampling.settling import lead_in, settle_starts
from sysid_nodes.systems.sampling.solve import Solution, solve_clips
from sysid_nodes.systems.sampling.starts import StartGuess
from sysid_nodes.systems.sampling.step_errors import changes, unknown_parts
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_FEWEST = 6  # clips
_LOG = 10.0  # for which their number is configured [s]
Progress = Callable[[float, float], None]
"""Called with the length of the clips [s] and the cost."""


class Others(NamedTuple):
    """The same simulations in half and a quarter of the step, and of gears that hold otherwise."""

    finer: Simulator
    finest: Simulator
    holding: Simulator


@dataclass(frozen=True)
class Fit:
    """Result of a search, in the K coordinates of the unknowns.

    Attributes:
        vector: (K,).
        covariance: (K, K); zero for what a bound holds.
        plain: (K, K) what white residuals, of the stated noise or of a clip's own misfit if that is more, would leave.
        information: (K, K) its Fisher information, bounds left out of account, priors included.
        bent: (K,) what the linear model gets wrong of the correction for the size of steps, a part of the covariance.
        freedom: (K,) degrees of freedom of Student's distribution.
        lower, upper: (K,) whether a bound holds it.
        converged: whether the last level's search ended by itself.
        misfit: root mean square of the whitened residuals, 1 if noise were all there is.
        problem: of the last level.
        left_out: clips of the last level that no start state made fit.
        lengths: of the clips of each level [s].
        levels: (vector, covariance) after each level.
    """

    vector: Array
    covariance: Array
    plain: Array
    information: Array
    bent: Array
    freedom: Array
    lower: BoolArray
    upper: BoolArray
    converged: bool
    misfit: float
    problem: ClipProblem
    left_out: int
    lengths: tuple[float, ...]
    levels: tuple[tuple[Array, Array], ...]


def fit_clips(
    log: MotionLog,
    unknowns: Unknowns,
    simulator: Simulator,
    guess: StartGuess,
    others: Others,
    config: SamplingConfig,
    progress: Progress | None = None,
) -> Fit:
    """Fits a log.

    Args:
        log: what was measured.
        guess: of start states.
        others: simulations that differ in what is not known of them.
        progress: called after every iteration.

    Raises:
        LogError: it is too short for the clips.
    """
    levels = _Levels(log, unknowns, simulator, guess, config)
    vector, estimates = _first_vector(unknowns, guess), []
    for level in range(len(config.horizons.lengths)):
        found, left_out = levels.fit(level, vector, progress)
        vector = found.parameters
        covariance, _ = _covariance(found, found.equations, config.horizons.block)
        estimates.append((vector, covariance))
    left = np.zeros_like(vector) if found.converged else found.remaining_step()
    equations, moved, doubts = _without_steps(found, others)
    vector = np.clip(vector + moved, unknowns.column("lower"), unknowns.column("upper"))
    covariance, freedom = _covariance(found, equations, config.horizons.block)
    covariance = covariance + sum(np.outer(shift, shift) for shift in (*doubts, left))
    estimates[-1] = (vector, covariance)
    measured = found.equations.residual[found.equations.residual != 0.0]
    return Fit(
        vector,
        covariance,
        _spread(found, equations, config.horizons.block).plain[: len(vector), : len(vector)],
        _known_of_all_but_the_last(equations.reduced_hessian),
        doubts[-1],
        freedom,
        found.lower,
        found.upper,
        found.converged,
        float(np.sqrt(np.mean(measured**2))),
        found.problem,
        left_out,
        config.horizons.lengths,
        tuple(estimates),
    )


class _Levels:
    """Fits of ever longer clips, each from what the one before has found.

    Raises:
        LogError: the log is too short for the clips.
    """

    def __init__(
        self, log: MotionLog, unknowns: Unknowns, simulator: Simulator, guess: StartGuess, config: SamplingConfig
    ) -> None:
        self._log, self._unknowns, self._simulator, self._config = log, unknowns, simulator, config
        self._guess = guess
        self._prior = Gaussian(unknowns.column("guess"), unknowns.column("sigma") ** -2.0)
        horizons = config.horizons
        long = max(horizons.lengths)
        most = max(clips_of(horizons, level, log.duration) for level in range(len(horizons.lengths)))
        self._places = place_clips(log, _instants(long, config), most, np.random.default_rng(config.seed))
        if (room := len(self._places)) < _FEWEST:
            few = f"has room for {room} of the {_FEWEST} clips of {long:g} s with all streams that are needed"
            raise LogError("; ".join([few, *log.faults]))
        self._begins = guess.at(self._places)

    def fit(self, level: int, vector: Array, progress: Progress | None) -> tuple[Solution, int]:
        """The fit from parameters (K,), and the number of clips that no start state made fit."""
        horizons, places = self._config.horizons, self._places
        length, last = horizons.lengths[level], len(horizons.lengths) - 1
        free = self._unknowns.coarse if level == 0 != last else np.ones(len(vector), dtype=bool)
        # Clips grow where they are: what a short one has found of its start is the guess of the long one.
        count = min(clips_of(horizons, level, self._log.duration), len(places))
        chosen = np.linspace(0, len(places) - 1, count).round().astype(np.int64)
        instants = _instants(length, self._config)
        problem = ClipProblem(
            self._log,
            self._config.noise,
            self._unknowns,
            self._simulator,
            places[chosen],
            instants,
            self._begins[chosen],
            round(horizons.lead / self._config.step) if level == last else 0,
        )
        if not level:
            problem = lead_in(problem, vector, self._guess)
        settled = settle_starts(problem, vector, horizons.settling).without_lost(horizons.lost, _FEWEST)
        found = solve_clips(
            settled.problem,
            vector,
            self._prior,
            free,
            iterations=int(horizons.iterations[level]),
            tolerance=horizons.tolerance,
            robust=horizons.robust,
            by_start=settled.by_start,
            progress=None if progress is None else partial(progress, length),
        )
        if level == last:
            found = found.linearise()  # errors and corrections are not to rest on secants
        self._begins[np.searchsorted(places, found.problem.first)] = found.problem.guess
        return found, count - len(found.problem.first)


def _without_steps(found: Solution, others: Others) -> tuple[Equations, Array, Array]:
    """Equations of residuals that no step would leave, at their solution, with a parameter more: how gears hold.

    Also the way there (K,), and what is unsure of it (3, K): by how much the one from whole and half steps alone would
    be another, and the one to which no clip tells less for its steps, and the step that it leaves in simulations, which
    are not linear.
    """
    problem, vector = found.problem, found.parameters
    own = problem.residuals(vector)
    half, quarter, unsure = (replace(problem, simulator=other).residuals(vector) for other in others)
    half, quarter = changes(own, half, quarter)
    unsure = np.where(np.isfinite(unsure), unsure - own, 0.0)
    # Errors of simulations are proportional to the step: half of what half a step leaves goes with half of that.
    finest, finer, rough = own + 2.0 * quarter - half, own + 2.0 * half, unknown_parts(half, quarter)
    equations = found.others(finest, unsure, rough)
    moved = found.step(equations)
    order = moved - found.step(found.others(finer, unsure, rough))
    alike = moved - found.step(found.others(finest, unsure, rough[:0]))
    bent = found.step_after(equations, ExtrapolatedSimulations(others.finer, others.finest), unsure, rough)
    return equations.shift_parameters(moved), moved[:-1], np.array([order[:-1], alike[:-1], bent[:-1]])


def _known_of_all_but_the_last(information: Array) -> Array:
    """(K, K) of (K + 1, K + 1), whatever the last parameter is."""
    mixed = information[:-1, -1]
    return np.asarray(information[:-1, :-1] - np.outer(mixed, mixed) / information[-1, -1])


def _instants(length: float, config: SamplingConfig) -> int:
    return round(length / config.step) + 1


def clips_of(horizons: HorizonsConfig, level: int, duration: float) -> int:
    """Clips of a level in a log of a duration [s]; as many as in one of ten seconds at least."""
    return round(horizons.clips[level] * max(duration / _LOG, 1.0))


def _first_vector(unknowns: Unknowns, guess: StartGuess) -> Array:
    """(K,) priors' means, and the alignment of the tracked axes as the verticals show it."""
    vector = unknowns.column("guess")
    for axis, value in zip("xyz", guess.alignment, strict=True):
        if f"alignment_{axis}" in unknowns.index:
            vector[unknowns.index[f"alignment_{axis}"]] = value
    return vector


def _spread(found: Solution, equations: Equations, clips: int) -> Covariance:
    """Of the parameters that no bound holds, from blocks of so many clips."""
    return block_jackknife(equations, found.free_with(len(equations.gradient)), _block(found.problem, clips))


def _covariance(found: Solution, equations: Equations, clips: int) -> tuple[Array, Array]:
    """(K, K), and (K,) degrees of freedom; parameters behind the K are unknown like these."""
    spread, k = _spread(found, equations, clips), len(found.parameters)
    white = spread.plain - spread.plain * equations.information @ spread.plain
    return (spread.plain + _above(spread.matrix - white, spread.plain))[:k, :k], spread.freedom[:k]


def _above(difference: Array, unit: Array) -> Array:
    """The part of a symmetric matrix that is positive in units of another, which may have empty rows."""
    sigma = np.sqrt(np.diag(unit))
    scale = np.divide(1.0, sigma, out=np.zeros_like(sigma), where=sigma > 0.0)
    values, vectors = np.linalg.eigh(unit * np.outer(scale, scale))
    root = vectors * np.sqrt(np.maximum(values, 1e-12))
    inverse = vectors / np.sqrt(np.maximum(values, 1e-12))
    shares, axes = np.linalg.eigh(inverse.T @ (difference * np.outer(scale, scale)) @ inverse)
    axes = sigma[:, None] * (root @ axes)
    return np.asarray((axes * np.maximum(shares, 0.0)) @ axes.T)


def _block(problem: ClipProblem, clips: int) -> int:
    """Rows of a block."""
    columns = 2 * int(problem.log.q.shape[1]) + 12
    return clips * problem.length * columns
