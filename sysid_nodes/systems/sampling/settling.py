# SPDX-License-Identifier: Apache-2.0
"""Start states that fit their own clips, for parameters as they are: each clip's own Levenberg-Marquardt.

The joint fit of parameters and start states accepts or refuses a step for all clips at once, and one clip whose feet
begin on the wrong side of the ground would hold up all others. Here every clip has a damping of its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.sampling.problem import ClipProblem

Array = npt.NDArray[np.float64]

_DAMPINGS = (1e-3, 0.1)  # tried at every step
_ENOUGH = 0.02  # relative decrease of a clip's cost below which it is left alone


def settle_starts(problem: ClipProblem, parameters: Array, iterations: int) -> ClipProblem:
    """The problem with guesses that fit their clips better."""
    guess, open_ = problem.guess.copy(), np.arange(len(problem.first))
    for _ in range(iterations):
        if not len(open_):
            break
        part = replace(problem, first=problem.first[open_], guess=guess[open_])
        guess[open_], gained = _step(part, parameters)
        open_ = open_[gained > _ENOUGH]
    return replace(problem, guess=guess)


def leave_out_lost(problem: ClipProblem, parameters: Array, factor: float) -> ClipProblem:
    """The problem without clips that fit worse than the median one by a factor (of the root mean square), if any.

    Their start is on the wrong side of some contact, and would pull the parameters until it is not.
    """
    residual = problem.residuals(parameters)
    misfit = np.sqrt((residual**2).sum(axis=1) / np.maximum((residual != 0.0).sum(axis=1), 1))
    misfit = np.nan_to_num(misfit, nan=np.inf)
    kept = np.flatnonzero(misfit <= factor * np.median(misfit))
    return replace(problem, first=problem.first[kept], guess=problem.guess[kept])


def _step(problem: ClipProblem, parameters: Array) -> tuple[Array, Array]:
    """New guesses, each clip's best of several dampings or the old one, and (C,) the decrease of its cost, relative."""
    coordinates = problem.coordinates
    residual, jacobian = problem.by_start(parameters)
    finite = np.asarray(np.isfinite(residual).all(axis=1) & np.isfinite(jacobian).all(axis=(1, 2)))
    residual, jacobian = np.where(finite[:, None], residual, 0.0), np.where(finite[:, None, None], jacobian, 0.0)
    gradient = np.einsum("crd,cr->cd", jacobian, residual)
    hessian = np.einsum("crd,cre->cde", jacobian, jacobian) + np.diag(coordinates.information)
    diagonal = np.einsum("cdd->cd", hessian)[:, None, :] * np.eye(coordinates.size)
    trials = np.array([-np.linalg.solve(hessian + rate * diagonal, gradient[..., None])[..., 0] for rate in _DAMPINGS])
    before = np.where(finite, (residual**2).sum(axis=1), np.inf)
    costs = np.concatenate([before[None], np.nan_to_num(problem.costs(parameters, trials), nan=np.inf)])
    best = np.argmin(costs, axis=0)
    every = np.arange(len(best))
    steps = np.concatenate([np.zeros_like(trials[:1]), trials])[best, every]
    gained = 1.0 - costs[best, every] / np.maximum(before, 1e-300)
    return coordinates.state(problem.guess, steps), np.where(finite, gained, 0.0)
