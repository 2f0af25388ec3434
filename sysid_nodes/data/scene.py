# SPDX-License-Identifier: Apache-2.0
"""Obstacles around a robot, their YAML file, and the checks that reject an unusable one.

A scene file holds one list; everything is in the robot's base frame, metres and radians:

    obstacles:
      - {name: cube, kind: box, position: [0.35, 0.35, 0.15], size: [0.3, 0.3, 0.3], rpy: [0, 0, 0.1]}
      - {name: ball, kind: sphere, position: [0.5, 0, 0.3], radius: 0.1}
      - {name: pole, kind: capsule, position: [0, 0.5, 0.5], radius: 0.05, length: 1.0}
      - {name: ramp, kind: zonotope, position: [0.5, 0, 0.1], generators: [[0.2, 0, 0.1], [0, 0.3, 0], [0, 0, 0.02]]}

A box has its full extents, a capsule the distance of its caps' centres as length, along its z axis. Boxes and capsules
turn by ``rpy`` (about the fixed x, y, z axes in this order) or ``quaternion`` (x, y, z, w); neither means no rotation.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.data.config import read_yaml
from sysid_nodes.exceptions import ConfigError

Vector = tuple[float, ...]

_SIZE_KEYS = {"box": ("size",), "sphere": ("radius",), "capsule": ("radius", "length"), "zonotope": ("generators",)}
_TURNED = ("box", "capsule")
KINDS = tuple(_SIZE_KEYS)
IDENTITY: Vector = (0.0, 0.0, 0.0, 1.0)
LARGEST = 1e6
"""A coordinate beyond this [m] is rejected as an error."""


@dataclass(frozen=True)
class Obstacle:
    """A convex body that the robot must not touch, at rest in the base frame.

    Attributes:
        name: unique in its scene, not empty.
        kind: one of KINDS.
        position: (3,) centre [m].
        size: box (three full extents), sphere (radius,), capsule (radius, length between its caps' centres along its
            z axis), zonotope (), all positive [m].
        quaternion: (x, y, z, w) of the body's axes into the base frame, for boxes and capsules; of norm 1 within
            0.001, and used normalised.
        generators: of a zonotope {position + sum e_i g_i, |e_i| <= 1}, each (3,) [m] in the base frame.

    Raises:
        ConfigError: a value is missing, not finite, of a wrong length or not positive.
    """

    name: str
    kind: str
    position: Vector
    size: Vector = ()
    quaternion: Vector = IDENTITY
    generators: tuple[Vector, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ConfigError(f"an obstacle's name must be text that is not empty, got {self.name!r}")
        if self.kind not in KINDS:
            raise ConfigError(f"obstacle '{self.name}': kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        zonotope = self.kind == "zonotope"
        lengths = {"box": 3, "sphere": 1, "capsule": 2, "zonotope": 0}
        position = _numbers(self.name, "position", self.position, 3)
        size = _numbers(self.name, "size", self.size, lengths[self.kind])
        if any(value <= 0.0 for value in size):
            named = "radius and length" if self.kind == "capsule" else _SIZE_KEYS[self.kind][0]
            raise ConfigError(f"obstacle '{self.name}': {named} must be positive, got {_text(size)}")
        quaternion = _numbers(self.name, "quaternion", self.quaternion, 4)
        if abs(math.hypot(*quaternion) - 1.0) > 1e-3:
            raise ConfigError(f"obstacle '{self.name}': quaternion must have norm 1, got {_text(quaternion)}")
        if self.kind not in _TURNED and quaternion != IDENTITY:
            raise ConfigError(f"obstacle '{self.name}': a {self.kind} takes no rotation")
        if not _is_list(self.generators) or (zonotope and not self.generators):
            raise ConfigError(f"obstacle '{self.name}': generators must be a list of vectors, got {self.generators!r}")
        if self.generators and not zonotope:
            raise ConfigError(f"obstacle '{self.name}': a {self.kind} takes no generators")
        generators = tuple(_numbers(self.name, "a generator", row, 3) for row in self.generators)
        if zonotope and not any(any(row) for row in generators):
            raise ConfigError(f"obstacle '{self.name}': all generators are zero")
        for field, value in (("position", position), ("size", size), ("quaternion", quaternion)):
            object.__setattr__(self, field, value)
        object.__setattr__(self, "generators", generators)


@dataclass(frozen=True)
class Scene:
    """All obstacles around a robot; there may be none.

    Raises:
        ConfigError: two obstacles share a name.
    """

    obstacles: tuple[Obstacle, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "obstacles", tuple(self.obstacles))
        names = [obstacle.name for obstacle in self.obstacles]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ConfigError(f"two obstacles are called '{twice[0]}'")

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits of the content: equal scenes share them, whatever the order of their obstacles."""
        rows = []
        for item in sorted(self.obstacles, key=lambda obstacle: obstacle.name):
            rows.append(repr((item.name, item.kind, item.position, item.size, item.quaternion, item.generators)))
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:12]


def load_scene(path: Path) -> Scene:
    """Reads a scene file.

    Raises:
        ConfigError: the file is unreadable, not YAML or does not describe a scene; names the file.
    """
    return scene_from_mapping(read_yaml(path), source=str(path))


def scene_from_mapping(tree: Any, *, source: str = "") -> Scene:
    """The scene that a parsed file describes.

    Args:
        tree: a mapping with the one key ``obstacles``.
        source: file or topic, for the messages.

    Raises:
        ConfigError: a key is missing or unknown, or a value is unusable.
    """
    try:
        if not isinstance(tree, Mapping) or set(tree) != {"obstacles"}:
            raise ConfigError("a scene is one list called 'obstacles'")
        rows = tree["obstacles"]
        if not _is_list(rows):
            raise ConfigError(f"'obstacles' must be a list, got {rows!r}")
        return Scene(tuple(_obstacle(row, index) for index, row in enumerate(rows)))
    except ConfigError as error:
        raise error if error.source or not source else ConfigError(str(error), source=source) from None


def scene_to_mapping(scene: Scene) -> dict[str, Any]:
    """A mapping from which scene_from_mapping makes the same scene."""
    rows: list[dict[str, Any]] = []
    for item in scene.obstacles:
        row: dict[str, Any] = {"name": item.name, "kind": item.kind, "position": list(item.position)}
        if item.kind == "zonotope":
            row["generators"] = [list(generator) for generator in item.generators]
        elif item.kind == "box":
            row["size"] = list(item.size)
        else:
            row |= dict(zip(_SIZE_KEYS[item.kind], item.size, strict=True))
        if item.quaternion != IDENTITY:
            row["quaternion"] = list(item.quaternion)
        rows.append(row)
    return {"obstacles": rows}


def _obstacle(row: Any, index: int) -> Obstacle:
    if not isinstance(row, Mapping):
        raise ConfigError(f"obstacle {index} must have a name, a kind and a position, got {row!r}")
    if "name" not in row:
        raise ConfigError(f"obstacle {index} has no 'name'")
    name, kind = row["name"], row.get("kind", "")
    if "kind" not in row:
        raise ConfigError(f"obstacle '{name}' has no 'kind'")
    if not isinstance(kind, str) or kind not in _SIZE_KEYS:
        return Obstacle(name, kind, ())  # says which kinds there are
    keys = _SIZE_KEYS[kind]
    known = {"name", "kind", "position", *keys, *(("rpy", "quaternion") if kind in _TURNED else ())}
    if missing := [key for key in ("position", *keys) if key not in row]:
        raise ConfigError(f"obstacle '{name}' has no '{missing[0]}'")
    if unknown := sorted(str(key) for key in set(row) - known):
        raise ConfigError(f"obstacle '{name}': unknown key '{unknown[0]}' for a {kind}")
    if "rpy" in row and "quaternion" in row:
        raise ConfigError(f"obstacle '{name}' has both 'rpy' and 'quaternion'")
    quaternion = row.get("quaternion", IDENTITY)
    if "rpy" in row:
        quaternion = _quaternion(*_numbers(name, "rpy", row["rpy"], 3))
    if kind == "zonotope":
        return Obstacle(name, kind, row["position"], generators=row["generators"])
    size = row["size"] if kind == "box" else tuple(_numbers(name, key, [row[key]], 1)[0] for key in keys)
    return Obstacle(name, kind, row["position"], size, quaternion)


def _numbers(name: str, key: str, values: Any, length: int) -> Vector:
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if not _is_list(values) or len(values) != length:
        raise ConfigError(f"obstacle '{name}': {key} must be {_count(length)}, got {_text(values)}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
            raise ConfigError(f"obstacle '{name}': {key} must be finite numbers below 1e6, got {_text(values)}")
    return tuple(float(value) + 0.0 for value in values)  # no minus zero: it would change the id


def _is_list(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, (str, bytes))


def _count(length: int) -> str:
    return "empty" if length == 0 else f"{length} number{'s' if length > 1 else ''}"


def _text(values: Any) -> str:
    return repr(list(values)) if isinstance(values, tuple) else repr(values)


def _quaternion(roll: float, pitch: float, yaw: float) -> Vector:
    """x, y, z, w of Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(0.5 * angle), math.cos(0.5 * angle)) for angle in (roll, pitch, yaw))
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def scene_of(path: str) -> Scene:
    """Reads a scene file; without one the scene is empty.

    Raises:
        ConfigError: the file is unusable.
    """
    return load_scene(Path(path)) if path else Scene()
