"""Where the robot and its load can be, and how far that is from obstacles and from itself: proven lower bounds.

Each shape is an inflated zonotope whose centre and generators are affine in the position errors. For a unit direction n
the shape's least reach along n is that of its middle less the deviations along n, errors counted by their Euclidean norm
as in motion.py. Any n gives a valid bound; good ones come from the closest points of the middles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.intervals import Affine, matvec
from sysid_nodes.models.closest_point import closest_point
from sysid_nodes.models.separation import separation_lower_bound
from sysid_nodes.models.solids import Solid
from sysid_nodes.planners.bodies import Placement
from sysid_nodes.planners.motion import deviation
from sysid_nodes.robots.robot import Array

Indices = npt.NDArray[np.intp]

ENOUGH = 0.25
"""Distances are not worked out beyond this [m]: a certificate's margin stops there."""


@dataclass(frozen=True)
class Occupancy:
    """One shape over T time intervals.

    Attributes:
        centre: (T, 3) affine, or (3,) fixed numbers as a constant form [m].
        generators: (T, G, 3) affine [m].
        radius: [m].
        slack: (T,) how much further any of its points may be, whatever the direction [m].
        reach: largest distance of its points from its centre [m].
    """

    centre: Affine
    generators: Affine
    radius: float
    slack: Array
    reach: float


def occupancy(placed: Placement, joint: int, solid: Solid, slack: Array) -> Occupancy:
    """A solid that joint ``joint`` carries (-1: the fixed base).

    Args:
        placed: frames of the joints.
        joint: index of the joint, -1 for the base.
        solid: in the joint's frame.
        slack: (T,) of Occupancy.
    """
    count = placed.origin[0].shape[0]
    symbols = placed.origin[0].symbols
    reach = float(np.linalg.norm(solid.generators, axis=1).sum() + solid.radius)
    if joint < 0:
        centre = Affine.constant(np.broadcast_to(solid.centre, (count, 3)).copy(), symbols=symbols)
        spread = np.broadcast_to(solid.generators, (count, *solid.generators.shape)).copy()
        return Occupancy(centre, Affine.constant(spread, symbols=symbols), solid.radius, slack, reach)
    rotation = placed.rotation[joint]
    centre = placed.origin[joint] + matvec(rotation, solid.centre)
    generators = (rotation @ solid.generators.T).transpose()
    return Occupancy(centre, generators, solid.radius, slack, reach)


def obstacle_distance(shapes: Sequence[Occupancy], obstacles: Sequence[Solid]) -> Array:
    """(T, S, O) lower bounds of the distance between each shape and each obstacle, at most ENOUGH [m]."""
    count = shapes[0].centre.shape[0] if shapes else 0
    out = np.full((count, len(shapes), len(obstacles)), ENOUGH)
    for s, shape in enumerate(shapes):
        for o, solid in enumerate(obstacles):
            fixed = np.broadcast_to(solid.generators, (count, *solid.generators.shape))
            spread = float(np.linalg.norm(solid.generators, axis=1).sum() + solid.radius)
            out[:, s, o] = _distance(
                shape.centre - solid.centre,
                [shape.generators],
                fixed,
                shape.radius + solid.radius,
                shape.slack,
                shape.reach + spread,
            )
    return out


def self_distance(shapes: Sequence[Occupancy], pairs: Indices) -> Array:
    """(T, P) lower bounds of the distance between the shapes of each pair, at most ENOUGH [m]."""
    count = shapes[0].centre.shape[0] if shapes else 0
    out = np.full((count, len(pairs)), ENOUGH)
    for p, (i, j) in enumerate(pairs):
        one, two = shapes[i], shapes[j]
        out[:, p] = _distance(
            one.centre - two.centre,
            [one.generators, two.generators],
            np.zeros((count, 0, 3)),
            one.radius + two.radius,
            one.slack + two.slack,
            one.reach + two.reach,
        )
    return out


def _distance(
    centre: Affine, moving: Sequence[Affine], fixed: Array, radius: float, slack: Array, reach: float
) -> Array:
    """(T,) lower bounds of the distance of centre + generators + ball from the origin."""
    out = np.full(len(slack), ENOUGH)
    # By the triangle inequality; what is left out here is worked out below.
    far = np.linalg.norm(centre.centre, axis=-1) - np.linalg.norm(deviation(centre), axis=-1) - reach - slack
    near = np.flatnonzero(far * (1.0 - 1e-12) < ENOUGH + 1e-9)
    if not near.size:
        return out
    centre, fixed, slack = centre[near], fixed[near], slack[near]
    moving = [generators[near] for generators in moving]
    middles = np.concatenate([generators.centre for generators in moving] + [fixed], axis=1)
    time = centre.terms[0][:, None, :]
    close = closest_point(centre.centre, np.concatenate([middles, time], axis=1), enough=ENOUGH + radius)
    direction = close.direction
    length = np.linalg.norm(direction, axis=-1, keepdims=True)
    unit = np.divide(direction, length, out=np.zeros_like(direction), where=length > 0.0)
    unit[length[:, 0] == 0.0, 2] = 1.0
    wobble = _along(centre, unit) + sum(_along(generators, unit[:, None, :]).sum(axis=-1) for generators in moving)
    proven = separation_lower_bound(unit, centre.centre, middles, radius, (wobble * (1.0 + 1e-9) + slack) + 1e-12)
    out[near] = np.minimum(proven, ENOUGH)
    return out


def _along(form: Affine, unit: Array) -> Array:
    """Bound on |n . (value - centre)| of vectors (..., 3) along unit vectors n that broadcast to them.

    The factor makes up for a norm of n that is off by rounding.
    """
    n = (form.symbols - 1) // 2
    terms = (form.terms * unit).sum(axis=-1)
    size = np.abs(terms[0]) + np.sqrt((terms[1 : n + 1] ** 2).sum(axis=0))
    size = size + np.sqrt((terms[n + 1 :] ** 2).sum(axis=0)) + (form.remainder * np.abs(unit)).sum(axis=-1)
    return np.asarray(size * (1.0 + 1e-9))
