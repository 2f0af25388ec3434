# SPDX-License-Identifier: Apache-2.0
"""Joint goals: the nearest equivalent one, whether it can be stood at, and which waypoint comes next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.scene import Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.systems.certified.search.nearness import Nearness


def endless(robot: Robot) -> npt.NDArray[np.bool_]:
    """(n,) which joints turn without limit, so that whole turns make no difference."""
    limits = robot.limits
    return np.asarray(robot.wraps & np.isinf(limits.position_lower) & np.isinf(limits.position_upper))


def nearest_goal(robot: Robot, q: Array, goal: Array) -> Array:
    """(n,) the goal, joints without limits moved by whole turns to where they are nearest to q (n,)."""
    turns = 2.0 * np.pi * np.round((q - goal) / (2.0 * np.pi))
    return np.where(endless(robot), goal + turns, goal)


def check_goal(robot: Robot, nearness: Nearness, goal: Array, scene: Scene, margin: float, name: str = "goal") -> None:
    """Refuses a goal at which the robot cannot stand.

    Args:
        robot: gives names and limits.
        nearness: distances.
        goal: (n,) [rad].
        scene: obstacles.
        margin: distance that must be free there [m].
        name: what the messages call it.

    Raises:
        ConfigError: it has a wrong number of joints, is not finite, is outside a limit or touches something.
    """
    goal = np.asarray(goal, dtype=np.float64)
    if goal.shape != (robot.n,) or not np.isfinite(goal).all():
        raise ConfigError(f"the {name} must be {robot.n} finite numbers, one a joint")
    limits = robot.limits
    beyond = np.maximum(limits.position_lower - goal, goal - limits.position_upper)
    if (beyond > 0.0).any():
        j = int(np.argmax(beyond))
        raise ConfigError(
            f"the {name} has {robot.joint_names[j]} at {goal[j]:.3f} rad, outside its limits "
            f"[{limits.position_lower[j]:.3f}, {limits.position_upper[j]:.3f}]"
        )
    if nearness.least(goal[None], scene, margin + 1.0)[0] < margin:
        raise ConfigError(f"the {name} leaves no room: {nearness.words(goal, scene)}, {margin:.3f} m needed")


def straight(one: Array, two: Array, spacing: float) -> Array:
    """(N, n) postures on the line between two, both ends included, no joint moving more than `spacing` between them."""
    count = max(2, int(np.ceil(np.abs(two - one).max() / spacing)) + 1)
    return np.asarray(one + np.linspace(0.0, 1.0, count)[:, None] * (two - one))


def next_waypoint(
    robot: Robot, nearness: Nearness, q: Array, path: Sequence[Array], scene: Scene, margin: float, spacing: float
) -> Array:
    """(n,) the waypoint to aim at from q: of the nearest and the two beyond it, the last with a free straight way.

    Args:
        robot, nearness, scene: as for check_goal.
        q: (n,) posture.
        path: waypoints in order, the goal last.
        margin: distance that must be free on the way [m].
        spacing: of the postures checked [rad].
    """
    points = [nearest_goal(robot, q, np.asarray(point, dtype=np.float64)) for point in path]
    nearest = int(np.argmin([np.abs(point - q).max() for point in points]))
    for point in reversed(points[nearest + 1 : nearest + 3]):
        if (nearness.least(straight(q, point, spacing), scene, margin + 0.01) >= margin).all():
            return point
    return points[nearest] if np.abs(points[nearest] - q).max() > spacing else points[min(nearest + 1, len(points) - 1)]
