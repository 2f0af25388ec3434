# SPDX-License-Identifier: Apache-2.0
"""A run of the certified loop as a scene over time: robot, load, obstacles, plans, and what is known of the load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.solids import from_obstacle
from sysid_nodes.reports.certified.plots import CARRY, IDENTIFY
from sysid_nodes.reports.certified.result import CertifiedRun
from sysid_nodes.reports.drawing.moving_scene import (
    STILL,
    DrawnLine,
    MovingBody,
    MovingScene,
    ball,
    frames,
    joint_poses,
    mesh,
    robot_bodies,
    rod,
)
from sysid_nodes.reports.drawing.plots import BLUE, GREEN, VERMILION
from sysid_nodes.reports.drawing.scene_picture import is_plate, load_mesh, load_way, solid_mesh

_LOAD, _OBSTACLE, _PLATE = "#3d4a58", "#e68c66", "#cfcabf"
_PLATE_REACH = 1.2  # a plate is drawn as far as this from the robot's base [m]
_OF_A_PLAN = 40  # points
_CENTRE = 0.022  # radius of a drawn centre of mass [m]


def certified_scene(document: Mapping[str, Any], loop: CertifiedRun) -> MovingScene:
    """Everything that a run shows.

    Args:
        document: a valid result; its truth is drawn where it is known.
        loop: the run, of at least one joint state.
    """
    history, robot, load = loop.history, loop.model.robot, loop.model.load
    rows = frames(len(history.t))
    zero, q = history.t[0], history.q[rows]
    scene = MovingScene(history.t[rows] - zero, "The robot among obstacles over time")
    hand = joint_poses(robot, q)[-1]
    scene.bodies.extend(robot_bodies(robot, q, group="robot"))
    if load is not None:
        centre = np.asarray(load.position)
        parts = [rod(np.zeros(3), 0.8 * centre, 0.03), mesh(load_mesh(load, np.asarray(load.rotation), centre))]
        scene.bodies.append(MovingBody(parts, hand, _LOAD, "load"))
    for obstacle in history.scene.obstacles:
        solid = from_obstacle(obstacle)
        triangles, plate = solid_mesh(solid), is_plate(solid)
        if plate:
            triangles[..., :2] = np.clip(triangles[..., :2], -_PLATE_REACH, _PLATE_REACH)
        colour = _PLATE if plate else _OBSTACLE
        scene.bodies.append(MovingBody([mesh(triangles)], STILL, colour, "obstacles", framed=not plate))
    for name, theta, colour in (
        ("centre of mass, estimate", [row["nominal"] for row in document["parameters"]], BLUE),
        ("centre of mass, truth", document["truth"], VERMILION),
    ):
        if theta and theta[0]:
            place = ball(np.array(theta[1:4]) / theta[0], _CENTRE)
            scene.bodies.append(MovingBody([place], hand, colour, name, opacity=0.99))
    scene.lines.extend(_ways(loop, rows))
    for plan in history.executed:
        end = plan.record.duration
        planned = load_way(robot, plan.motion(np.linspace(0.0, end, _OF_A_PLAN)).q, load)
        scene.lines.append(DrawnLine(planned, GREEN, "plan in execution", (plan.begun - zero, plan.ended - zero)))
    return scene


def _ways(loop: CertifiedRun, rows: npt.NDArray[np.intp]) -> list[DrawnLine]:
    """The load's way while it was identified, and to the goal."""
    history, change = loop.history, loop.identified_at
    parted = len(rows) if change is None else int(np.searchsorted(history.t[rows], change))
    places = load_way(loop.model.robot, history.q[rows], loop.model.load)
    parts = ((places[: parted + 1], IDENTIFY, "way, identifying"), (places[parted:], CARRY, "way to the goal"))
    return [DrawnLine(points, colour, name) for points, colour, name in parts if len(points) > 1]
