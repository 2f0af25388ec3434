# SPDX-License-Identifier: Apache-2.0
"""Triangles of simple bodies, to be drawn: boxes, balls, rods, hulls, and a dumbbell."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

Array = npt.NDArray[np.float64]

_ROUND = 16  # sides of what is round


def box(centre: Array, rotation: Array, half: Array) -> Array:
    """(12, 3, 3) triangles [m]; half (3,) extents along the columns of rotation (3, 3)."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    return hull(np.asarray(centre) + (signs * half) @ np.asarray(rotation).T)


def ball(centre: Array, radius: float) -> Array:
    """(T, 3, 3) triangles of a sphere [m]."""
    return np.asarray(centre) + radius * _UNIT_BALL


def rod(start: Array, end: Array, radius: float, end_radius: float | None = None) -> Array:
    """(T, 3, 3) triangles of a cone frustum between two points, its ends closed [m]."""
    axis = np.asarray(end) - np.asarray(start)
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        return np.zeros((0, 3, 3))
    across = np.linalg.svd(axis[None] / length)[2][1:]
    angle = 2.0 * np.pi * np.arange(_ROUND) / _ROUND
    ring = np.cos(angle)[:, None] * across[0] + np.sin(angle)[:, None] * across[1]
    return hull(np.vstack([start + radius * ring, end + (radius if end_radius is None else end_radius) * ring]))


def capsule(start: Array, end: Array, radius: float) -> Array:
    """(T, 3, 3) triangles of a rod with round ends [m]."""
    return np.concatenate([rod(start, end, radius), ball(start, radius), ball(end, radius)])


def hull(points: Array) -> Array:
    """(T, 3, 3) triangles around points (N, 3), their corners counter-clockwise from outside; none for a flat set."""
    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        return np.zeros((0, 3, 3))
    triangles = points[found.simplices]
    outward = np.einsum("ti,ti->t", _normals(triangles), found.equations[:, :3]) >= 0.0
    return np.where(outward[:, None, None], triangles, triangles[:, ::-1])


def zonotope(centre: Array, generators: Array) -> Array:
    """(T, 3, 3) triangles of {centre + sum e_i g_i, |e_i| <= 1}, generators (G, 3) [m]."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(generators))))
    return hull(np.asarray(centre) + signs @ generators)


def dumbbell(centre: Array, rotation: Array, half: Array) -> Array:
    """(T, 3, 3) triangles of a dumbbell that fills a box, along the box's longest side [m].

    Args:
        centre, rotation, half: of the box, as for `box`.
    """
    half = np.asarray(half, dtype=np.float64)
    longest = int(np.argmax(half))
    axis = np.asarray(rotation)[:, longest]
    radius, reach = float(np.delete(half, longest).min()), float(half[longest])
    parts = [rod(centre - 0.9 * reach * axis, centre + 0.9 * reach * axis, 0.3 * radius)]
    for side in (-1.0, 1.0):
        inner, outer = centre + 0.55 * side * reach * axis, centre + side * reach * axis
        parts += [rod(inner, outer, radius)]
    return np.concatenate(parts)


def _normals(triangles: Array) -> Array:
    a, b, c = np.moveaxis(triangles, 1, 0)
    return np.asarray(np.cross(b - a, c - a))


def _unit_ball() -> Array:
    azimuth = 2.0 * np.pi * np.arange(_ROUND) / _ROUND
    polar = np.pi * np.arange(1, _ROUND // 2) / (_ROUND // 2)
    ring = np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
    rings = [np.column_stack([np.sin(angle) * ring, np.full(_ROUND, np.cos(angle))]) for angle in polar]
    return hull(np.vstack([*rings, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]]))


_UNIT_BALL = _unit_ball()
