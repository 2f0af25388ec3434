# SPDX-License-Identifier: Apache-2.0
"""A scene in three dimensions over time, as data for the page's script: bodies with poses, lines, arrows, dots."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio
from markupsafe import Markup

from sysid_nodes.reports.drawing import meshes
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]
Part = dict[str, Any]

FRAMES = 400
"""Moments of a scene, at most; the script goes from one to the next without a jump."""

STILL = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
"""Pose of what does not move."""

LINK, JOINT = "#e6e9ee", "#6b7885"
"""Colours of a robot that is not one of several."""

_SLIM = 0.042  # radius of a link, of the sum of all distances between joints of a chain
_THICKEST = 0.05  # [m]


@dataclass(frozen=True)
class MovingBody:
    """A rigid body.

    Attributes:
        parts: what `ball`, `rod` and `mesh` return.
        pose: (N, 7) position and quaternion x, y, z, w [m]; (1, 7) for what stands still.
        colour: as CSS has it.
        group: what the reader shows or hides together.
        opacity: 1 for a solid one.
        framed: whether the first view must show all of it.
    """

    parts: Sequence[Part]
    pose: Array
    colour: str
    group: str
    opacity: float = 1.0
    framed: bool = True


@dataclass(frozen=True)
class DrawnLine:
    """A line that stays where it is.

    Attributes:
        points: (M, 3) [m].
        span: when it is shown [s]; None for always.
    """

    points: Array
    colour: str
    group: str
    span: tuple[float, float] | None = None


@dataclass(frozen=True)
class Arrow:
    """A vector at a moving point; NaN hides it.

    Attributes:
        start, vector: (N, 3) [m].
    """

    start: Array
    vector: Array
    colour: str
    group: str


@dataclass(frozen=True)
class MovingScene:
    """Everything in it.

    Attributes:
        t: (N,) times of the poses [s].
        label: read out in place of the scene.
    """

    t: Array
    label: str
    bodies: list[MovingBody] = field(default_factory=list)
    lines: list[DrawnLine] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def markup(self) -> Markup:
        """The element that the page's script fills; hidden until then."""
        return scene_markup(self.document())

    def document(self) -> dict[str, Any]:
        """As plain values, arrays as text."""
        return {
            "label": self.label,
            "t": _numbers(self.t),
            "bodies": [
                {
                    "parts": body.parts, "pose": _numbers(body.pose), "colour": body.colour, "group": body.group,
                    "opacity": body.opacity, "framed": body.framed,
                }
                for body in self.bodies
            ],
            "lines": [
                {"points": _numbers(line.points), "colour": line.colour, "group": line.group, "span": line.span}
                for line in self.lines
            ],
            "arrows": [
                {"start": _numbers(a.start), "vector": _numbers(a.vector), "colour": a.colour, "group": a.group}
                for a in self.arrows
            ],
        }  # fmt: skip


def scene_markup(document: Mapping[str, Any]) -> Markup:
    """The element that a page's script fills; hidden until then.

    Args:
        document: of `MovingScene.document`.
    """
    text = json.dumps(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    data = Markup('<script type="application/json">{}</script>').format(Markup(text))
    return Markup('<div class="scene3d" role="img" aria-label="{}" hidden>{}</div>').format(document["label"], data)


def ball(centre: Array, radius: float) -> Part:
    """A sphere in its body's frame [m]."""
    return {"ball": np.round(centre, 5).tolist(), "radius": round(radius, 5)}


def rod(start: Array, end: Array, radius: float, end_radius: float | None = None) -> Part:
    """A cone frustum between two points of its body's frame [m]."""
    radii = [round(radius, 5), round(radius if end_radius is None else end_radius, 5)]
    return {"rod": [np.round(start, 5).tolist(), np.round(end, 5).tolist()], "radii": radii}


def mesh(triangles: Array) -> Part:
    """Triangles (T, 3, 3) in their body's frame, corners counter-clockwise from outside [m]."""
    return {"mesh": _numbers(triangles)}


def robot_bodies(
    robot: Robot, q: Array, *, group: str, colour: str = LINK, joint_colour: str = JOINT, opacity: float = 1.0
) -> list[MovingBody]:
    """A robot drawn from where its joints are: rods between them, and a hull where three or more hang on one link.

    Args:
        robot: any.
        q: (N, nq) configurations; NaN where it is not to be seen.
        group: of all its bodies.
        colour, joint_colour: of links and joints.
        opacity: of all its bodies.
    """
    model = robot.model
    placed = [[model.jointPlacements[child].translation.copy() for child in children] for children in model.children]
    for point in robot.contacts:
        placed[model.getJointId(point.joint)].append(np.asarray(point.position))
    for joint, points in enumerate(placed):
        if joint and not points:
            placed[joint] = _ends(model, joint)
    lengths = [float(np.linalg.norm(point)) for points in placed[1:] for point in points]
    radius = min(_SLIM * sum(lengths) / max(len(robot.contacts) or 1, 1), _THICKEST)
    bodies = []
    poses = joint_poses(robot, q)
    for joint in range(1 if robot.floating_base else 0, model.njoints):
        pose = poses[joint]
        ends = [point for point in placed[joint] if np.linalg.norm(point) > 1e-3]
        if len(ends) >= 3 and joint == 1:
            spread = np.concatenate([meshes.ball(point, 0.8 * radius).reshape(-1, 3) for point in ends])
            bodies.append(MovingBody([mesh(meshes.hull(spread))], pose, colour, group, opacity))
            continue
        parts = [rod(np.zeros(3), end, radius, 0.9 * radius) for end in ends]
        if parts:
            bodies.append(MovingBody(parts, pose, colour, group, opacity))
        if joint:
            bodies.append(MovingBody([ball(np.zeros(3), 1.1 * radius)], pose, joint_colour, group, opacity))
    return bodies


def _ends(model: pinocchio.Model, joint: int) -> list[Array]:
    """Where a link ends that no joint hangs on: at the furthest thing fixed to it, or beyond its centre of mass."""
    fixed = [f.placement.translation for f in model.frames if f.parentJoint == joint]
    centre = model.inertias[joint].lever
    ends = [max(fixed, key=lambda place: float(np.linalg.norm(place)), default=np.zeros(3))]
    if np.linalg.norm(centre) > np.linalg.norm(ends[0]):
        ends.append(2.0 * centre)
    return [np.array(end) for end in ends]


def joint_poses(robot: Robot, q: Array) -> Array:
    """(njoints, N, 7) poses of all joint frames in the world, position and quaternion x, y, z, w [m]."""
    data = robot.model.createData()
    poses = np.zeros((robot.model.njoints, len(q), 7))
    for row, posture in enumerate(q):
        if not np.isfinite(posture).all():
            poses[:, row] = np.nan
            continue
        pinocchio.forwardKinematics(robot.model, data, posture)
        for joint, placement in enumerate(data.oMi):
            poses[joint, row] = pinocchio.SE3ToXYZQUAT(placement)
    return poses


def frames(count: int) -> npt.NDArray[np.intp]:
    """Indices of at most FRAMES of so many samples, evenly, both ends included."""
    return np.unique(np.linspace(0, count - 1, min(count, FRAMES)).round().astype(np.intp))


def _numbers(values: Array) -> str:
    """Single precision, little endian, base64; what is not finite is the script's NaN."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")
