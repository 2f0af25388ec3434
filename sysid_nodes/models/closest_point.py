# SPDX-License-Identifier: Apache-2.0
"""The point of a zonotope that is closest to the origin, for many zonotopes at once, in floating point.

Two bodies {c_a + sum e_i g_i} and {c_b + sum e_j h_j} are as far apart as the zonotope of centre c_a - c_b and
generators (g, h) is from the origin, so this is all that a distance between bodies without roundings takes. It
proposes; what proves a distance is separation.separation_lower_bound, with any direction found here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.closest_points import closest_points

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

TINY = 1e-12
"""A closest point nearer than this, relative to the zonotope's size, is the origin itself."""

_NOTHING = 1e-290  # squares and determinants below are not divided by
_SWEEPS = 2
_SUBSETS = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))


@dataclass(frozen=True)
class ClosestPoint:
    """Closest points of N zonotopes, the distance between two bounds that hold up to rounding.

    Attributes:
        point: (N, 3) a point of the zonotope [m].
        coefficients: (N, G) e with point = centre + sum e_i g_i.
        direction: (N, 3) unit vector along which the zonotope lies ``lower`` in front of the origin.
        lower: (N,) [m] at most the distance; negative where no direction was found that separates.
        upper: (N,) |point| [m], at least the distance.
    """

    point: Array
    coefficients: Array
    direction: Array
    lower: Array
    upper: Array


def closest_point(
    centre: Array,
    generators: Array,
    *,
    enough: Array | float = np.inf,
    tolerance: float = 1e-9,
    max_iterations: int = 40,
    kernel: str = "",
) -> ClosestPoint:
    """Closest points by a few sweeps of coordinate descent, then Gilbert, Johnson and Keerthi's method.

    The sweeps alone solve a sphere or a capsule against a box, and most pairs that are far apart. Gilbert's method
    works on the convex hull of the points seen so far, at most four of them, and ends after finitely many steps.

    Args:
        centre: (N, 3) [m].
        generators: (N, G, 3) [m]; zero generators have no effect.
        enough: (N,) stop early where a distance of this much is found [m].
        tolerance: stop where the two bounds agree to this much, relative to the distance.
        max_iterations: of Gilbert's method.
        kernel: "compiled" or "reference"; empty for the best there is.
    """
    enough = np.broadcast_to(np.asarray(enough, dtype=np.float64), (len(centre),))
    compiled = closest_points(centre, generators, enough, tolerance, max_iterations, kernel=kernel)
    if compiled is not None:
        point, e, direction, lower = compiled
        return ClosestPoint(point, e, direction, lower, np.sqrt((point * point).sum(axis=1)))
    c, g = np.ascontiguousarray(centre.T), np.ascontiguousarray(generators.transpose(1, 2, 0))
    size = np.sqrt(_dot(c, c)) + np.sqrt((g * g).sum(axis=1)).sum(axis=0)
    problem = _Problem(c, g, size, enough, tolerance)
    point, e = _sweep(c, g)
    lower, direction = _height(point, c, g)
    found = _Found(point, e, direction, lower)
    if (left := np.flatnonzero(problem.unsolved_mask(lower, point))).size:
        _gilbert(problem, found, left, max_iterations)
    upper = np.sqrt(_dot(point, point))
    return ClosestPoint(point.T.copy(), e.T.copy(), direction.T.copy(), lower, upper)


@dataclass(frozen=True)
class _Problem:
    """N zonotopes, one a column, which makes NumPy's passes over memory long and straight."""

    c: Array
    g: Array
    size: Array
    enough: Array
    tolerance: float

    def unsolved_mask(self, lower: Array, point: Array) -> Mask:
        """Mask of those whose distance is not yet known."""
        upper = np.sqrt(_dot(point, point))
        known = (upper - lower <= self.tolerance * upper) | (lower >= self.enough) | (upper <= TINY * self.size)
        return np.asarray(~known)

    def take(self, columns: Mask | npt.NDArray[np.intp]) -> _Problem:
        return _Problem(
            self.c[:, columns], self.g[:, :, columns], self.size[columns], self.enough[columns], self.tolerance
        )


@dataclass(frozen=True)
class _Found:
    """The best so far, written into: point (3, N), coefficients (G, N), direction (3, N) and lower (N,)."""

    point: Array
    e: Array
    direction: Array
    lower: Array


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def _sweep(c: Array, g: Array) -> tuple[Array, Array]:
    """Minimises |c + sum e_i g_i| over one coefficient after another."""
    point, e = c.copy(), np.zeros((len(g), c.shape[1]))
    squared = (g * g).sum(axis=1)
    inverse = np.divide(1.0, squared, out=np.zeros_like(squared), where=squared > _NOTHING)
    for _ in range(_SWEEPS):
        for i in range(len(g)):
            old = e[i].copy()
            np.clip(old - _dot(g[i], point) * inverse[i], -1.0, 1.0, out=e[i])
            point += (e[i] - old) * g[i]
    return point, e


def _support(direction: Array, c: Array, g: Array) -> tuple[Array, Array]:
    """The zonotope's point that comes first along a direction, and its coefficients."""
    along = g[:, 0] * direction[0] + g[:, 1] * direction[1] + g[:, 2] * direction[2]
    e = np.where(along > 0.0, -1.0, 1.0)
    return c + (e[:, None] * g).sum(axis=0), e


def _height(point: Array, c: Array, g: Array) -> tuple[Array, Array]:
    """How far the zonotope lies in front of the origin along the unit vector to a point, and that vector."""
    length = np.sqrt(_dot(point, point))
    unit = np.divide(point, length, out=np.zeros_like(point), where=length > 0.0)
    unit[2] = np.where(length > 0.0, unit[2], 1.0)
    return _dot(unit, _support(unit, c, g)[0]), unit


def _gilbert(problem: _Problem, found: _Found, left: npt.NDArray[np.intp], max_iterations: int) -> None:
    """Improves the columns of ``found`` that ``left`` names."""
    problem, v = problem.take(left), found.point[:, left]
    # Three points of each zonotope whose hull holds v, with their coefficients; unused places are masked.
    y, ey = np.zeros((3, *v.shape)), np.zeros((3, len(problem.g), left.size))
    y[0], ey[0] = v, found.e[:, left]
    used = np.zeros((3, left.size), dtype=np.bool_)
    used[0] = True
    for _ in range(max_iterations):
        w, ew = _support(v, problem.c, problem.g)
        mu, nearest, inside = _nearest_of_hull(w, y, used)
        better = _dot(nearest, nearest) < _dot(v, v) * (1.0 - 1e-15)
        v = np.where(better, nearest, v)
        e = (1.0 - mu.sum(axis=0)) * ew + (mu[:, None] * ey).sum(axis=0)
        found.point[:, left] = v
        found.e[:, left] = np.where(better, e, found.e[:, left])
        height, unit = _height(v, problem.c, problem.g)
        higher = height > found.lower[left]
        found.lower[left] = np.where(higher, height, found.lower[left])
        found.direction[:, left] = np.where(higher, unit, found.direction[:, left])
        # The new point takes the place of one without weight; where all four have some, the hull holds the origin.
        used = mu > 0.0
        slot, columns = np.argmin(used, axis=0), np.arange(left.size)
        y[slot, :, columns], ey[slot, :, columns] = w.T, ew.T
        used[slot, columns] = True
        go = better & ~inside & problem.unsolved_mask(found.lower[left], v)
        if not go.any():
            return
        if not go.all():
            left, problem, v = left[go], problem.take(go), v[:, go]
            y, ey, used = y[:, :, go], ey[:, :, go], used[:, go]


def _nearest_of_hull(w: Array, y: Array, used: Mask) -> tuple[Array, Array, Mask]:
    """The point closest to the origin in the hull of w (3, N) and the used ones of y (3, 3, N).

    Every subset of y together with w is tried: where the minimum over the affine hull has weights of one sign, it is a
    candidate, and the shortest candidate wins.

    Returns:
        Weights (3, N) of y, w having the rest; the point (3, N); where all four points carry weight.
    """
    a = y - w
    b = np.array([-_dot(a[i], w) for i in range(3)])
    m = [[_dot(a[i], a[j]) for j in range(3)] for i in range(3)]
    weights, best = np.zeros_like(b), w
    shortest = _dot(w, w)
    inside = np.zeros(shortest.shape, dtype=np.bool_)
    for subset in _SUBSETS[1:]:
        solution, regular = _solve(m, b, subset)
        valid = regular & used[list(subset)].all(axis=0) & (solution > 0.0).all(axis=0) & (solution.sum(axis=0) < 1.0)
        if not valid.any():
            continue
        candidate = w + sum((solution[k] * a[i] for k, i in enumerate(subset)), start=np.zeros_like(w))
        squared = _dot(candidate, candidate)
        take = valid & (squared < shortest)
        shortest = np.where(take, squared, shortest)
        best = np.where(take, candidate, best)
        trial = np.zeros_like(weights)
        trial[list(subset)] = solution
        weights = np.where(take, trial, weights)
        if len(subset) == 3:
            inside = take
    return weights, best, inside


def _solve(m: list[list[Array]], b: Array, subset: tuple[int, ...]) -> tuple[Array, Mask]:
    """Cramer's rule for the normal equations of a subset, and where they are regular."""
    if len(subset) == 1:
        (i,) = subset
        determinant, scale = m[i][i], m[i][i]
        numerators = [b[i]]
    elif len(subset) == 2:
        i, j = subset
        scale = m[i][i] * m[j][j]
        determinant = scale - m[i][j] * m[i][j]
        numerators = [b[i] * m[j][j] - b[j] * m[i][j], b[j] * m[i][i] - b[i] * m[i][j]]
    else:
        c00 = m[1][1] * m[2][2] - m[1][2] * m[1][2]
        c01 = m[0][2] * m[1][2] - m[0][1] * m[2][2]
        c02 = m[0][1] * m[1][2] - m[0][2] * m[1][1]
        c11 = m[0][0] * m[2][2] - m[0][2] * m[0][2]
        c12 = m[0][1] * m[0][2] - m[0][0] * m[1][2]
        c22 = m[0][0] * m[1][1] - m[0][1] * m[0][1]
        scale = m[0][0] * m[1][1] * m[2][2]
        determinant = m[0][0] * c00 + m[0][1] * c01 + m[0][2] * c02
        numerators = [
            c00 * b[0] + c01 * b[1] + c02 * b[2],
            c01 * b[0] + c11 * b[1] + c12 * b[2],
            c02 * b[0] + c12 * b[1] + c22 * b[2],
        ]
    regular = determinant > 1e-14 * scale + _NOTHING
    inverse = np.divide(1.0, determinant, out=np.zeros_like(determinant), where=regular)
    return np.array(numerators) * inverse, np.asarray(regular)
