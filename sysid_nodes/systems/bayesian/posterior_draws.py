# SPDX-License-Identifier: Apache-2.0
"""Draws from the posterior with the prior as it is, and not as its tangent at the estimate.

A log tells phi, in which torques are linear (knowledge.py); the prior is a Gaussian in theta, and phi bends in theta
with the bodies' log-Cholesky coordinates. Of what a log tells only in sum, as the inertia of a rotor and of the link
that it turns, the prior decides, along a line that bends: the Gaussian at the estimate is off its middle there.

With F(theta) the residuals of log and prior, and Q an orthonormal basis of the range of their derivative J at the
estimate, each draw of that Gaussian is moved to where Q'F has the value that a linear F would have there. These points
have a known density, and are chosen among by what the posterior's is to it,

    log weight = (|Q'F|^2 - |F|^2) / 2 - log |det Q'J|

(randomize-then-optimize: Bardsley, Solonen, Haario and Laine, SIAM J. Sci. Comput. 36 (2014) A1895). Where there are
equalities, of symmetric links and of the total mass, they are rows of the same equations, J is along them, and their
derivative joins Q'J in the determinant: the density is that of theta given that they hold.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space, solve_triangular
from scipy.linalg.lapack import dgesv

from sysid_nodes.systems.bayesian.estimate import LogInformation
from sysid_nodes.systems.bayesian.parameters import Parameters

Array = npt.NDArray[np.float64]

LEAST_WORTH = 50.0
"""Draws that the moved ones have to be worth: with fewer the first-order posterior is no place to begin from."""

_ENOUGH = 0.05  # of the draws that are asked for, at least twice LEAST_WORTH: worth as many, they end the search
_TOGETHER = 125  # are moved at once
_ITERATIONS, _HALVINGS = 10, 6
_NEAR = 3e-4  # standard deviations from which the next step of Newton's method is the last: it leaves their square
_FARTHEST = 8.0  # prior sigmas from the estimate from which a search sets out
_LONGEST = 3.0  # prior sigmas of a coordinate that a step may change


def draw_posterior(
    own: Parameters,
    told: LogInformation,
    x: Array,
    draw: Callable[[int], Array],
    count: int,
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """Draws of theta, (count, p), and how many independent ones they are worth.

    Args:
        own: the constants and their prior.
        told: information of the log.
        x: (P,) the estimate, where the first-order posterior is linearised.
        draw: (S, p) of its draws from there, within the bounds; S of them, of which as many are moved as are needed.
        count: draws that are asked for, and moved at most.
        rng: for the choice.
    """
    if not (own.free < 10 * own.n).any():
        return x[own.free] + draw(count), float(count)  # no body is unknown: nothing bends
    residuals, worth, enough = _Residuals(own, told, x), 0.0, max(_ENOUGH * count, 2.0 * LEAST_WORTH)
    theta, log = np.zeros((0, len(own.free))), np.zeros(0)
    for first in range(0, count, _TOGETHER):
        steps = draw(min(_TOGETHER, count - first))
        if not np.isfinite(steps).all():
            break
        with np.errstate(over="ignore", invalid="ignore"):
            more = residuals.move(steps)
        theta, log = np.concatenate([theta, more[0]]), np.concatenate([log, more[1]])
        if not np.isfinite(log).any():
            continue
        weight = np.exp(log - log.max())
        worth = float(np.sum(weight) ** 2 / np.sum(weight**2))
        if worth >= enough:
            break
    if worth < LEAST_WORTH:
        return x[own.free] + draw(count), worth
    # Systematic: a draw of weight w is chosen S w times, up to one more or less.
    ends = np.cumsum(weight / weight.sum())
    at = np.searchsorted(ends, (rng.random() + np.arange(count)) / count)
    return theta[rng.permutation(np.minimum(at, len(theta) - 1))], worth


class _Residuals:
    """F of log and prior, in coordinates theta of bodies (b) and others (l), of which F is linear."""

    def __init__(self, own: Parameters, told: LogInformation, x: Array) -> None:
        self._own, self._start, free = own, x[own.free], own.free
        bent = free < 10 * own.n  # all ten coordinates of a body, or none
        self._bodies, self._others = np.flatnonzero(bent), np.flatnonzero(~bent)
        self._sigma, self._mean = own.sigma[free], own.mean[free]
        self._told, self._equal = told, len(own.equalities(x))
        rows = self._equalities(x[None, free[bent]])[0, :, :-1]
        _, slope = own.linear(x)
        derivative = np.concatenate([told.root @ slope, np.diag(1.0 / self._sigma)])
        along = null_space(rows) if len(rows) else np.eye(len(self._bodies))
        both = np.concatenate([derivative[:, self._others], derivative[:, self._bodies] @ along], axis=1)
        basis, triangle = np.linalg.qr(both)
        count = len(self._others)
        self._ql, self._q = basis[:, :count], basis[:, count:]
        self._triangle = triangle[:count, :count]
        self._basis, self._derivative = basis, derivative

    def _theta(self, bodies: Array) -> Array:
        theta = np.tile(self._start, (len(bodies), 1))
        theta[:, self._bodies] = bodies
        return theta

    def _values(self, theta: Array) -> Array:
        """(S, r + p) F."""
        phi, own = theta.copy(), self._own
        every = own.inertia(self._constants(theta[:, self._bodies])).reshape(len(theta), -1)
        phi[:, self._bodies] = every[:, own.free[self._bodies]]
        return np.concatenate([phi @ self._told.root.T - self._told.target, (theta - self._mean) / self._sigma], axis=1)

    def _project(self, bodies: Array) -> Array:
        """(S, b) Q'F of the bodies, then the equalities' values."""
        inside = self._values(self._theta(bodies)) @ self._q
        return np.concatenate([inside, self._equalities(bodies)[..., -1]], axis=1)

    def _constants(self, bodies: Array) -> Array:
        """(S, P) x, but for what is not of bodies."""
        x = np.tile(self._own.mean, (len(bodies), 1))
        x[:, self._own.free[self._bodies]] = bodies
        return x

    def _equalities(self, bodies: Array) -> Array:
        """(S, e, b + 1) derivative by the bodies, and value, of what is to be zero."""
        return self._own.equalities(self._constants(bodies))[..., [*self._own.free[self._bodies], -1]]

    def _slopes(self, bodies: Array) -> Array:
        """(S, b, b) derivative of `_project`, transposed."""
        rows, at = len(self._told.root), self._own.free[self._bodies]
        told = self._told.root[:, self._bodies].T @ self._q[:rows]
        inside = told.shape[1]
        out = np.empty((len(bodies), *2 * (len(at),)))
        by = self._own.inertia_jacobian(self._constants(bodies)).swapaxes(-1, -2)
        for first in range(0, len(at), 10):
            own = slice(first, first + 10)
            each = by[:, at[first] // 10].reshape(-1, 10) @ told[own]
            out[:, own, :inside] = each.reshape(len(bodies), 10, inside)
        out[:, :, :inside] += (self._q[rows:][self._bodies] / self._sigma[self._bodies, None])[None]
        out[:, :, inside:] = self._equalities(bodies)[..., :-1].swapaxes(-1, -2)
        return out

    def move(self, steps: Array) -> tuple[Array, Array]:
        """(S, p) where steps (S, p) along the tangent lead, and the logarithm of their weights (S,)."""
        aim = (steps @ self._derivative.T + self._values(self._start[None])) @ self._basis
        count = len(self._others)
        target = np.concatenate([aim[:, count:], np.zeros((len(steps), self._equal))], axis=1)
        reach = _FARTHEST * self._sigma[self._bodies]
        first = self._start[self._bodies] + np.clip(steps[:, self._bodies], -reach, reach)
        bodies, determinant = self._solve(first, target)
        theta = self._theta(bodies)
        theta[:, self._others] = 0.0
        rest = aim[:, :count] - self._values(theta) @ self._ql
        theta[:, self._others] = solve_triangular(self._triangle, rest.T).T
        values, free = self._values(theta), self._own.free
        log = 0.5 * (np.sum((values @ self._basis) ** 2, axis=1) - np.sum(values**2, axis=1)) - determinant
        inside = np.all((theta >= self._own.lower[free]) & (theta <= self._own.upper[free]), axis=1)
        return theta, np.where(inside & np.isfinite(log), log, -np.inf)

    def _solve(self, bodies: Array, target: Array) -> tuple[Array, Array]:
        """Bodies (S, b) at which `_project` is the target (S, b), by Newton's method, and the logarithm of the
        slope's determinant there (S,), infinite where they were not found."""
        bodies, todo, logarithm = bodies.copy(), np.arange(len(bodies)), np.full(len(bodies), np.inf)
        off = target - self._project(bodies)
        for _ in range(_ITERATIONS):
            size = np.linalg.norm(off, axis=1)
            step, determinant = _solve_each(self._slopes(bodies[todo]), off)
            last = size <= _NEAR
            logarithm[todo[last]] = determinant[last]
            bodies[todo[last]] += step[last]
            todo, off, size, step = todo[~last], off[~last], size[~last], step[~last]
            if not len(todo):
                break
            step[~np.isfinite(step).all(axis=1)] = 0.0
            largest = np.abs(step / self._sigma[self._bodies]).max(axis=1, initial=0.0)
            step *= np.minimum(1.0, _LONGEST / np.maximum(largest, _LONGEST))[:, None]
            off = target[todo] - self._project(bodies[todo] + step)
            for _ in range(_HALVINGS):
                worse = np.flatnonzero(~(np.linalg.norm(off, axis=1) < size))
                if not len(worse):
                    break
                step[worse] *= 0.4
                off[worse] = target[todo[worse]] - self._project(bodies[todo[worse]] + step[worse])
            bodies[todo] += step
        return bodies, logarithm


def _solve_each(transposed: Array, right: Array) -> tuple[Array, Array]:
    """Solutions (S, b) of equations with matrices (S, b, b), which are overwritten, and their logarithms of |det| (S,).

    One decomposition serves both, and a transposed matrix is as LAPACK has it.
    """
    out, logarithm = right.copy(), np.empty(len(right))
    for k, matrix in enumerate(transposed):
        factors, _, out[k], singular = dgesv(matrix.T, right[k], overwrite_a=True)
        logarithm[k] = np.inf if singular else np.sum(np.log(np.abs(np.diagonal(factors))))
    return out, logarithm
