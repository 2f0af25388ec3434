# SPDX-License-Identifier: Apache-2.0
"""A picture of a robot among obstacles at several times, with the way of what it carries.

Bodies are drawn with a depth buffer and put into the page as an image; lines and letters over them stay vectors. The
part of the way that something hides is dotted.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio
from matplotlib.image import imsave

from sysid_nodes.data.scene import Scene
from sysid_nodes.models.solids import Solid, from_obstacle
from sysid_nodes.reports.drawing import meshes
from sysid_nodes.reports.drawing.raster import Camera, Canvas, Colour
from sysid_nodes.robots import Primitive, Robot

Array = npt.NDArray[np.float64]

_LINK: Colour = (0.93, 0.94, 0.96)
_JOINT: Colour = (0.42, 0.47, 0.53)
_LOAD: Colour = (0.16, 0.2, 0.26)
_OBSTACLE: Colour = (0.9, 0.55, 0.4)
_PLATE: Colour = (0.93, 0.92, 0.89)
_SKY: Colour = (1.0, 1.0, 1.0)
_LIGHT = np.array([0.35, -0.5, 0.79])
_SHADOW = 0.16
_GHOST = 0.34  # opacity of a posture that is not the last

_FLAT, _WIDE = 0.05, 0.8  # an obstacle lower and wider than this is a plate that others stand on [m]
_AROUND = 0.3  # of a plate, what lies farther than this from everything else is left out [m]
_SLIM = 0.042  # radius of a link, of the length of the arm
_SMOOTH = 2  # pixels are means of so many squared
_FILL = 0.86  # of the picture that what is seen takes
_TEXT = 0.017  # height of letters, of the picture's width


@dataclass(frozen=True)
class Still:
    """The robot at one time.

    Attributes:
        q: (n,) posture.
        label: what is written where its load is; may be empty.
    """

    q: Array
    label: str = ""


@dataclass(frozen=True)
class Way:
    """A stretch of the motion, drawn as the line that the load's centre, or the last joint, follows.

    Attributes:
        q: (N, n) postures.
        colour: of the line, as SVG has it.
    """

    q: Array
    colour: str


def scene_picture(
    robot: Robot,
    scene: Scene,
    stills: Sequence[Still],
    ways: Sequence[Way],
    *,
    load: Primitive | None,
    label: str,
    view: str = "side",
    size: tuple[int, int] = (976, 610),
) -> str:
    """An SVG element.

    Args:
        robot: with a fixed base.
        scene: obstacles.
        stills: postures, the last one drawn solid, those before it faint.
        ways: lines.
        load: room of what is carried, on the robot's last joint; drawn as a dumbbell that fills it.
        label: of the picture, to be read out.
        view: ``side`` or ``top``.
        size: width and height [px]; the width of a page where nothing else is said.
    """
    bodies = [_body(robot, still.q, load) for still in stills]
    solids = {item.name: from_obstacle(item) for item in scene.obstacles}
    plates = {name: solid for name, solid in solids.items() if is_plate(solid)}
    things = {name: solid for name, solid in solids.items() if name not in plates}
    lines = [load_way(robot, way.q, load) for way in ways]
    seen = np.concatenate(
        [*(body.points for body in bodies), *(solid_mesh(thing).reshape(-1, 3) for thing in things.values()), *lines]
    )
    camera = _camera(seen, lines, view, size)
    canvas = Canvas(camera, _SKY)
    _draw_plates(canvas, plates, seen, [*(solid_mesh(thing) for thing in things.values()), *bodies[-1:]])
    for thing in things.values():
        canvas.draw([(solid_mesh(thing), _OBSTACLE)], _LIGHT)
    for body, opacity in zip(bodies[::-1], [1.0] + [_GHOST] * (len(bodies) - 1), strict=True):
        canvas.draw(body.parts, _LIGHT, opacity=opacity)
    marks = [_path(canvas, line, way.colour) for line, way in zip(lines, ways, strict=True)]
    marks += [_text_below(canvas, name, solid_mesh(solid)) for name, solid in things.items()]
    marks += [_text_above(canvas, still.label, body.tip) for still, body in zip(stills, bodies, strict=True)]
    return _svg(canvas, marks, label)


@dataclass(frozen=True)
class _Body:
    """A robot in one posture: coloured triangles, the points it spans, and where its load is."""

    parts: list[tuple[Array, Colour]]
    points: Array
    tip: Array


def _body(robot: Robot, q: Array, load: Primitive | None) -> _Body:
    placed = _placements(robot, q)
    points = [np.zeros(3), *(place.translation.copy() for place in placed)]
    radius = _SLIM * float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    radii = np.linspace(1.15, 0.8, len(points)) * radius
    ends = zip(points[:-1], points[1:], radii[:-1], radii[1:], strict=True)
    links = np.concatenate([meshes.rod(*end) for end in ends])
    joints = np.concatenate([meshes.ball(point, 1.12 * r) for point, r in zip(points[1:], radii[1:], strict=True)])
    parts: list[tuple[Array, Colour]] = [(links, _LINK)]
    tip = points[-1]
    if load is not None:
        tip = placed[-1].act(np.asarray(load.position))
        grip = meshes.rod(points[-1], points[-1] + 0.8 * (tip - points[-1]), 0.8 * radii[-1], 0.6 * radii[-1])
        joints = np.concatenate([joints, grip])
        parts.append((load_mesh(load, placed[-1].rotation @ load.rotation, tip), _LOAD))
    return _Body([*parts, (joints, _JOINT)], np.vstack([*points, tip]), tip)


def load_mesh(load: Primitive, rotation: Array, centre: Array) -> Array:
    """(T, 3, 3) triangles of a dumbbell that fills a load's room, axes and centre given [m]."""
    half = np.asarray(load.size, dtype=np.float64)
    if load.kind == "capsule":
        half = np.array([half[0], half[0], half[0] + half[1]])
    elif load.kind == "sphere":
        half = np.full(3, half[0])
    return meshes.dumbbell(centre, rotation, half)


def load_way(robot: Robot, q: Array, load: Primitive | None) -> Array:
    """(N, 3) where the load's centre is [m]."""
    offset = np.zeros(3) if load is None else np.asarray(load.position)
    return np.array([_placements(robot, row)[-1].act(offset) for row in q]).reshape(-1, 3)


def _placements(robot: Robot, q: Array) -> list[pinocchio.SE3]:
    data = robot.model.createData()
    pinocchio.forwardKinematics(robot.model, data, np.asarray(q, dtype=np.float64))
    return [data.oMi[k] for k in range(1, robot.model.njoints)]


def solid_mesh(solid: Solid) -> Array:
    """Its surface; where a ball is added to several generators, without the ball."""
    if not len(solid.generators):
        return meshes.ball(solid.centre, solid.radius)
    if len(solid.generators) == 1:
        axis = solid.generators[0]
        return meshes.capsule(solid.centre - axis, solid.centre + axis, solid.radius)
    return meshes.zonotope(solid.centre, solid.generators)


def _height(solid: Solid) -> float:
    """From its centre to its top [m]."""
    return float(np.abs(solid.generators[:, 2]).sum()) + solid.radius


def is_plate(solid: Solid) -> bool:
    """Whether it is a floor or table that others stand on."""
    extent = 2.0 * np.abs(solid.generators).sum(axis=0) if len(solid.generators) else np.full(3, 2.0 * solid.radius)
    return bool(extent[2] < _FLAT and extent[:2].min() > _WIDE)


def _draw_plates(canvas: Canvas, plates: dict[str, Solid], seen: Array, above: Sequence[Array | _Body]) -> None:
    """The floor or table under everything, as far as something is near, and the shadows on it."""
    low, high = seen.min(axis=0) - _AROUND, seen.max(axis=0) + _AROUND
    for plate in plates.values():
        triangles = solid_mesh(plate)
        for axis in (0, 1):
            triangles = _cut(_cut(triangles, axis, low[axis], 1.0), axis, high[axis], -1.0)
        canvas.draw([(triangles, _PLATE)], _LIGHT)
        top = float(plate.centre[2]) + _height(plate)
        meshed = [[part for part, _ in thing.parts] if isinstance(thing, _Body) else [thing] for thing in above]
        fallen = np.concatenate([part for group in meshed for part in group])
        fall = np.maximum(fallen[..., 2:] - top, 0.0) / _LIGHT[2]
        shadow = fallen - fall * _LIGHT
        shadow[..., 2] = top
        canvas.darken(shadow, _SHADOW)


def _cut(triangles: Array, axis: int, at: float, side: float) -> Array:
    """The part of triangles beyond a plane across an axis, on its positive (1) or negative side (-1)."""
    out = []
    for corners in triangles:
        kept: list[Array] = []
        for k in range(3):
            one, two = corners[k], corners[(k + 1) % 3]
            a, b = side * (one[axis] - at), side * (two[axis] - at)
            kept += [one] if a >= 0.0 else []
            kept += [one + (two - one) * (a / (a - b))] if a * b < 0.0 else []
        out += [np.array([kept[0], kept[k], kept[k + 1]]) for k in range(1, len(kept) - 1)]
    return np.array(out).reshape(-1, 3, 3)


def _camera(seen: Array, lines: Sequence[Array], view: str, size: tuple[int, int]) -> Camera:
    """Looks at all that is seen, from the outside across the way."""
    width, height = (_SMOOTH * side for side in size)
    middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    if view == "top":
        eye, up = middle + np.array([0.0, 0.0, 6.0]), np.array([0.0, 1.0, 0.0])
    else:
        way = np.concatenate([line for line in lines if len(line)] or [seen])
        ends = way[-1] - way[0]
        across = np.array([-ends[1], ends[0], 0.0])
        outward = np.array([*way.mean(axis=0)[:2], 0.0])
        across = across if across @ outward > 0.0 else -across
        across = across / np.linalg.norm(across) if np.linalg.norm(across) > 0.05 else np.array([1.0, 0.0, 0.0])
        eye, up = middle + 2.6 * across + np.array([0.0, 0.0, 1.35]), np.array([0.0, 0.0, 1.0])
    places = Camera(eye, middle, up, 1.0, width, height).project(seen)[:, :2] - [0.5 * width, 0.5 * height]
    low, high = places.min(axis=0), places.max(axis=0)
    zoom = float((_FILL * np.array([width, height]) / np.maximum(high - low, 1.0)).min())
    x, y = (-0.5 * zoom * (low + high)).tolist()
    return Camera(eye, middle, up, zoom, width, height, (x, y))


def _path(canvas: Canvas, line: Array, colour: str) -> str:
    """The visible parts of a line solid, the others dotted."""
    if len(line) < 2:
        return ""
    places, seen = canvas.camera.project(line)[:, :2] / _SMOOTH, canvas.visible(line, 0.09)
    parts, first = [], 0
    for k in range(1, len(line) + 1):
        if k == len(line) or seen[k] != seen[first]:
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places[first : k + 1])
            kind = "seen" if seen[first] else "behind"
            parts.append(f'<polyline class="way {kind}" stroke="{colour}" points="{points}"/>')
            first = k
    return "".join(parts)


def _text_below(canvas: Canvas, words: str, triangles: Array) -> str:
    """Under the middle of an obstacle (T, 3, 3) as it is seen, wherever from; nothing where it is flat."""
    if not len(triangles):
        return ""
    corners = canvas.camera.project(triangles.reshape(-1, 3))[:, :2].reshape(-1, 3, 2) / _SMOOTH
    x = 0.5 * float(corners[..., 0].min() + corners[..., 0].max())
    one, two = (edge.reshape(-1, 2) for edge in (corners, np.roll(corners, 1, axis=1)))
    across = ((one[:, 0] - x) * (two[:, 0] - x) <= 0.0) & (one[:, 0] != two[:, 0])
    share = (x - one[across, 0]) / (two[across, 0] - one[across, 0])
    edge = float(np.max(one[across, 1] + share * (two[across, 1] - one[across, 1])))
    size = _TEXT * canvas.camera.width / _SMOOTH
    return _text(words, x, min(edge + 1.4 * size, canvas.camera.height / _SMOOTH - 0.4 * size), "obstacle")


def _text_above(canvas: Canvas, words: str, point: Array) -> str:
    x, y, _ = canvas.camera.project(point) / _SMOOTH
    return _text(words, x, y - 3.2 * _TEXT * canvas.camera.width / _SMOOTH, "still")


def _text(words: str, x: float, y: float, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{html.escape(words)}</text>' if words else ""


def _svg(canvas: Canvas, marks: Sequence[str], label: str) -> str:
    buffer = io.BytesIO()
    imsave(buffer, canvas.pixels(_SMOOTH), format="jpg", pil_kwargs={"quality": 88})
    data = base64.b64encode(buffer.getvalue()).decode()
    width, height = canvas.camera.width // _SMOOTH, canvas.camera.height // _SMOOTH
    size = _TEXT * width
    style = (
        f"font-size:{size:.1f}px;font-family:sans-serif;fill:none;stroke-width:{0.0028 * width:.1f};"
        "stroke-linejoin:round;stroke-linecap:round"
    )
    drawn = "".join(marks)
    for kind, look in _LOOKS.items():
        drawn = drawn.replace(f'class="{kind}"', look)
    return (
        f'<svg role="img" aria-label="{html.escape(label)}" viewBox="0 0 {width} {height}" style="{style}">'
        f'<image href="data:image/jpeg;base64,{data}" width="{width}" height="{height}"/>{drawn}</svg>'
    )


_HALO = 'stroke="#ffffff" stroke-width="4" paint-order="stroke" text-anchor="middle"'
_LOOKS = {
    "way seen": "",
    "way behind": 'stroke-dasharray="0.5 7" opacity="0.8"',
    "obstacle": f'fill="#7a3313" {_HALO}',
    "still": f'fill="#1c2733" {_HALO}',
}
