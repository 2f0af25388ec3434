# SPDX-License-Identifier: Apache-2.0
"""An estimated motion as a scene over time: robot, contacts and forces, beside the truth where it is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.reports.drawing.moving_scene import (
    Arrow,
    DrawnLine,
    MovingBody,
    MovingScene,
    ball,
    frames,
    robot_bodies,
)
from sysid_nodes.reports.drawing.plots import BLUE, GREY, VERMILION
from sysid_nodes.reports.prime.series import PrimeSeries
from sysid_nodes.reports.prime.truth import PrimeTruth, sum_by_foot
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]

_CONTACT = 0.018  # radius of a drawn contact [m]
_METRES_PER_NEWTON = 1.0 / 400.0  # longer than in the picture, where many arrows stand side by side


def prime_scene(
    t: Array,
    series: PrimeSeries,
    truth: PrimeTruth | None,
    robot: Robot,
    index: npt.NDArray[np.int64],
    colours: tuple[str, ...],
) -> MovingScene:
    """Everything that a motion shows.

    Args:
        t: (N,) times of the series as the page counts them [s].
        truth: where it is known.
        index: (nc,) foot of every contact point.
        colours: of the feet.
    """
    rows = frames(len(t))
    scene = MovingScene(t[rows], "The robot's motion, its contacts and forces over time")
    q = np.column_stack([series.base, series.joints])[rows]
    scene.bodies.extend(robot_bodies(robot, q, group="estimate"))
    scene.lines.append(DrawnLine(q[:, :3], BLUE, "way of the base"))
    if truth is not None and np.isfinite(truth.position).all(axis=1).any():
        true = np.column_stack([truth.position, truth.orientation, series.joints])[rows]
        known = np.isfinite(true).all(axis=1)
        true[~known] = np.nan
        bodies = robot_bodies(robot, true, colour=VERMILION, joint_colour=VERMILION, group="truth", opacity=0.3)
        scene.bodies.extend(bodies)
        scene.lines.append(DrawnLine(true[known, :3], VERMILION, "truth"))
    place, force = series.position[rows], series.force[rows]
    down = series.on_ground[rows] & np.isfinite(force).all(axis=2)
    for point, foot in enumerate(index):
        pose = np.zeros((len(rows), 7))
        pose[:, :3], pose[:, 6] = np.where(down[:, point, None], place[:, point], np.nan), 1.0
        scene.bodies.append(MovingBody([ball(np.zeros(3), _CONTACT)], pose, colours[foot], "contacts"))
    start = _centres_of_pressure(place, np.where(down[..., None], force, 0.0), index)
    scene.arrows.extend(_arrows(start, np.where(down[..., None], force, 0.0), index, colours, "forces (1 m: 400 N)"))
    if truth is not None:
        true_force = np.nan_to_num(truth.force[rows])
        scene.arrows.extend(_arrows(start, true_force, index, (GREY,) * len(colours), "true forces"))
    return scene


def _centres_of_pressure(place: Array, force: Array, index: npt.NDArray[np.int64]) -> Array:
    """(N, feet, 3) points of each foot, weighted by their normal forces; their mean where there is none [m]."""
    weight = np.maximum(force[..., 2:], 1e-6)
    return np.asarray(sum_by_foot(weight * place, index) / sum_by_foot(weight * np.ones(3), index))


def _arrows(
    start: Array, force: Array, index: npt.NDArray[np.int64], colours: tuple[str, ...], group: str
) -> list[Arrow]:
    vectors = _METRES_PER_NEWTON * sum_by_foot(force, index)
    return [Arrow(start[:, foot], vectors[:, foot], colour, group) for foot, colour in enumerate(colours)]
