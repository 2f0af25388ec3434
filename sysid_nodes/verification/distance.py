# SPDX-License-Identifier: Apache-2.0
"""Least distances of the robot and its load to obstacles and to one another.

Every shape is a zonotope with a radius, and so is the difference of two. Their distance in the middle of a part is at
least the length of that difference along any direction. The one to its nearest point is the best; minimising over one
generator after another comes close to it.
What moves along that direction within the part, and by errors, comes off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.chain import Chain, rotation_about
from sysid_nodes.verification.desired import Parts
from sysid_nodes.verification.errors import Errors
from sysid_nodes.verification.spread import cross

Array = npt.NDArray[np.float64]

FAR = 0.25
"""Distances count up to this [m], as in certificates."""

_STEPS, _CLOSE, _MEET = 4000, 1e-4, 1e-6
"""Steps to the direction at most, how near to the best a distance is to be, and below what shapes meet [m]."""
_LOST = 1e-9
"""Rounding of lengths of some metres is much less [m]."""


@dataclass(frozen=True)
class Shape:
    """{centre + sum x_k g_k + b, |x_k| <= 1, |b| <= radius} in the frame of a joint; -1 is the base.

    Attributes:
        centre, generators: (3,) and (G, 3) [m].
        load: whether it is of what the robot carries.
    """

    joint: int
    centre: Array
    generators: Array
    radius: float
    load: bool = False


def robot_shape(fields: Mapping[str, Any], names: Sequence[str]) -> Shape:
    """A shape of the robot or its load."""
    joint = -1 if fields["frame"] == "universe" else list(names).index(fields["frame"])
    axes, size = np.array(fields["rotation"]).T, np.array(fields["size"])
    generators, radius = _body(fields["kind"], axes, size)
    return Shape(joint, np.array(fields["position"]), generators, radius, bool(fields["load"]))


def obstacle_shape(fields: Mapping[str, Any]) -> Shape:
    """An obstacle: full extents, a capsule by the distance of its ends."""
    kind, size = fields["kind"], np.array(fields["size"])
    if kind == "zonotope":
        return Shape(-1, np.array(fields["position"]), np.array(fields["generators"]).reshape(-1, 3), 0.0)
    x, y, z, w = np.array(fields["quaternion"]) / np.sqrt((np.array(fields["quaternion"]) ** 2).sum())
    vector = np.array([x, y, z])
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    axes = ((w * w - vector @ vector) * np.eye(3) + 2.0 * np.outer(vector, vector) + 2.0 * w * skew).T
    half = {"box": size / 2.0, "capsule": size * [1.0, 0.5] if len(size) == 2 else size, "sphere": size}[kind]
    generators, radius = _body(kind, axes, half)
    return Shape(-1, np.array(fields["position"]), generators, radius)


def _body(kind: str, axes: Array, size: Array) -> tuple[Array, float]:
    if kind == "box":
        return size[:, None] * axes, _LOST
    if kind == "capsule":
        return size[1] * axes[2:], float(size[0]) + _LOST
    return np.zeros((0, 3)), float(size[0])


def obstacle_distances(
    chain: Chain, parts: Parts, error: Errors, shapes: Sequence[Shape], obstacles: Sequence[Shape]
) -> float:
    """Least distance of what moves from any obstacle, at most FAR; infinite without either [m]."""
    places = joint_frames(chain, parts)
    least = np.inf
    for shape in shapes:
        if shape.joint >= 0:
            for obstacle in obstacles:
                distance, way = separation(places, obstacle, shape)
                strayed = _displacement_bound(chain, parts, error, places, way, shape, -1)
                least = min(least, FAR, float((distance - strayed).min()) - _LOST)
    return least


def self_distances(
    chain: Chain,
    parts: Parts,
    error: Errors,
    shapes: Sequence[Shape],
    overlap: Sequence[Sequence[str]] | None,
) -> float:
    """Least distance of parts of the robot and its load from one another, at most FAR; infinite without a pair [m].

    Not kept apart are those of one body and, the load apart, those of bodies that meet by design: as listed or, where
    nothing is, neighbours.
    """
    places, names = joint_frames(chain, parts), ["universe", *chain.names]
    listed = None if overlap is None else {frozenset(names.index(name) - 1 for name in pair) for pair in overlap}
    least = np.inf
    for a, one in enumerate(shapes):
        for two in shapes[:a]:
            low, high = sorted((one, two), key=lambda shape: shape.joint)
            pair = {low.joint, high.joint}
            design = high.joint - low.joint == 1 if listed is None else frozenset(pair) in listed
            if len(pair) == 2 and (low.load or high.load or not design):
                distance, way = separation(places, low, high)
                strayed = _displacement_bound(chain, parts, error, places, way, high, low.joint)
                least = min(least, FAR, float((distance - strayed).min()) - _LOST)
    return least


def joint_frames(chain: Chain, parts: Parts) -> list[tuple[Array, Array]]:
    """Rotation (P, 3, 3) and place (P, 3) of the base, then of every joint, in the middle of each part."""
    count = len(parts.length)
    turn, place = np.broadcast_to(np.eye(3), (count, 3, 3)), np.zeros((count, 3))
    found = [(turn, place)]
    for j in range(len(chain.names)):
        place = place + turn @ chain.place[j]
        turn = turn @ chain.turn[j] @ rotation_about(chain.axis[j], parts.q[:, j])
        found.append((turn, place))
    return found


def _displacement_bound(
    chain: Chain,
    parts: Parts,
    error: Errors,
    places: Sequence[tuple[Array, Array]],
    way: Array,
    shape: Shape,
    fixed: int,
) -> Array:
    """(P,) how far a shape can be from its place in the middle along directions (P, 3), seen from joint ``fixed``.

    A joint's turn by x moves a point by x z cross its lever, but for half the squared angle of all times the longest.
    """
    turn, place = places[shape.joint + 1]
    centre, generators = place + turn @ shape.centre, [turn @ generator for generator in shape.generators]
    longest = np.sqrt((shape.centre**2).sum()) + np.sqrt((shape.generators**2).sum(axis=1)).sum()
    slope, between = np.zeros((len(chain.names), len(centre))), np.zeros(len(chain.names))
    for j in range(shape.joint, fixed, -1):
        turn, place = places[j + 1]
        axis, between[j] = turn @ chain.axis[j], 1.0
        slope[j] = np.abs(_dots(way, cross(axis, centre - place)))
        for generator in generators:
            slope[j] += np.abs(_dots(way, cross(axis, generator)))
        longest += np.sqrt((chain.place[j] ** 2).sum())
    angle = error.weighted_sum(between) + parts.q_off @ between
    moved = error.along(slope) + (slope.T * parts.q_off).sum(axis=1) + 0.5 * angle**2 * longest
    return np.asarray(moved * (1.0 + 1e-9))


def separation(places: Sequence[tuple[Array, Array]], one: Shape, two: Shape) -> tuple[Array, Array]:
    """(P,) lower bounds of the distance of two shapes in the middle of the parts, and (P, 3) along which directions."""
    centre, generators = np.zeros((len(places[0][1]), 3)), []
    for sign, shape in ((-1.0, one), (1.0, two)):
        turn, place = places[shape.joint + 1]
        centre = centre + sign * (place + turn @ shape.centre)
        generators += [turn @ generator for generator in shape.generators]
    squares = [max(float(g @ g), 1e-300) for g in (*one.generators, *two.generators)]
    spread = np.array(generators).reshape(-1, *centre.shape)
    best, way = np.full(len(centre), -np.inf), np.zeros_like(centre)
    # Of the parts that are still open: the difference's middle and generators, their weights, its nearest point.
    open_, middle, own = np.arange(len(centre)), centre, spread
    weight, point = np.zeros(spread.shape[:2]), centre.copy()
    for _ in range(_STEPS):
        length = np.sqrt(_dots(point, point))
        unit = point / np.maximum(length, 1e-12)[:, None]
        along = np.array([_dots(generator, unit) for generator in own]).reshape(weight.shape)
        free = _dots(middle, unit) - np.abs(along).sum(axis=0)
        better = (free > best[open_]) & (length > 1e-9)  # no direction, no bound
        way[open_[better]], best[open_[better]] = unit[better], free[better]
        left = (length - best[open_] > _CLOSE) & (best[open_] < FAR + one.radius + two.radius) & (length > _MEET)
        if not left.any():
            break
        if not left.all():
            open_, middle, own, weight, point = open_[left], middle[left], own[:, left], weight[:, left], point[left]
        for k, generator in enumerate(own):
            fitting = np.clip(weight[k] - _dots(point, generator) / squares[k], -1.0, 1.0)
            point += (fitting - weight[k])[:, None] * generator
            weight[k] = fitting
    return best - one.radius - two.radius, way


def _dots(one: Array, two: Array) -> Array:
    """(P,) dot products of vectors (P, 3)."""
    return np.asarray(np.einsum("pi,pi->p", one, two))
