# SPDX-License-Identifier: Apache-2.0
"""Obstacles, plans and proofs to look at in RViz, in the robot's base frame."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pinocchio
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from scipy.spatial import ConvexHull, QhullError
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.robots import Primitive, Robot

Array = npt.NDArray[np.float64]
Colour = tuple[float, float, float, float]

OBSTACLE: Colour = (0.85, 0.3, 0.2, 0.6)
SWEPT: Colour = (0.2, 0.6, 0.9, 0.08)
REST: Colour = (0.2, 0.8, 0.4, 0.35)
PATH: Colour = (0.1, 0.4, 1.0, 1.0)
TEXT: Colour = (1.0, 1.0, 1.0, 1.0)

_STILLS = 8
"""Postures that stand for a swept volume."""

_PATH_POINTS = 60
_LINE = 0.006  # [m]
_LETTERS = 0.04  # [m]
_TEXT_AT = (0.0, 0.0, 1.35)  # above the arm [m]


def obstacle_markers(scene: Scene, frame: str) -> MarkerArray:
    """Every obstacle in its place; replaces all that was on the topic before."""
    return _array(frame, {"obstacles": (part for item in scene.obstacles for part in _obstacle(item))})


def plan_markers(
    robot: Robot, shapes: Sequence[Primitive], plan: Bezier, frame: str, *, lines: Sequence[str]
) -> MarkerArray:
    """A trajectory: path of the last joint, room it sweeps, where it rests, and what was proven of it.

    Replaces all that was on the topic before.

    Args:
        robot: kinematics.
        shapes: of robot and load; of the swept room, those of joints that move something are shown.
        frame: the robot's base.
        lines: text above the robot.
    """
    times = np.linspace(0.0, plan.duration, _PATH_POINTS)
    data, last = robot.model.createData(), robot.n
    points = []
    for q in plan(times).q:
        pinocchio.forwardKinematics(robot.model, data, q)
        points.append(data.oMi[last].translation.copy())
    path = Marker(type=Marker.LINE_STRIP, color=_colour(PATH), points=[_point(point) for point in points])
    path.scale.x = _LINE
    stills = plan(np.linspace(0.0, plan.duration, _STILLS)).q[:-1]
    swept = (part for q in stills for part in _shapes(robot, shapes, q, SWEPT, moving=True))
    text = Marker(type=Marker.TEXT_VIEW_FACING, color=_colour(TEXT), text="\n".join(lines))
    text.pose.position, text.scale.z = _point(_TEXT_AT), _LETTERS
    parts = {
        "path": iter([path]),
        "swept": swept,
        "rest": _shapes(robot, shapes, plan.goal, REST, moving=True),
        "margins": iter([text]),
    }
    return _array(frame, parts)


def margin_lines(record: TrajectoryRecord) -> list[str]:
    """Margins of a trajectory's certificate, in a few lines."""
    torque, velocity = int(np.argmin(record.torque_margin)), int(np.argmin(record.velocity_margin))
    names = record.joint_names
    return [
        f"binding: {record.binding}",
        f"torque {record.torque_margin[torque]:.1f} N m ({names[torque]})",
        f"velocity {record.velocity_margin[velocity]:.2f} rad/s ({names[velocity]})",
        f"obstacles {record.obstacle_margin:.3f} m, itself {record.self_margin:.3f} m",
        f"mass {record.lower[0]:.2f} to {record.upper[0]:.2f} kg",
    ]


def _array(frame: str, groups: Mapping[str, Iterator[Marker]]) -> MarkerArray:
    """Markers by namespace, after one that deletes all."""
    clear = Marker(action=Marker.DELETEALL)
    clear.header.frame_id = frame
    markers = [clear]
    for name, parts in groups.items():
        for index, marker in enumerate(parts):
            marker.ns, marker.id, marker.action = name, index, Marker.ADD
            marker.header.frame_id, marker.frame_locked = frame, True
            markers.append(marker)
    return MarkerArray(markers=markers)


def _shapes(robot: Robot, shapes: Sequence[Primitive], q: Array, colour: Colour, *, moving: bool) -> Iterator[Marker]:
    data = robot.model.createData()
    pinocchio.forwardKinematics(robot.model, data, q)
    for shape in shapes:
        joint = int(robot.model.getJointId(shape.frame)) if shape.frame != "universe" else 0
        if moving and joint == 0:
            continue
        placed = data.oMi[joint]
        rotation = placed.rotation @ np.asarray(shape.rotation)
        yield from _solid(shape.kind, placed.act(np.asarray(shape.position)), rotation, _full(shape), colour)


def _full(shape: Primitive) -> Array:
    """Sizes as an obstacle has them: a box's full extents, a capsule's radius and distance of the caps."""
    scale = {"box": [2.0, 2.0, 2.0], "sphere": [1.0], "capsule": [1.0, 2.0]}[shape.kind]
    return np.array(scale) * np.asarray(shape.size, dtype=np.float64)


def _obstacle(item: Obstacle) -> Iterator[Marker]:
    place = np.array(item.position)
    if item.kind == "zonotope":
        yield _hull(place, np.array(item.generators))
        return
    turn = pinocchio.Quaternion(np.array(item.quaternion)).normalized().toRotationMatrix()
    yield from _solid(item.kind, place, turn, np.array(item.size), OBSTACLE)


def _solid(kind: str, place: Array, rotation: Array, size: Array, colour: Colour) -> Iterator[Marker]:
    if kind == "box":
        yield _marker(Marker.CUBE, place, rotation, size, colour)
    elif kind == "sphere":
        yield _marker(Marker.SPHERE, place, rotation, np.full(3, 2.0 * size[0]), colour)
    else:
        width, length = 2.0 * size[0], size[1]
        yield _marker(Marker.CYLINDER, place, rotation, np.array([width, width, length]), colour)
        for side in (-0.5, 0.5):
            yield _marker(Marker.SPHERE, place + side * length * rotation[:, 2], rotation, np.full(3, width), colour)


def _hull(place: Array, generators: Array) -> Marker:
    """A zonotope's surface; a flat one shows its corners."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(generators))))
    corners = signs @ generators
    marker = _marker(Marker.TRIANGLE_LIST, place, np.eye(3), np.ones(3), OBSTACLE)
    try:
        hull = ConvexHull(corners)
    except (QhullError, ValueError):
        marker.type, marker.scale = Marker.SPHERE_LIST, Vector3(x=0.02, y=0.02, z=0.02)
        marker.points = [_point(corner) for corner in corners]
        return marker
    marker.points = [_point(corners[index]) for face in hull.simplices for index in face]
    return marker


def _marker(kind: int, place: Array, rotation: Array, size: Array, colour: Colour) -> Marker:
    x, y, z, w = pinocchio.Quaternion(np.asarray(rotation)).coeffs().tolist()
    pose = Pose(position=_point(place), orientation=Quaternion(x=x, y=y, z=z, w=w))
    scale = Vector3(**dict(zip("xyz", map(float, size), strict=True)))
    return Marker(type=kind, pose=pose, scale=scale, color=_colour(colour))


def _point(values: Sequence[float] | Array) -> Point:
    return Point(**dict(zip("xyz", map(float, values), strict=True)))


def _colour(values: Colour) -> ColorRGBA:
    return ColorRGBA(**dict(zip("rgba", values, strict=True)))
