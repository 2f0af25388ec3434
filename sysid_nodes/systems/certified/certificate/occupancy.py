# SPDX-License-Identifier: Apache-2.0
"""Room that the robot and its load can take, and its distance to obstacles and to itself: proven lower bounds.

Each shape is an inflated zonotope whose centre and generators are affine in the position errors. For a unit direction
n the shape's least reach along n is that of its middle less the deviations along n, errors counted as in motion.py, by
their Euclidean norm or one by one. Any n gives a valid bound; good ones come from the closest points of the middles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.intervals import Affine, concatenate, matvec, stack
from sysid_nodes.models.closest_point import closest_point
from sysid_nodes.models.separation import separation_lower_bound
from sysid_nodes.models.solids import Solid
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.motion import deviation, largest_sum
from sysid_nodes.systems.certified.certificate.recursion import Placement

Indices = npt.NDArray[np.intp]

ENOUGH = 0.25
"""Distances are not worked out beyond this [m]: a certificate's margin stops there."""

_FIRST = 96
"""So many distances, the least by their first bounds, are worked out before others are left out."""


@dataclass(frozen=True)
class Occupancy:
    """One shape over T time intervals.

    Attributes:
        centre: (T, 3) affine, or (3,) fixed numbers as a constant form [m].
        generators: (T, G, 3) affine [m].
        radius: [m].
        boxed, swept: what errors fill, see Placement.
    """

    centre: Affine
    generators: Affine
    radius: float
    boxed: bool
    swept: bool


def occupancy(placed: Placement, joint: int, solid: Solid) -> Occupancy:
    """A solid that joint ``joint`` carries (-1: the fixed base).

    Args:
        placed: frames of the joints.
        joint: index of the joint, -1 for the base.
        solid: in the joint's frame.
    """
    if joint < 0:
        like, *_ = placed.origin
        return _fixed_occupancy(solid, like, boxed=placed.boxed, swept=placed.swept)
    rotation = placed.rotation[joint]
    centre = placed.origin[joint] + matvec(rotation, solid.centre)
    generators = (rotation @ solid.generators.T).transpose()
    return Occupancy(centre, generators, solid.radius, placed.boxed, placed.swept)


def obstacle_distance(shapes: Sequence[Occupancy], obstacles: Sequence[Solid]) -> Array:
    """(T, S, O) lower bounds of the distance between each shape and each obstacle, at most ENOUGH [m]: see `_least`."""
    if not shapes or not obstacles:
        return np.full((_intervals(shapes), len(shapes), len(obstacles)), ENOUGH)
    like, *_ = shapes
    fixed = [_fixed_occupancy(solid, like.centre, boxed=like.boxed, swept=like.swept) for solid in obstacles]
    count = len(shapes)
    pairs = np.array([(s, count + o) for s in range(count) for o in range(len(fixed))], dtype=np.intp)
    return _least([*shapes, *fixed], pairs).reshape(_intervals(shapes), count, len(fixed))


def self_distance(shapes: Sequence[Occupancy], pairs: Indices) -> Array:
    """(T, P) lower bounds of the distance between the shapes of each pair, at most ENOUGH [m]: see `_least`.

    Args:
        shapes: of the robot.
        pairs: (P, 2) indices of shapes.
    """
    if not len(pairs):
        return np.full((_intervals(shapes), 0), ENOUGH)
    return _least(shapes, pairs)


def _intervals(shapes: Sequence[Occupancy]) -> int:
    return next((len(shape.centre) for shape in shapes), 0)


def _fixed_occupancy(solid: Solid, like: Affine, *, boxed: bool, swept: bool) -> Occupancy:
    """A solid that does not move, over the intervals and symbols of a form."""

    def at_all_times(x: Array) -> Affine:
        return Affine.constant(np.broadcast_to(x, (len(like), *x.shape)).copy(), symbols=like.symbols)

    return Occupancy(at_all_times(solid.centre), at_all_times(solid.generators), solid.radius, boxed, swept)


@dataclass(frozen=True)
class _Shapes:
    """All shapes as arrays: forms (S, T, 3) and (S, T, G, 3), radii (S,)."""

    centre: Affine
    generators: Affine
    radius: Array
    boxed: bool
    swept: bool


def _least(shapes: Sequence[Occupancy], pairs: Indices) -> Array:
    """(T, P) lower bounds of distances, at most ENOUGH, worked out as far as the least of all needs.

    A first bound of each takes the line of centres and the bodies' own axes as directions. What lies below the least
    that is proven so far is then worked out along the direction of the middles' closest points.
    """
    most = max(shape.generators.shape[1] for shape in shapes)
    every = _Shapes(
        stack([shape.centre for shape in shapes]),
        stack([_pad(shape.generators, most) for shape in shapes]),
        np.array([shape.radius for shape in shapes]),
        any(shape.boxed for shape in shapes),
        any(shape.swept for shape in shapes),
    )
    bound = np.minimum(_along_axes(every, pairs), ENOUGH)
    done, best = np.zeros(bound.shape, dtype=np.bool_), ENOUGH
    for batch in (_FIRST, bound.size, bound.size):
        open_ = np.flatnonzero(~done & (bound < best))
        if not open_.size:
            break
        chosen = open_[np.argsort(bound.ravel()[open_], kind="stable")[:batch]]
        pair, time = np.unravel_index(chosen, bound.shape)
        one, two = pairs[pair].T
        better = np.minimum(_distance_bounds(every, one, two, time), ENOUGH)
        bound.ravel()[chosen] = np.maximum(bound.ravel()[chosen], better)
        done.ravel()[chosen] = True
        best = float(bound[done].min())
    return bound.T


def _pad(generators: Affine, most: int) -> Affine:
    count, given = generators.shape[:2]
    return generators if given == most else concatenate([generators, np.zeros((count, most - given, 3))], axis=1)


def _along_axes(every: _Shapes, pairs: Indices) -> Array:
    """(P, T) lower bounds from a few directions, errors of generators counted in any direction."""
    one, two = pairs.T
    centre = every.centre.centre[one] - every.centre.centre[two]
    terms = every.centre.terms[:, one] - every.centre.terms[:, two]
    rest = every.centre.remainder[one] + every.centre.remainder[two]
    middles = every.generators.centre
    turned = deviation(every.generators, boxed=every.boxed, swept=every.swept)
    spread = np.linalg.norm(turned, axis=-1).sum(axis=-1)  # (S, T)
    aside = every.radius[:, None] + spread
    best = np.full(centre.shape[:2], -np.inf)
    sides = np.concatenate([middles[one], middles[two]], axis=2)
    for direction in (centre, *np.moveaxis(sides, 2, 0)):
        length = np.sqrt(np.einsum("ptk,ptk->pt", direction, direction))[..., None]
        unit = np.divide(direction, length, out=np.zeros_like(direction), where=length > 0.0)
        along = np.einsum("sptk,ptk->spt", terms, unit)
        with np.errstate(invalid="ignore"):
            wobble = largest_sum(along, boxed=every.boxed, swept=every.swept)
            wobble += np.einsum("ptk,ptk->pt", rest, np.abs(unit))
        half = np.abs(np.einsum("ptgk,ptk->ptg", sides, unit)).sum(axis=-1)
        best = np.fmax(best, np.abs(np.einsum("ptk,ptk->pt", centre, unit)) - half - wobble)
    # What is not a number proves nothing; lengths of some metres are off by much less than the last term.
    best = best - aside[one] - aside[two] - 1e-9
    return np.where(np.isfinite(best), best, -np.inf)


def _distance_bounds(every: _Shapes, one: Indices, two: Indices, time: Indices) -> Array:
    """(N,) lower bounds of distances of pairs of shapes at N times, each by the best direction for their middles."""
    centre = every.centre[one, time] - every.centre[two, time]
    moving = [every.generators[shape, time] for shape in (one, two)]
    radius = every.radius[one] + every.radius[two]
    middles = np.concatenate([generators.centre for generators in moving], axis=1)
    close = closest_point(
        centre.centre, np.concatenate([middles, centre.terms[0][:, None, :]], axis=1), enough=ENOUGH + radius
    )
    length = np.linalg.norm(close.direction, axis=-1, keepdims=True)
    unit = np.divide(close.direction, length, out=np.zeros_like(close.direction), where=length > 0.0)
    wobble = _along(centre, unit, every)
    wobble = wobble + sum(_along(generators, unit[:, None, :], every).sum(axis=-1) for generators in moving)
    wobble = np.where(np.isfinite(wobble), wobble, np.inf)
    return separation_lower_bound(unit, centre.centre, middles, radius, wobble * (1.0 + 1e-9) + 1e-12)


def _along(form: Affine, unit: Array, every: _Shapes) -> Array:
    """Bound on |n . (value - centre)| of vectors (..., 3) along unit vectors n that broadcast to them.

    The factor makes up for a norm of n that is off by rounding.
    """
    size = largest_sum((form.terms * unit).sum(axis=-1), boxed=every.boxed, swept=every.swept)
    size = size + (form.remainder * np.abs(unit)).sum(axis=-1)
    return np.asarray(size * (1.0 + 1e-9))
