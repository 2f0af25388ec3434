# SPDX-License-Identifier: Apache-2.0
"""Start states that fit their own clips, for parameters as they are: each clip's own Levenberg-Marquardt.

The joint fit of parameters and start states accepts or refuses a step for all clips at once, and one clip whose feet
begin on the wrong side of the ground would hold up all others. Here every clip has a damping of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.sampling.problem import ClipProblem
from sysid_nodes.systems.sampling.starts import StartGuess

Array = npt.NDArray[np.float64]

_DAMPINGS = (1e-3, 0.1, 10.0)  # tried at every step
_LEAD = 0.02  # that contacts need to settle [s]
_HUGE = 1e12  # what a simulation that is about to fail gives, and whose squares overflow
_NOISE = 1.1  # times the cost that noise alone would leave: a clip that fits so well needs no better derivatives
_ENOUGH = 0.02  # relative decrease of a clip's cost below which it is left alone


@dataclass(frozen=True)
class Settled:
    """Clips whose start states fit.

    Attributes:
        problem: with these as guesses.
        residual: (C, L m) there.
        by_start: (C, L m, d) derivatives there, as good as they were needed.
    """

    problem: ClipProblem
    residual: Array
    by_start: Array

    def without_lost(self, factor: float, least: int) -> Settled:
        """Without clips that fit worse than the median one and than noise by a factor, down to `least`.

        Their start is on the wrong side of some contact, and would pull the parameters until it is not. Where sensors
        are better than stated the median is no measure: what stands out are then errors of the model, which the
        covariance is to see.
        """
        count = np.maximum((self.residual != 0.0).sum(axis=1), 1)
        misfit = np.nan_to_num(np.sqrt((self.residual**2).sum(axis=1) / count), nan=np.inf)
        limit = max(factor * max(float(np.median(misfit)), 1.0), float(np.sort(misfit)[min(least, len(misfit)) - 1]))
        kept = np.flatnonzero(misfit <= limit)
        problem = replace(self.problem, first=self.problem.first[kept], guess=self.problem.guess[kept])
        return Settled(problem, self.residual[kept], self.by_start[kept])


def lead_in(problem: ClipProblem, parameters: Array, guess: StartGuess) -> ClipProblem:
    """The problem with guesses to which simulations of the time before lead, where they fit their clips better.

    Readings tell a foot's place to some tenths of a millimetre, and contacts give hundredths: soles that are guessed
    from readings alone are kicked by the ground, and no step along derivatives finds a way out of all the kicks.
    """
    lead = round(_LEAD / problem.log.step)
    before = np.maximum(problem.first - lead, 0)
    usable = problem.log.usable[before[:, None] + np.arange(lead + 1)].all(axis=1)
    known = np.flatnonzero(usable & (problem.first >= lead))
    if not len(known):
        return problem
    own = replace(problem, first=problem.first[known], guess=problem.guess[known])
    early = replace(own, first=before[known], length=lead + 1, guess=guess.at(before[known]))
    led = early.states(parameters, early.start(early.first)[0])[:, -1]
    led = np.where(np.isfinite(led).all(axis=1, keepdims=True), led, own.guess)
    there, here = ((part.residuals(parameters) ** 2).sum(axis=1) for part in (replace(own, guess=led), own))
    better = np.asarray((there < here) | ~np.isfinite(here))
    begins = problem.guess.copy()
    begins[known[better]] = led[better]
    return replace(problem, guess=begins)


def settle_starts(problem: ClipProblem, parameters: Array, iterations: int) -> Settled:
    """The problem with guesses that fit their clips better.

    Derivatives are simulated once, and again for clips that do not get on with them while most others fit better and
    noise does not explain it; in between they follow the residuals (`secant`).
    """
    guess, moves = problem.guess.copy(), problem.coordinates.steps
    residual, slopes = problem.by_start(parameters)
    open_, fresh = np.arange(len(guess)), np.ones(len(guess), dtype=bool)
    for _ in range(iterations):
        if not len(open_):
            break
        part = replace(problem, first=problem.first[open_], guess=guess[open_])
        step, found, gained = _step(part, parameters, residual[open_], slopes[open_])
        guess[open_] = part.coordinates.state(part.guess, step)
        slopes[open_] = secant(slopes[open_], step, found - residual[open_], moves)
        residual[open_] = found
        stuck, cost = gained <= _ENOUGH, (residual**2).sum(axis=1)
        enough = max(float(np.median(cost)), _NOISE * float(np.median((residual != 0.0).sum(axis=1))))
        anew = open_[stuck & ~fresh[open_] & (cost[open_] > enough)]
        open_, fresh[open_] = np.union1d(open_[~stuck], anew), False
        if len(anew):
            part = replace(problem, first=problem.first[anew], guess=guess[anew])
            residual[anew], slopes[anew] = part.by_start(parameters)
            fresh[anew] = True
    return Settled(replace(problem, guess=guess), residual, slopes)


def secant(jacobian: Array, step: Array, change: Array, scale: Array) -> Array:
    """(C, R, d) derivatives that agree with what a step (C, d) has changed (C, R); Broyden's update in units (d,)."""
    scaled = step / scale**2
    square = np.maximum(np.einsum("cd,cd->c", step, scaled), 1e-300)
    missed = change - np.einsum("crd,cd->cr", jacobian, step)
    return np.asarray(jacobian + np.einsum("cr,cd->crd", missed / square[:, None], scaled))


def _step(problem: ClipProblem, parameters: Array, residual: Array, jacobian: Array) -> tuple[Array, Array, Array]:
    """Each clip's best of several steps (C, d) or none, residuals there, and (C,) relative decrease of the cost."""
    coordinates = problem.coordinates
    finite = np.asarray((np.abs(residual) < _HUGE).all(axis=1) & (np.abs(jacobian) < _HUGE).all(axis=(1, 2)))
    known, slope = np.where(finite[:, None], residual, 0.0), np.where(finite[:, None, None], jacobian, 0.0)
    gradient = np.einsum("crd,cr->cd", slope, known)
    hessian = np.einsum("crd,cre->cde", slope, slope) + np.diag(coordinates.information)
    hessian[~finite] = np.eye(coordinates.size)  # which leaves a simulation that failed where it is
    diagonal = np.einsum("cdd->cd", hessian)[:, None, :] * np.eye(coordinates.size)
    trials = np.array([-np.linalg.solve(hessian + rate * diagonal, gradient[..., None])[..., 0] for rate in _DAMPINGS])
    before = np.where(finite, (known**2).sum(axis=1), np.inf)
    costs, found = problem.trials(parameters, trials)
    costs, found = np.concatenate([before[None], costs]), np.concatenate([residual[None], found])
    best, every = np.argmin(costs, axis=0), np.arange(len(before))
    steps = np.concatenate([np.zeros_like(trials[:1]), trials])[best, every]
    left = np.divide(costs[best, every], before, out=np.ones_like(before), where=finite & (before > 0.0))
    return steps, found[best, every], 1.0 - left
