# SPDX-License-Identifier: Apache-2.0
"""How near a robot comes to obstacles and to itself at sampled postures, and how that changes with the joints.

Plain floating point, for proposals: what is executed is proven by the certifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.self_collision import joints_of, self_collision_pairs
from sysid_nodes.models.separation import Distances, distances
from sysid_nodes.models.solids import Solids, from_obstacle, from_primitive, stack
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
        self._solids = stack([from_primitive(shape) for shape in shapes])
        self._pairs = self_collision_pairs(robot, shapes).kept
        self._movable = np.flatnonzero(self._joints >= 0)
        supports = self._chain.supports()
        self._moves = np.array(
            [supports[:, joint] if joint >= 0 else np.zeros(robot.n, bool) for joint in self._joints]
        )

    def near(self, q: Array, scene: Scene, beyond: float) -> Near:
        """All pairs nearer than `beyond` [m] at postures q (N, n)."""
        motion, placed = self._place(q)
        bodies, pairs = self._bodies(placed, scene)
        return self._collect(motion, distances(placed, bodies, pairs, beyond=beyond), pairs, beyond)

    def least(self, q: Array, scene: Scene, beyond: float) -> Array:
        """(N,) least distance at postures q (N, n), at most `beyond` [m]."""
        _, placed = self._place(q)
        bodies, pairs = self._bodies(placed, scene)
        return np.asarray(distances(placed, bodies, pairs, beyond=beyond).distance.min(axis=1, initial=beyond))

    def words(self, q: Array, scene: Scene) -> str:
        """The nearest pair at a posture q (n,), as `a and b, 0.012 m apart`."""
        near = self.near(q[None], scene, np.inf)
        worst = int(np.argmin(near.distance))
        one = self._part(int(near.first[worst]))
        second = int(near.second[worst])
        two = f"'{scene.obstacles[second].name}'" if near.outside[worst] else self._part(second)
        return f"{one} and {two}, {near.distance[worst]:.3f} m apart"

    def _part(self, shape: int) -> str:
        joint = int(self._joints[shape])
        return "the base" if joint < 0 else f"what {self._robot.joint_names[joint]} moves"

    def _place(self, q: Array) -> tuple[reference.TreeMotion, Solids]:
        motion = reference.forward_kinematics(self._chain.tree, q, np.zeros_like(q))
        rotation = np.broadcast_to(np.eye(3), (len(q), len(self._joints), 3, 3)).copy()
        position = np.zeros((len(q), len(self._joints), 3))
        for s in self._movable:
            rotation[:, s] = np.moveaxis(motion.rotation[self._joints[s]], -1, 0)
            position[:, s] = motion.origin[self._joints[s]].T
        return motion, self._solids.place(rotation, position)

    def _bodies(self, placed: Solids, scene: Scene) -> tuple[Solids, Indices]:
        """The robot's shapes followed by the obstacles, and the pairs of one of the former with one of either."""
        if not scene.obstacles:
            return placed, self._pairs
        count = len(self._joints)
        obstacles = stack([from_obstacle(obstacle) for obstacle in scene.obstacles])
        most = max(placed.generators.shape[-2], obstacles.generators.shape[-2])
        centre, generators = [], []
        for part in (placed, obstacles):
            fill = most - part.generators.shape[-2]
            wide = np.pad(part.generators, [(0, 0)] * (part.generators.ndim - 2) + [(0, fill), (0, 0)])
            generators.append(np.broadcast_to(wide, (len(placed.centre), len(part), most, 3)))
            centre.append(np.broadcast_to(part.centre, (len(placed.centre), len(part), 3)))
        together = Solids(
            np.concatenate(centre, axis=1),
            np.concatenate(generators, axis=1),
            np.concatenate([placed.radius, obstacles.radius]),
            np.concatenate([placed.reach, obstacles.reach]),
        )
        grid = np.meshgrid(self._movable, count + np.arange(len(obstacles)), indexing="ij")
        return together, np.concatenate([self._pairs, np.stack(grid, axis=-1).reshape(-1, 2)])

    def _collect(self, motion: reference.TreeMotion, found: Distances, pairs: Indices, beyond: float) -> Near:
        sample, pair = np.nonzero(found.distance < beyond)
        distance, normal = found.distance[sample, pair], found.normal[sample, pair]
        here = found.point[sample, pair]
        first, second = pairs[pair].T
        count = len(self._joints)
        outside = second >= count
        # The second shape's closest point lies one distance behind along the normal.
        there = here - distance[:, None] * normal
        jacobian = motion.jacobian[:, :, sample].transpose(0, 2, 1)  # (n, M, 6)
        slide, turn = jacobian[..., :3], jacobian[..., 3:]
        gradient = ((slide + np.cross(turn, here)) * normal).sum(axis=-1).T * self._moves[first]
        behind = self._moves[np.where(outside, 0, second)] & ~outside[:, None]
        gradient = gradient - ((slide + np.cross(turn, there)) * normal).sum(axis=-1).T * behind
        return Near(sample, distance, gradient, outside, first, np.where(outside, second - count, second))
