# SPDX-License-Identifier: Apache-2.0
"""The estimated motion of a mechanism, with the centres of mass of its links: estimate against truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.reports.drawing.moving_scene import MovingBody, MovingScene, ball, joint_poses
from sysid_nodes.reports.drawing.plots import BLUE, VERMILION
from sysid_nodes.reports.drawing.posture_scene import FAINT, Version, on_a_stand, posture_scene
from sysid_nodes.results.bayesian import BayesianSeries
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]

_OF_A_KILOGRAM = 0.02  # radius of a centre of mass; its volume grows with the mass [m]


def mechanism_scene(robot: Robot, series: BayesianSeries, rows: Sequence[Mapping[str, Any]]) -> MovingScene:
    """A scene.

    Args:
        series: its motion.
        rows: parameters of result.json; links whose mass has a mean or a truth get a centre of mass.
    """
    t, q = series.t - series.t[0], on_a_stand(robot, series.q)
    scene = posture_scene(robot, t, [Version("estimated motion", q, opacity=FAINT)], "The mechanism's motion over time")
    links = [row for row in rows if row["group"] == "inertia"]
    poses = joint_poses(robot, q[np.searchsorted(t, scene.t)])
    for key, colour, name in (
        ("mean", BLUE, "centres of mass, estimate"),
        ("truth", VERMILION, "centres of mass, truth"),
    ):
        for joint, mass, centre in _centres(robot, {row["name"]: row[key] for row in links}):
            dot = ball(centre, _OF_A_KILOGRAM * mass ** (1.0 / 3.0))
            scene.bodies.append(MovingBody([dot], poses[joint], colour, name, opacity=0.8))
    return scene


def _centres(robot: Robot, values: Mapping[str, float | None]) -> Iterator[tuple[int, float, Array]]:
    """Joint, mass [kg] and centre in the joint's frame (3,) [m] of the links of which all is told."""
    for link in (name.removesuffix(".m") for name in values if name.endswith(".m")):
        mass, *moments = (values[f"{link}.{name}"] for name in PARAMETER_NAMES[:4])
        if mass and None not in moments:
            yield robot.body_index(link) + 1, mass, np.array(moments) / mass
