"""How far a posture keeps the arm from itself and from the floor it stands on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio

from sysid_nodes.robots import Primitive, Robot
from sysid_nodes.robots.robot import Array

JOINTS_APART = 4
"""Shapes this many joints apart are compared; nearer ones meet by design or are kept apart by the joints' limits."""


def clearance(robot: Robot, q: Array, extra: Sequence[Primitive] = ()) -> Array:
    """Least distance between the arm's spheres and its shapes further down, or the floor.

    Args:
        robot: with geometry.
        q: (N, n) [rad].
        extra: further shapes on the robot, as what it carries.

    Returns:
        (N,) [m], negative where shapes overlap; infinite for a robot without geometry.
    """
    shapes = [(int(robot.model.getJointId(shape.frame)), shape) for shape in (*robot.geometry, *extra)]
    spheres = [(joint, shape) for joint, shape in shapes if shape.kind == "sphere"]
    data = robot.model.createData()
    least = np.full(len(q), np.inf)
    for k, posture in enumerate(q):
        pinocchio.forwardKinematics(robot.model, data, posture)
        placed = data.oMi.tolist()
        centres = [placed[joint].act(shape.position) for joint, shape in spheres]
        joints = np.array([joint for joint, _ in spheres], dtype=int)
        radii = np.array([shape.size[0] for _, shape in spheres])
        for base, shape in shapes:
            if (far := joints >= base + JOINTS_APART).any():
                points = np.array(centres)[far]
                least[k] = min(least[k], float((_distance(points, placed[base], shape) - radii[far]).min()))
        if (free := joints >= JOINTS_APART - 1).any():
            least[k] = min(least[k], float((np.array(centres)[free, 2] - radii[free]).min()))
    return least


def _distance(points: Array, placement: pinocchio.SE3, shape: Primitive) -> Array:
    """From points (N, 3) in the world to a shape's surface [m]; a point inside a box counts as touching it."""
    local = ((points - placement.translation) @ placement.rotation - shape.position) @ shape.rotation
    core, radius = np.zeros(3), 0.0
    if shape.kind == "box":
        core = shape.size
    else:
        radius = float(shape.size[0])
        core[2] = shape.size[1] if shape.kind == "capsule" else 0.0
    return np.asarray(np.linalg.norm(local - np.clip(local, -core, core), axis=1) - radius)
