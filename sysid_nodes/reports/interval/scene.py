# SPDX-License-Identifier: Apache-2.0
"""The arm of a replay as a scene over time, with what is known of the body in the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.messages.inertia_markers import solid_ellipsoid
from sysid_nodes.reports.drawing import meshes
from sysid_nodes.reports.drawing.moving_scene import MovingBody, MovingScene, ball, joint_poses, mesh
from sysid_nodes.reports.drawing.plots import BLUE, ORANGE, VERMILION
from sysid_nodes.reports.drawing.posture_scene import Version, posture_scene
from sysid_nodes.reports.interval.body_markers import centre_region
from sysid_nodes.results import Status
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.interval.run import IntervalRun

Array = npt.NDArray[np.float64]

_CENTRE = 0.015  # radius of a drawn centre of mass [m]


def body_scene(robot: Robot, shown: Sequence[tuple[float, Array]], run: IntervalRun) -> MovingScene:
    """A scene.

    Args:
        shown: times [s] and configurations (nq,), one at least; those before time starts over are left out.
        run: that the replay ends with; of one without a body that fits all data, the arm alone is drawn.
    """
    t = np.array([time for time, _ in shown])
    first = int(np.flatnonzero(np.diff(t, prepend=np.inf) <= 0.0)[-1])
    q = np.array([posture for _, posture in shown[first:]])
    scene = posture_scene(robot, t[first:] - t[first], [Version("robot", q)], "The arm and its body over time")
    pose = joint_poses(robot, q[np.searchsorted(t[first:] - t[first], scene.t)])[robot.body_index(run.frame) + 1]
    result = run.result
    if result.status is Status.INCONSISTENT:
        return scene
    if (box := centre_region(result.lower, result.upper)) is not None:
        half = 0.5 * (box[1] - box[0])
        region = mesh(meshes.box(box[0] + half, np.eye(3), half))
        scene.bodies.append(MovingBody([region], pose, BLUE, "bounds of the centre of mass", 0.25, framed=False))
    for theta, colour, name in ((result.nominal, ORANGE, "estimate"), (run.truth, VERMILION, "truth")):
        if theta is None or not theta[0] > 0.0:
            continue
        dot = ball(theta[1:4] / theta[0], _CENTRE)
        scene.bodies.append(MovingBody([dot], pose, colour, f"centre of mass, {name}", 0.99))
    if (ellipsoid := solid_ellipsoid(result.nominal)) is not None:
        centre, axes, radii = ellipsoid
        around = mesh(centre + (radii * meshes.ball(np.zeros(3), 1.0)) @ axes.T)
        scene.bodies.append(MovingBody([around], pose, ORANGE, "inertia ellipsoid", 0.3, framed=False))
    return scene
