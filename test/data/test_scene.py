# SPDX-License-Identifier: Apache-2.0
"""Scene files: what they may say, what is refused and how, and the scenes of this package."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from sysid_nodes.data.scene import Obstacle, Scene, load_scene, scene_from_mapping, scene_to_mapping
from sysid_nodes.exceptions import ConfigError

SCENES = Path(__file__).resolve().parents[2] / "config" / "scenes"
TEXT = """
obstacles:
  - {name: cube, kind: box, position: [0.35, 0.35, 0.15], size: [0.3, 0.2, 0.1], rpy: [0, 0, 1.5707963267948966]}
  - {name: ball, kind: sphere, position: [0.5, 0, 0.3], radius: 0.1}
  - {name: pole, kind: capsule, position: [0, 0.5, 0.5], radius: 0.05, length: 1, quaternion: [1, 0, 0, 0]}
  - {name: ramp, kind: zonotope, position: [0.5, 0, 0.1], generators: [[0.2, 0, 0.1], [0, 0.3, 0]]}
"""
BOX = {"name": "cube", "kind": "box", "position": [0.0, 0.0, 1.0], "size": [0.1, 0.1, 0.1]}
BALL = {"name": "ball", "kind": "sphere", "position": [0.0, 0.0, 1.0], "radius": 0.1}
ZONOTOPE = {"name": "ramp", "kind": "zonotope", "position": [0.0, 0.0, 1.0], "generators": [[0.1, 0.0, 0.0]]}


def test_a_file_is_read_as_written(tmp_path: Path) -> None:
    file = tmp_path / "scene.yaml"
    file.write_text(TEXT, encoding="utf-8")
    cube, ball, pole, ramp = load_scene(file).obstacles
    assert (cube.kind, cube.position, cube.size) == ("box", (0.35, 0.35, 0.15), (0.3, 0.2, 0.1))
    np.testing.assert_allclose(cube.quaternion, [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-15)
    assert (ball.size, ball.quaternion) == ((0.1,), (0.0, 0.0, 0.0, 1.0))
    assert (pole.size, pole.quaternion) == ((0.05, 1.0), (1.0, 0.0, 0.0, 0.0))
    assert ramp.generators == ((0.2, 0.0, 0.1), (0.0, 0.3, 0.0))


def test_angles_turn_about_the_fixed_axes_x_first() -> None:
    scene = scene_from_mapping({"obstacles": [BOX | {"rpy": [0.3, -0.5, 1.1]}]})
    x, y, z, w = scene.obstacles[0].quaternion
    pinocchio = pytest.importorskip("pinocchio")
    np.testing.assert_allclose(
        pinocchio.Quaternion(w, x, y, z).toRotationMatrix(), pinocchio.rpy.rpyToMatrix(0.3, -0.5, 1.1), atol=1e-15
    )


def test_the_id_is_of_the_content() -> None:
    scene = scene_from_mapping(yaml.safe_load(TEXT))
    assert scene == scene_from_mapping(scene_to_mapping(scene))
    assert len(scene.id) == 12 and int(scene.id, 16) >= 0
    assert Scene(scene.obstacles[::-1]).id == scene.id
    seen = {scene.id, Scene().id}
    for k, obstacle in enumerate(scene.obstacles):
        for change in ({"position": (0.0, 0.0, 5.0)}, {"name": "other"}):
            changed = (*scene.obstacles[:k], dataclasses.replace(obstacle, **change), *scene.obstacles[k + 1 :])
            seen.add(Scene(changed).id)
    assert len(seen) == 2 + 2 * len(scene.obstacles)
    zero, minus_zero = (Scene((Obstacle("b", "sphere", (x, 0.0, 0.0), (0.1,)),)) for x in (0.0, -0.0))
    assert zero.id == minus_zero.id


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (None, "a scene is one list called 'obstacles'"),
        ({"obstacle": []}, "a scene is one list called 'obstacles'"),
        ({"obstacles": [], "frame": "map"}, "a scene is one list called 'obstacles'"),
        ({"obstacles": {"cube": BOX}}, "'obstacles' must be a list, got {'cube'"),
        ({"obstacles": "cube"}, "'obstacles' must be a list, got 'cube'"),
        ({"obstacles": [BOX, 3]}, "obstacle 1 must have a name, a kind and a position, got 3"),
        ({"obstacles": [BOX, dict(BALL, name="cube")]}, "two obstacles are called 'cube'"),
    ],
)
def test_a_file_that_is_no_scene(tree: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        scene_from_mapping(tree, source="file.yaml")
    assert str(caught.value).startswith(f"file.yaml: {message}")
    assert caught.value.source == "file.yaml"


@pytest.mark.parametrize(
    ("row", "change", "message"),
    [
        (BOX, {"name": None}, "obstacle 0 has no 'name'"),
        (BOX, {"name": ""}, "an obstacle's name must be text that is not empty, got ''"),
        (BOX, {"name": 3}, "an obstacle's name must be text that is not empty, got 3"),
        (BOX, {"kind": None}, "obstacle 'cube' has no 'kind'"),
        (BOX, {"kind": "cube"}, "obstacle 'cube': kind must be one of box, sphere, capsule, zonotope, got 'cube'"),
        (BOX, {"kind": ["box"]}, "obstacle 'cube': kind must be one of box, sphere, capsule, zonotope, got ['box']"),
        (BOX, {"position": None}, "obstacle 'cube' has no 'position'"),
        (BOX, {"position": [0, 1]}, "obstacle 'cube': position must be 3 numbers, got [0, 1]"),
        (BOX, {"position": 1.0}, "obstacle 'cube': position must be 3 numbers, got 1.0"),
        (BOX, {"position": "abc"}, "obstacle 'cube': position must be 3 numbers, got 'abc'"),
        (
            BOX,
            {"position": [0, 0, np.nan]},
            "obstacle 'cube': position must be finite numbers below 1e6, got [0, 0, nan]",
        ),
        (
            BOX,
            {"position": [0, 0, "1e-1"]},
            "obstacle 'cube': position must be finite numbers below 1e6, got [0, 0, '1e-1']",
        ),
        (
            BOX,
            {"position": [0, 0, True]},
            "obstacle 'cube': position must be finite numbers below 1e6, got [0, 0, True]",
        ),
        (BOX, {"position": [10**400, 0, 0]}, "obstacle 'cube': position must be finite numbers below 1e6, got [1000"),
        (BOX, {"size": None}, "obstacle 'cube' has no 'size'"),
        (BOX, {"size": [0.1, 0.1]}, "obstacle 'cube': size must be 3 numbers, got [0.1, 0.1]"),
        (BOX, {"size": [0.1, -0.1, 0.1]}, "obstacle 'cube': size must be positive, got [0.1, -0.1, 0.1]"),
        (BOX, {"size": [0.1, 0.0, 0.1]}, "obstacle 'cube': size must be positive, got [0.1, 0.0, 0.1]"),
        (
            BOX,
            {"size": [0.1, np.inf, 0.1]},
            "obstacle 'cube': size must be finite numbers below 1e6, got [0.1, inf, 0.1]",
        ),
        (BOX, {"radius": 0.1}, "obstacle 'cube': unknown key 'radius' for a box"),
        (BOX, {"rpy": [0, 0]}, "obstacle 'cube': rpy must be 3 numbers, got [0, 0]"),
        (BOX, {"quaternion": [0, 0, 1]}, "obstacle 'cube': quaternion must be 4 numbers, got [0, 0, 1]"),
        (BOX, {"quaternion": [0, 0, 0, 0]}, "obstacle 'cube': quaternion must have norm 1, got [0.0, 0.0, 0.0, 0.0]"),
        (BOX, {"quaternion": [0, 0, 0, 1], "rpy": [0, 0, 0]}, "obstacle 'cube' has both 'rpy' and 'quaternion'"),
        (BALL, {"radius": None}, "obstacle 'ball' has no 'radius'"),
        (BALL, {"radius": -0.1}, "obstacle 'ball': radius must be positive, got [-0.1]"),
        (BALL, {"radius": [0.1]}, "obstacle 'ball': radius must be finite numbers below 1e6, got [[0.1]]"),
        (BALL, {"rpy": [0, 0, 0]}, "obstacle 'ball': unknown key 'rpy' for a sphere"),
        (BALL, {"kind": "capsule"}, "obstacle 'ball' has no 'length'"),
        (
            BALL,
            {"kind": "capsule", "length": -1.0},
            "obstacle 'ball': radius and length must be positive, got [0.1, -1.0]",
        ),
        (ZONOTOPE, {"generators": None}, "obstacle 'ramp' has no 'generators'"),
        (ZONOTOPE, {"generators": []}, "obstacle 'ramp': generators must be a list of vectors, got []"),
        (ZONOTOPE, {"generators": 1}, "obstacle 'ramp': generators must be a list of vectors, got 1"),
        (ZONOTOPE, {"generators": [0.1, 0.2, 0.3]}, "obstacle 'ramp': a generator must be 3 numbers, got 0.1"),
        (ZONOTOPE, {"generators": [[0, 0, 0]]}, "obstacle 'ramp': all generators are zero"),
        (ZONOTOPE, {"size": [1, 1, 1]}, "obstacle 'ramp': unknown key 'size' for a zonotope"),
    ],
)
def test_an_obstacle_that_is_refused(row: dict[str, Any], change: dict[str, Any], message: str) -> None:
    """One line that names the obstacle; None stands for a key that is left out."""
    changed = {key: value for key, value in (row | change).items() if value is not None}
    with pytest.raises(ConfigError) as caught:
        scene_from_mapping({"obstacles": [changed]}, source="scene.yaml")
    assert str(caught.value).startswith(f"scene.yaml: {message}")
    assert "\n" not in str(caught.value)


def test_obstacles_made_in_code_are_checked_as_well() -> None:
    with pytest.raises(ConfigError, match="a sphere takes no rotation"):
        Obstacle("ball", "sphere", (0.0, 0.0, 0.0), (0.1,), (1.0, 0.0, 0.0, 0.0))
    with pytest.raises(ConfigError, match="a box takes no generators"):
        Obstacle("cube", "box", (0.0, 0.0, 0.0), (0.1, 0.1, 0.1), generators=((1.0, 0.0, 0.0),))
    assert Obstacle("a", "sphere", np.zeros(3), np.ones(1)).position == (0.0, 0.0, 0.0)  # type: ignore[arg-type]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: No such file or directory"):
        load_scene(tmp_path / "nowhere.yaml")
    file = tmp_path / "bad.yaml"
    file.write_text("obstacles: [", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"bad\.yaml: not valid YAML: .*") as caught:
        load_scene(file)
    assert "\n" not in str(caught.value)


def test_the_scenes_of_this_package() -> None:
    scenes = {path.stem: load_scene(path) for path in SCENES.glob("*.yaml")}
    assert {"empty", "kinova_obstacles", "kinova_low", "kinova_high"} <= set(scenes)
    assert scenes["empty"] == Scene()
    # the authors' numbers, typed once more: place and full extents
    published = {
        "cube_low": ((0.35, 0.35, 0.15), (0.3, 0.3, 0.3)),
        "cube_middle": ((0.35, 0.35, 0.45), (0.3, 0.3, 0.3)),
        "cube_high": ((0.35, 0.35, 0.75), (0.3, 0.3, 0.3)),
        "table": ((0.7, 0.0, 0.0), (2.0, 2.0, 0.01)),
        "wall": ((-0.39, -0.2, 0.56), (0.08, 2.0, 1.12)),
    }
    assert {o.name: (o.position, o.size) for o in scenes["kinova_obstacles"].obstacles} == published
    for name, distance in (("kinova_low", 0.25), ("kinova_high", 0.5)):
        (platform,) = [o for o in scenes[name].obstacles if o.name == "platform"]
        assert platform.position[:2] == (distance, 0.0)
