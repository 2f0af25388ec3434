# SPDX-License-Identifier: Apache-2.0
"""Convex bodies as inflated zonotopes {c + sum e_i g_i + b: |e_i| <= 1, |b| <= radius}.

Boxes, spheres, capsules and zonotopes are all of this kind, and so is the difference of two of them: one rule gives the
distance of any pair, and errors of a pose are further generators. Where a body's size or rotation is not a float, the
radius takes up the rounding, so a Solid holds the body that its description means.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.scene import Obstacle
from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.robot import Primitive

Array = npt.NDArray[np.float64]

# A rotation from angles or a quaternion is off by some 30 units in the last place per entry, one of a product by one.
_ROTATION_ERROR = 2.0**-44
_PRODUCT_ERROR = 2.0**-50


@dataclass(frozen=True)
class Solid:
    """One body.

    Attributes:
        centre: (3,) [m].
        generators: (G, 3) half edges [m]; none for a sphere, one for a capsule, three for a box.
        radius: of the ball that is added [m].

    Raises:
        RobotError: shapes are wrong, a value is not finite or the radius is negative.
    """

    centre: Array
    generators: Array
    radius: float

    def __post_init__(self) -> None:
        centre = np.array(self.centre, dtype=np.float64)
        generators = np.array(self.generators, dtype=np.float64).reshape(-1, 3)
        if centre.shape != (3,):
            raise RobotError(f"a solid's centre must be 3 numbers, got shape {centre.shape}")
        if not (np.isfinite(centre).all() and np.isfinite(generators).all() and 0.0 <= self.radius < np.inf):
            raise RobotError("a solid must have finite coordinates and a radius that is not negative")
        for name, array in (("centre", centre), ("generators", generators)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def support(self, direction: Array) -> Array:
        """How far the body reaches along directions (..., 3): the largest value of direction . x over it, (...)."""
        along = np.abs(direction @ self.generators.T).sum(axis=-1)
        ball = self.radius * np.linalg.norm(direction, axis=-1)
        return np.asarray(direction @ self.centre + along + ball)

    @property
    def reach(self) -> float:
        """Radius of a ball about the centre that holds the body, up to rounding [m]."""
        lengths = np.linalg.norm(self.generators, axis=1)
        if 0 < len(lengths) <= 8:
            signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(lengths))))
            return float(np.linalg.norm(signs @ self.generators, axis=1).max()) + self.radius
        return float(lengths.sum()) + self.radius


@dataclass(frozen=True)
class Solids:
    """S bodies, each perhaps in a batch of poses.

    Attributes:
        centre: (..., S, 3) [m].
        generators: (..., S, G, 3) [m], filled up with zeros where a body has fewer.
        radius: (S,) [m].
        reach: (S,) radius of a ball about the centre that holds the body, up to rounding [m].
    """

    centre: Array
    generators: Array
    radius: Array
    reach: Array

    def __len__(self) -> int:
        return len(self.radius)

    def place(self, rotation: Array, position: Array) -> Solids:
        """The bodies moved from the frames they are given in, in plain floating point.

        Args:
            rotation: (..., S, 3, 3) of each body's frame.
            position: (..., S, 3) origin of each body's frame [m].
        """
        centre = position + np.einsum("...sij,...sj->...si", rotation, self.centre)
        return replace(self, centre=centre, generators=np.einsum("...sij,...sgj->...sgi", rotation, self.generators))


def stack(solids: Sequence[Solid]) -> Solids:
    """Bodies side by side, to be handled in one go."""
    most = max((len(solid.generators) for solid in solids), default=0)
    generators = np.zeros((len(solids), most, 3))
    for row, solid in zip(generators, solids, strict=True):
        row[: len(solid.generators)] = solid.generators
    return Solids(
        np.array([solid.centre for solid in solids]).reshape(-1, 3),
        generators,
        np.array([solid.radius for solid in solids]),
        np.array([solid.reach for solid in solids]),
    )


def from_primitive(primitive: Primitive) -> Solid:
    """A shape of the robot, in the frame of its joint.

    Raises:
        RobotError: the kind is unknown, the size has a wrong length or is not positive.
    """
    lengths = {"sphere": 1, "capsule": 2, "box": 3}
    size = np.asarray(primitive.size, dtype=np.float64)
    if primitive.kind not in lengths:
        raise RobotError(f"a shape on '{primitive.frame}' is of unknown kind '{primitive.kind}'")
    if size.shape != (lengths[primitive.kind],) or not (size > 0.0).all():
        raise RobotError(f"a {primitive.kind} on '{primitive.frame}' has an impossible size {size.tolist()}")
    return _solid(primitive.kind, primitive.position, np.asarray(primitive.rotation), size, _PRODUCT_ERROR)


def from_obstacle(obstacle: Obstacle) -> Solid:
    """An obstacle, in the robot's base frame."""
    if obstacle.kind == "zonotope":
        return Solid(np.array(obstacle.position), np.array(obstacle.generators), 0.0)
    size = np.array(obstacle.size)
    if obstacle.kind == "box":
        size = 0.5 * size
    elif obstacle.kind == "capsule":
        size = size * [1.0, 0.5]
    rotation = _rotation(np.array(obstacle.quaternion))
    return _solid(obstacle.kind, np.array(obstacle.position), rotation, size, _ROTATION_ERROR)


def _solid(kind: str, centre: Array, rotation: Array, size: Array, error: float) -> Solid:
    """A body of half extents, radius, or radius and half length; ``error`` is that of a generator, relative to it."""
    axes = rotation.T
    if kind == "box":
        generators, radius = size[:, None] * axes, 0.0
    elif kind == "capsule":
        generators, radius = size[1] * axes[2:], float(size[0])
    else:
        return Solid(centre, np.zeros((0, 3)), float(size[0]))
    if not np.isin(np.abs(rotation), (0.0, 1.0)).all():  # else the products are exact
        radius = float(np.nextafter(radius + 2.0 * error * size.sum(), np.inf))
    return Solid(centre, generators, radius)


def _rotation(quaternion: Array) -> Array:
    """Matrix of a quaternion x, y, z, w, whatever its length."""
    x, y, z, w = quaternion
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return np.array(
        [
            [1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
            [s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)],
            [s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)],
        ]
    )
