# SPDX-License-Identifier: Apache-2.0
"""A way through the space of the joints around obstacles, as waypoints: bidirectional RRT (RRT-Connect).

J. Kuffner and S. LaValle, "RRT-connect: An efficient approach to single-query path planning", ICRA 2000. Distances are
in plain floating point; what is executed on the way is certified.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.systems.certified.search.config import GuideConfig
from sysid_nodes.systems.certified.search.goals import check_goal, endless, nearest_goal, straight
from sysid_nodes.systems.certified.search.nearness import Nearness


@dataclass(frozen=True)
class Guide:
    """A way.

    Attributes:
        waypoints: postures (n,) in order, the goal last; empty where none was found.
        looked_at: postures added to the trees.
    """

    waypoints: tuple[Array, ...]
    looked_at: int


class _Tree:
    def __init__(self, root: Array) -> None:
        self.points, self.parents = [root], [-1]

    def nearest(self, q: Array) -> int:
        return int(np.argmin(((np.array(self.points) - q) ** 2).sum(axis=1)))

    def add(self, q: Array, parent: int) -> int:
        self.points.append(q)
        self.parents.append(parent)
        return len(self.points) - 1

    def branch(self, index: int) -> list[Array]:
        """From a node to the root."""
        out = []
        while index >= 0:
            out.append(self.points[index])
            index = self.parents[index]
        return out


class _Search:
    def __init__(self, nearness: Nearness, scene: Scene, config: GuideConfig) -> None:
        self.nearness, self.scene, self.config = nearness, scene, config

    def free(self, one: Array, two: Array) -> bool:
        config = self.config
        path = straight(one, two, config.check)[1:]
        return bool((self.nearness.least(path, self.scene, config.margin + 0.01) >= config.margin).all())

    def extend(self, tree: _Tree, q: Array, parent: int) -> int | None:
        """One step from a node towards q; the new node."""
        way = q - tree.points[parent]
        length = float(np.linalg.norm(way))
        if length == 0.0:
            return parent
        to = q if length <= self.config.step else tree.points[parent] + way * (self.config.step / length)
        return tree.add(to, parent) if self.free(tree.points[parent], to) else None

    def connect(self, tree: _Tree, q: Array) -> int | None:
        """Steps towards q until it is reached; the node there, or None where something is in the way."""
        node: int | None = tree.nearest(q)
        while node is not None and len(tree.points) < self.config.nodes:
            if (tree.points[node] == q).all():
                return node
            node = self.extend(tree, q, node)
        return None


def guide_path(
    robot: Robot,
    nearness: Nearness,
    q: Array,
    goal: Array,
    scene: Scene,
    config: GuideConfig,
    rng: np.random.Generator,
) -> Guide:
    """Waypoints from a posture to a goal.

    Args:
        robot: gives limits.
        nearness: distances.
        q: (n,) where it starts; may be nearer to things than the margin.
        goal: (n,) where it ends; joints without limits go the nearest way round.
        scene: obstacles.
        config: effort and margin.
        rng: of the samples: the same one gives the same way.

    Raises:
        ConfigError: the goal is outside the limits or leaves less room than the margin.
    """
    q = np.asarray(q, dtype=np.float64)
    goal = nearest_goal(robot, q, np.asarray(goal, dtype=np.float64))
    check_goal(robot, nearness, goal, scene, config.margin)
    search = _Search(nearness, scene, config)
    if search.free(q, goal):
        return Guide((goal,), 0)
    free = endless(robot)
    lower = np.where(free, np.minimum(q, goal) - np.pi, robot.limits.position_lower)
    upper = np.where(free, np.maximum(q, goal) + np.pi, robot.limits.position_upper)
    one, two = _Tree(q), _Tree(goal)
    forwards = True
    while len(one.points) + len(two.points) < config.nodes:
        sample = rng.uniform(lower, upper)
        if (node := search.extend(one, sample, one.nearest(sample))) is not None and (
            meeting := search.connect(two, one.points[node])
        ) is not None:
            path = one.branch(node)[::-1] + two.branch(meeting)[1:]
            path = path if forwards else path[::-1]
            return Guide(tuple(_shorten(search, path, rng)[1:]), len(one.points) + len(two.points))
        one, two, forwards = two, one, not forwards
    return Guide((), len(one.points) + len(two.points))


def _shorten(search: _Search, path: list[Array], rng: np.random.Generator) -> list[Array]:
    """Leaves out waypoints between which the straight way is free."""
    for _ in range(search.config.shortcuts):
        if len(path) < 3:
            break
        i, j = np.sort(rng.choice(len(path), 2, replace=False))
        if j - i > 1 and search.free(path[i], path[j]):
            path = path[: i + 1] + path[j:]
    return path
