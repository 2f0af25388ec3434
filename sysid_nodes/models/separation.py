# SPDX-License-Identifier: Apache-2.0
"""Distances of bodies: a proof for a given direction, and quick distances with normals for a planner's penalties.

The proof (separation_lower_bound) is rigorous against rounding whatever direction it is given; the distances are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.kernel.closest_points import ways_out
from sysid_nodes.models.closest_point import closest_point
from sysid_nodes.models.solids import Solids

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_UNIT = 2.0**-53
_UNDERFLOW = 1e-300


def separation_lower_bound(
    direction: Array, centre: Array, generators: Array, radius: Array | float = 0.0, slack: Array | float = 0.0
) -> Array:
    """At most the distance of {centre + sum e_i g_i: |e_i| <= 1}, grown by a ball, from the origin.

    For every n, that set has no point nearer than (n . c - sum |n . g_i|) / |n|, less the ball's radius. With centre
    and generators of the difference of two bodies, and further generators for what is not known about their poses,
    this bounds the bodies' distance from below. Poor directions give poor bounds, never wrong ones.

    Rounding: n is normalised in floating point and what results is taken as the direction. Its length is 1 within 8 u
    (u = 2^-53). A dot product of k terms is off by at most k u / (1 - k u) times the sum of the terms' magnitudes in
    whatever order it is summed, and products that underflow add less than 1e-300 in all (Higham, Accuracy and
    Stability of Numerical Algorithms, section 3.1). The bound subtracts twice that and rounds every step down.

    Args:
        direction: (..., 3) any vector from the origin towards the set.
        centre: (..., 3) [m], taken as exact.
        generators: (..., G, 3) [m], taken as exact.
        radius: (...) of the ball: the two bodies' radii together [m].
        slack: (...) further error that may point anywhere, e.g. of rounding centre and generators [m].

    Returns:
        (...) [m], negative or zero where nothing is proven; minus infinite where an input is not finite or a direction
        is zero.

    Raises:
        InputError: a radius or a slack is negative.
    """
    if np.any(np.less(radius, 0.0)) or np.any(np.less(slack, 0.0)):
        raise InputError("a radius and a slack must not be negative")
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        n = direction / np.abs(direction).max(axis=-1, keepdims=True)
        n = n / np.sqrt((n * n).sum(axis=-1, keepdims=True))
        ahead = (n * centre).sum(axis=-1) - np.abs(np.einsum("...gk,...k->...g", generators, n)).sum(axis=-1)
        size = np.abs(n)
        magnitude = (size * np.abs(centre)).sum(axis=-1)
        magnitude = magnitude + np.einsum("...gk,...k->...g", np.abs(generators), size).sum(axis=-1)
        count = generators.shape[-2] + 8
        bound = _round_down(ahead - (2.0 * count * _UNIT * magnitude + _UNDERFLOW))
        bound = _round_down(bound - 16.0 * _UNIT * np.abs(bound))
        bound = _round_down(_round_down(bound - radius) - slack)
    return np.where(np.isfinite(bound), bound, -np.inf)


def _round_down(value: Array) -> Array:
    return np.asarray(np.nextafter(value, -np.inf))


@dataclass(frozen=True)
class Distances:
    """Of P pairs, each perhaps in a batch of poses, in plain floating point.

    Attributes:
        distance: (..., P) [m]; where bodies overlap, minus the shortest way out.
        normal: (..., P, 3) unit vector out of the second body, the distance's gradient by the first one's position.
        point: (..., P, 3) of the first body, where they touch or would: normal . (velocity of the first body there)
            is the distance's rate while the second one rests [m].
    """

    distance: Array
    normal: Array
    point: Array


def distances(first: Solids, second: Solids, pairs: Indices, *, beyond: float = np.inf) -> Distances:
    """Distances with their gradients.

    Args:
        first, second: bodies; poses in a batch (N, S, ...) each, or in a single pose.
        pairs: (P, 2) which body of the first is compared with which of the second.
        beyond: pairs whose bounding balls are this far apart get the balls' distance and normal [m].
    """
    one, two = np.asarray(pairs, dtype=np.intp).reshape(-1, 2).T
    centre = first.centre[..., one, :] - second.centre[..., two, :]
    length = np.linalg.norm(centre, axis=-1)
    distance = np.asarray(length - (first.reach[one] + second.reach[two]))
    normal = np.divide(centre, length[..., None], out=np.zeros_like(centre), where=length[..., None] > 0.0)
    normal[length == 0.0, 2] = 1.0
    point = np.asarray(first.centre[..., one, :] - first.reach[one][:, None] * normal)
    near = np.nonzero(distance < beyond)
    if not near[0].size:
        return Distances(distance, normal, point)
    body, other = one[near[-1]], two[near[-1]]
    place, generators_first = _select(first, near, body)
    generators = np.concatenate([generators_first, _select(second, near, other)[1]], axis=1)
    close = closest_point(centre[near], generators, tolerance=1e-6)
    gap, out = close.upper.copy(), close.direction.copy()
    if (meet := np.flatnonzero(close.lower <= 0.0)).size:
        gap[meet], out[meet] = _way_out(centre[near][meet], generators[meet])
    radius = first.radius[body]
    count = generators_first.shape[1]
    contact = place - radius[:, None] * out
    contact += np.einsum("ng,ngk->nk", close.coefficients[:, :count], generators_first)
    distance[near] = gap - (radius + second.radius[other])
    normal[near], point[near] = out, contact
    return Distances(distance, normal, point)


def _select(solids: Solids, near: tuple[Indices, ...], body: Indices) -> tuple[Array, Array]:
    """Centres (M, 3) and generators (M, G, 3) of each near pair's body, in that pair's pose."""
    where = (*near[:-1], body) if solids.centre.ndim > 2 else (body,)
    return solids.centre[where], solids.generators[where]


def _way_out(centre: Array, generators: Array) -> tuple[Array, Array]:
    """Minus the shortest translation (N,) that takes the origin out of zonotopes, and its direction (N, 3).

    It leads out through a facet, and the facets' normals are among the generators' cross products.
    """
    compiled = ways_out(centre, generators)
    if compiled is not None:
        return compiled
    depth = np.full(len(centre), np.inf)
    # Points and segments in line share no volume: any direction across the longest generator will do.
    out = np.tile([0.0, 0.0, 1.0], (len(centre), 1))
    if generators.shape[1]:
        lengths = np.linalg.norm(generators, axis=2)
        longest = generators[np.arange(len(centre)), lengths.argmax(axis=1)]
        across = np.cross(longest, np.eye(3)[np.abs(longest).argmin(axis=1)])
        size = np.linalg.norm(across, axis=1, keepdims=True)
        out = np.where(size > 0.0, across / np.where(size > 0.0, size, 1.0), out)
    for i in range(generators.shape[1]):
        for j in range(i):
            normal = np.cross(generators[:, i], generators[:, j])
            length = np.linalg.norm(normal, axis=1)
            scale = np.linalg.norm(generators[:, i], axis=1) * np.linalg.norm(generators[:, j], axis=1)
            valid = length > 1e-9 * scale
            unit = np.divide(normal, length[:, None], out=np.zeros_like(normal), where=valid[:, None])
            along = (unit * centre).sum(axis=1)
            inside = np.abs(np.einsum("ngk,nk->ng", generators, unit)).sum(axis=1) - np.abs(along)
            take = valid & (inside < depth)
            depth = np.where(take, inside, depth)
            out[take] = (np.where(along < 0.0, -1.0, 1.0)[:, None] * unit)[take]
    return -np.where(np.isfinite(depth), depth, 0.0), out
