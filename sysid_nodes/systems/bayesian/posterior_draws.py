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

A log tells far less of bodies than they have coordinates. In units u of the prior, the others eliminated and along the
equalities, let A = U S V' be its derivative at the estimate, and B its rows times S^-1 U'. Then Q'F has the value that
it is to have where, with G across the equalities,

    u = linear u - V d + G s,    B (linear phi - phi(u)) + S^-2 d = 0,    equalities(u) = 0,

for as many d as directions are told and as many s as there are equalities; the derivative of these equations has the
determinant that is wanted, but for a constant, and so has (Q'F)^2 - F^2 in closed form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space, solve_triangular
from scipy.linalg.lapack import dgesv

from sysid_nodes.data.inertia import log_cholesky_jacobian, log_cholesky_to_parameters
from sysid_nodes.systems.bayesian.estimate import LogInformation
from sysid_nodes.systems.bayesian.parameters import Parameters

Array = npt.NDArray[np.float64]

LEAST_WORTH = 50.0
"""Draws that the moved ones have to be worth: with fewer the first-order posterior is no place to begin from."""

_ENOUGH = 0.05  # of the draws that are asked for, at least twice LEAST_WORTH: worth as many, they end the search
_TOGETHER = 125  # are moved at once
_CHORDS = 4  # steps by the derivative at the estimate, which all draws share
_ITERATIONS, _HALVINGS = 10, 2
_LEFT = 0.7  # of what is missed after a step, from which on there is nothing to be found: where something is, a fourth
_NEAR = 1e-3  # standard deviations from which the next step of Newton's method is the last: it leaves their square
_UNTOLD = 1e-3  # of the prior's own word: what a log says of a direction with less is nothing
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
    residuals = _Residuals(own, told, x) if (own.free < 10 * own.n).any() else None
    if residuals is None or not residuals.unknowns:
        return x[own.free] + draw(count), float(count)  # no body is unknown, or told: nothing bends
    worth, enough = 0.0, max(_ENOUGH * count, 2.0 * LEAST_WORTH)
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
    """F of log and prior, of bodies (b) and of others (l), in which it is linear; all in units of the prior."""

    def __init__(self, own: Parameters, told: LogInformation, x: Array) -> None:
        self._own, free = own, own.free
        bent = free < 10 * own.n  # all ten coordinates of a body, or none
        self._bodies, self._others = np.flatnonzero(bent), np.flatnonzero(~bent)
        self._sigma, self._mean = own.sigma[free], own.mean[free]
        self._start = (x[free] - self._mean) / self._sigma
        begin, count, rows = self._start[bent], len(self._others), len(told.root)
        self._equal = bool(len(own.equalities(x)))
        self._phi, self._slope = self._inertia(begin[None])[0], self._slopes(begin[None], np.eye(len(begin)))[0].T
        across = self._equalities(begin[None])[0, :, :-1]
        along = null_space(across) if len(across) else np.eye(len(begin))
        self._across = null_space(along.T)
        root, straight = told.root[:, self._bodies], told.root[:, self._others] * self._sigma[self._others]
        basis, triangle = np.linalg.qr(np.concatenate([straight, np.eye(count)]), mode="complete")
        self._carry = solve_triangular(triangle[:count], basis[:rows, :count].T @ root)
        left = basis[:rows, count:].T
        turn, size, ways = np.linalg.svd(left @ root @ self._slope @ along, full_matrices=False)
        there = size > _UNTOLD
        back = (turn[:, there].T @ left) / size[there, None]
        self._size, self._ways, self._rows = size[there], along @ ways[there].T, back @ root
        self._target = back @ (told.target - told.root[:, self._others] @ self._mean[self._others])

    @property
    def unknowns(self) -> int:
        """Of the equations: directions of bodies that are told, and equalities."""
        return len(self._size) + int(self._across.shape[1])

    def _vectors(self, bodies: Array) -> Array:
        """(S, B, 10) log-Cholesky vectors of the B bodies that are unknown."""
        at = self._bodies
        return np.asarray((self._mean[at] + self._sigma[at] * bodies).reshape(len(bodies), len(at) // 10, 10))

    def _inertia(self, bodies: Array) -> Array:
        """(S, b) phi."""
        return np.asarray(log_cholesky_to_parameters(self._vectors(bodies)).reshape(bodies.shape))

    def _slopes(self, bodies: Array, ways: Array) -> Array:
        """(S, m, b) derivatives of phi along ways (b, m)."""
        by = log_cholesky_jacobian(self._vectors(bodies)).swapaxes(-1, -2)
        along = (ways * self._sigma[self._bodies, None]).reshape(by.shape[1], 10, -1)
        out = np.empty((len(bodies), ways.shape[1], len(ways)))
        for i, own in enumerate(along):
            out[:, :, 10 * i : 10 * i + 10] = own.T @ by[:, i]
        return out

    def _equalities(self, bodies: Array) -> Array:
        """(S, e, b + 1) derivative by the bodies, and value, of what is to be zero."""
        if not self._equal:
            return np.zeros((len(bodies), 0, bodies.shape[1] + 1))
        x, at = np.tile(self._own.mean, (len(bodies), 1)), self._own.free[self._bodies]
        x[:, at] = self._vectors(bodies).reshape(bodies.shape)
        found = self._own.equalities(x)[..., [*at, -1]]
        found[..., :-1] *= self._sigma[self._bodies]
        return found

    def move(self, steps: Array) -> tuple[Array, Array]:
        """(S, p) where steps (S, p) along the tangent lead, and the logarithm of their weights (S,)."""
        scaled, own = steps / self._sigma, self._own
        linear = self._phi + scaled[:, self._bodies] @ self._slope.T
        u = self._start + scaled
        bodies, determinant = self._solve(u[:, self._bodies], linear)
        phi = self._inertia(bodies)
        u[:, self._bodies] = bodies
        u[:, self._others] += (linear - phi) @ self._carry.T
        told = self._size * (phi @ self._rows.T - self._target)
        short = (told - self._size * (bodies @ self._ways)) / np.hypot(1.0, self._size)
        log = -0.5 * (np.sum(short**2, axis=1) + np.sum((bodies @ self._across) ** 2, axis=1)) - determinant
        theta = self._mean + self._sigma * u
        inside = np.all((theta >= own.lower[own.free]) & (theta <= own.upper[own.free]), axis=1)
        return theta, np.where(inside & np.isfinite(log), log, -np.inf)

    def _off(self, bodies: Array, first: Array, linear: Array) -> Array:
        """(S, d + s) by which the equations are missed at bodies (S, b); a linear phi (S, b) would meet them first."""
        missed = (linear - self._inertia(bodies)) @ self._rows.T + (first - bodies) @ self._ways / self._size**2
        return -np.concatenate([missed, self._equalities(bodies)[..., -1]], axis=1)

    def _derivatives(self, bodies: Array, ways: Array) -> Array:
        """(S, d + s, d + s) of the equations by steps along ways (b, d + s), transposed."""
        by_told, by_value = self._slopes(bodies, ways) @ -self._rows.T, self._equalities(bodies)[..., :-1] @ ways
        each = np.arange(len(self._size))
        by_told[:, each, each] += self._size**-2.0
        return np.concatenate([by_told, by_value.swapaxes(-1, -2)], axis=2)

    def _solve(self, first: Array, linear: Array) -> tuple[Array, Array]:
        """Bodies (S, b) that meet the equations, by Newton's method, and the logarithm of their derivative's
        determinant there (S,), infinite where they were not found."""
        bodies, todo, logarithm = first.copy(), np.arange(len(first)), np.full(len(first), np.inf)
        ways = np.concatenate([-self._ways, self._across], axis=1)
        scale = np.concatenate([self._size, np.ones(self._across.shape[1])])
        off = self._off(bodies, first, linear)
        common = self._derivatives(self._start[None, self._bodies], ways)[0].T
        for _ in range(_CHORDS):
            near = bodies + _shorten(np.linalg.solve(common, off.T).T @ ways.T)
            missed = self._off(near, first, linear)
            better = np.linalg.norm(scale * missed, axis=1) < np.linalg.norm(scale * off, axis=1)
            bodies[better], off[better] = near[better], missed[better]
        for _ in range(_ITERATIONS):
            size = np.linalg.norm(scale * off, axis=1)
            solved, determinant = _solve_each(self._derivatives(bodies[todo], ways), off)
            step, last = solved @ ways.T, size <= _NEAR
            logarithm[todo[last]] = determinant[last]
            bodies[todo[last]] += step[last]
            todo, size, step = todo[~last], size[~last], step[~last]
            step = _shorten(step)
            off = self._off(bodies[todo] + step, first[todo], linear[todo])
            for _ in range(_HALVINGS):
                worse = np.flatnonzero(~(np.linalg.norm(scale * off, axis=1) < size))
                step[worse] *= 0.4
                at = todo[worse]
                off[worse] = self._off(bodies[at] + step[worse], first[at], linear[at])
            bodies[todo] += step
            on = np.linalg.norm(scale * off, axis=1) < _LEFT * size
            todo, off = todo[on], off[on]
            if not len(todo):
                break
        return bodies, logarithm


def _shorten(step: Array) -> Array:
    """Steps (S, b) none of which is too long for a linear model; zero where they are not finite."""
    finite = np.where(np.isfinite(step).all(axis=1, keepdims=True), step, 0.0)
    largest = np.abs(finite).max(axis=1, initial=0.0, keepdims=True)
    return np.asarray(finite * np.minimum(1.0, _LONGEST / np.maximum(largest, _LONGEST)))


def _solve_each(transposed: Array, right: Array) -> tuple[Array, Array]:
    """Solutions (S, b) of equations with matrices (S, b, b), which are overwritten, and their logarithms of |det| (S,).

    One decomposition serves both, and a transposed matrix is as LAPACK has it.
    """
    out, pivots = right.copy(), np.empty(right.shape)
    for k, matrix in enumerate(transposed):
        factors, _, out[k], singular = dgesv(matrix.T, right[k], overwrite_a=True)
        pivots[k] = np.inf if singular else factors.diagonal()
    return out, np.log(np.abs(pivots)).sum(axis=1)
