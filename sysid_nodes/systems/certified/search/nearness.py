# SPDX-License-Identifier: Apache-2.0
"""Distances of a robot to obstacles and to itself at sampled postures, and their derivatives by the joints.

Plain floating point, for proposals: what is executed is proven by the certifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.kernel import joint_frames
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.self_collision import joints_of, self_collision_pairs
from sysid_nodes.models.separation import Distances, distances
from sysid_nodes.models.solids import Solids, from_obstacle, from_primitive, stack
from sysid_nodes.robots.links import moved_part
from sysid_nodes.robots.robot import Array, Primitive, Robot
from sysid_nodes.systems.certified.certificate.occupancy import Indices


@dataclass(frozen=True)
class Near:
    """Pairs of shapes nearer than was asked for.

    Attributes:
        sample: (M,) index of the posture.
        distance: (M,) [m], negative where shapes overlap.
        gradient: (M, n) by the joint positions of that posture [m/rad].
        outside: (M,) whether the pair is with an obstacle, not within the robot.
        first, second: (M,) indices of the shapes, or of the obstacle as second.
    """

    sample: Indices
    distance: Array
    gradient: Array
    outside: np.ndarray[tuple[int], np.dtype[np.bool_]]
    first: Indices
    second: Indices


class _Bodies(NamedTuple):
    """The robot's shapes followed by the obstacles, each in its joint's frame, and the pairs to look at.

    Attributes:
        solids: S of them.
        joints: (S,) that carry them, -1 for the base.
        moved: (S, n) ones where a joint moves them.
        pairs: (P, 2) of a shape of the robot with one of either.
    """

    solids: Solids
    joints: Indices
    moved: Array
    pairs: Indices


class Nearness:
    """Distances of one robot with its shapes.

    Args:
        robot: with a fixed base.
        shapes: that cover it and its load.

    Raises:
        RobotError: the base floats, or a shape is on no joint of the robot.
    """

    def __init__(self, robot: Robot, shapes: Sequence[Primitive]) -> None:
        self._robot, self._chain = robot, Chain.from_robot(robot)
        self._shapes = tuple(shapes)
        self._joints = joints_of(robot, shapes) - 1
        self._pairs = self_collision_pairs(robot, shapes).kept
        self._last = Scene(()), self._bodies(Scene(()))

    def near(self, q: Array, scene: Scene, beyond: float) -> Near:
        """All pairs nearer than `beyond` [m] at postures q (N, n)."""
        bodies = self._among(scene)
        placed, jacobian = self._place(q, bodies)
        return self._collect(jacobian, distances(placed, placed, bodies.pairs, beyond=beyond), bodies, beyond)

    def least(self, q: Array, scene: Scene, beyond: float) -> Array:
        """(N,) least distance at postures q (N, n), at most `beyond` [m]."""
        bodies = self._among(scene)
        placed, _ = self._place(q, bodies)
        return np.asarray(distances(placed, placed, bodies.pairs, beyond=beyond).distance.min(axis=1, initial=beyond))

    def words(self, q: Array, scene: Scene) -> str:
        """The nearest pair at a posture q (n,), as `a and b, 0.012 m apart`."""
        near = self.near(q[None], scene, np.inf)
        worst = int(np.argmin(near.distance))
        one = self._part(int(near.first[worst]))
        second = int(near.second[worst])
        two = f"'{scene.obstacles[second].name}'" if near.outside[worst] else self._part(second)
        return f"{one} and {two}, {near.distance[worst]:.3f} m apart"

    def _part(self, shape: int) -> str:
        return moved_part(self._robot, int(self._joints[shape]))

    def _among(self, scene: Scene) -> _Bodies:
        """The bodies of a scene; those of the last one are kept."""
        last, bodies = self._last
        if last is not scene:
            bodies = self._bodies(scene)
            self._last = scene, bodies
        return bodies

    def _bodies(self, scene: Scene) -> _Bodies:
        count, obstacles = len(self._joints), len(scene.obstacles)
        solids = [*(from_primitive(shape) for shape in self._shapes), *(from_obstacle(x) for x in scene.obstacles)]
        joints = np.concatenate([self._joints, np.full(obstacles, -1)])
        moved = np.vstack([self._chain.supports().T, np.zeros(self._robot.n)])[joints]
        movable = np.flatnonzero(self._joints >= 0)
        outside = [(shape, count + k) for shape in movable for k in range(obstacles)]
        pairs = np.concatenate([self._pairs, np.array(outside, dtype=np.intp).reshape(-1, 2)])
        return _Bodies(stack(solids), joints, moved, pairs)

    def _place(self, q: Array, bodies: _Bodies) -> tuple[Solids, Array]:
        """Bodies at postures q (N, n), and the joints' motion vectors (N, n, 6)."""
        rotation, origin, jacobian = joint_frames(self._chain.tree, q)
        still = np.broadcast_to(np.eye(3), (len(q), 1, 3, 3)), np.zeros((len(q), 1, 3))
        turned, placed = (np.concatenate(parts, axis=1) for parts in zip((rotation, origin), still, strict=True))
        return bodies.solids.place(turned[:, bodies.joints], placed[:, bodies.joints]), jacobian

    def _collect(self, jacobian: Array, found: Distances, bodies: _Bodies, beyond: float) -> Near:
        sample, pair = np.nonzero(found.distance < beyond)
        distance, normal = found.distance[sample, pair], found.normal[sample, pair]
        first, second = bodies.pairs[pair].T
        count = len(self._joints)
        # A joint's motion along the normal is the same at both closest points, which lie on it.
        along = np.concatenate([normal, np.cross(found.point[sample, pair], normal)], axis=1)
        gradient = np.einsum("mnk,mk->mn", jacobian[sample], along) * (bodies.moved[first] - bodies.moved[second])
        outside = second >= count
        return Near(sample, distance, gradient, outside, first, np.where(outside, second - count, second))
