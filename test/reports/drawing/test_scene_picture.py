# SPDX-License-Identifier: Apache-2.0
"""Drawn bodies are closed and as large as they are, what is in front hides what is behind, words are escaped."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.reports.drawing import meshes, scene_picture
from sysid_nodes.reports.drawing.raster import Camera, Canvas
from sysid_nodes.reports.drawing.scene_picture import Still, Way
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume
from sysid_nodes.simulation.arm.config import START

LIGHT = np.array([0.0, 0.0, 1.0])
RED, BLUE, WHITE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0)


def volume(triangles: np.ndarray) -> float:
    """By the divergence theorem: that of a closed surface whose corners are counter-clockwise from outside."""
    a, b, c = np.moveaxis(triangles, 1, 0)
    return float(np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0)


def rotation(seed: int) -> np.ndarray:
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_a_box_is_closed_and_as_large_as_it_is(seed: int) -> None:
    half = np.random.default_rng(seed).uniform(0.05, 1.0, 3)
    assert volume(meshes.box(np.array([1.0, -2.0, 3.0]), rotation(seed), half)) == pytest.approx(8.0 * half.prod())


def test_round_bodies_are_closed_and_a_little_smaller_than_they_are() -> None:
    # inscribed in the true surface, with 16 sides: a regular 16-gon has 97.4 % of its circle
    ball = volume(meshes.ball(np.array([1.0, 2.0, 3.0]), 0.5))
    assert 0.90 < ball / (4.0 / 3.0 * np.pi * 0.5**3) < 1.0
    rod = volume(meshes.rod(np.zeros(3), np.array([0.3, 0.4, 0.0]), 0.1))
    assert rod / (np.pi * 0.1**2 * 0.5) == pytest.approx(0.9745, abs=1e-3)
    cone = volume(meshes.rod(np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.2, 0.1))
    assert cone / (np.pi / 3.0 * (0.04 + 0.02 + 0.01)) == pytest.approx(0.9745, abs=1e-3)


def test_a_zonotope_is_the_sum_of_its_parallelepipeds() -> None:
    g = np.array([[0.3, 0.0, 0.1], [0.0, 0.2, 0.0], [0.1, 0.1, 0.3], [0.0, -0.1, 0.2]])
    triples = ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))
    wanted = 8.0 * sum(abs(np.linalg.det(g[list(k)])) for k in triples)
    assert volume(meshes.zonotope(np.ones(3), g)) == pytest.approx(wanted)


def test_what_is_flat_or_a_point_has_no_surface() -> None:
    assert meshes.zonotope(np.zeros(3), np.eye(3)[:2]).shape == (0, 3, 3)
    assert meshes.rod(np.zeros(3), np.zeros(3), 0.1).shape == (0, 3, 3)


def test_a_dumbbell_fills_its_box() -> None:
    half, turn = np.array([0.07, 0.145, 0.07]), rotation(4)
    corners = (meshes.dumbbell(np.ones(3), turn, half).reshape(-1, 3) - np.ones(3)) @ turn
    assert (np.abs(corners) <= half + 1e-12).all()
    np.testing.assert_allclose(np.abs(corners).max(axis=0), half, rtol=0.03)  # a 16-gon need not reach its box's sides


def camera(**options: float) -> Camera:
    return Camera(np.array([5.0, 0.0, 0.0]), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0, 80, 60, **options)


def test_the_target_is_in_the_middle_and_up_is_up() -> None:
    view = camera()
    np.testing.assert_allclose(view.project(np.zeros(3)), [40.0, 30.0, 5.0])
    assert view.project(np.array([0.0, 0.0, 1.0]))[1] < 30.0
    assert view.project(np.array([0.0, 1.0, 0.0]))[0] > 40.0  # seen from the front, left is right
    near, far = (view.project(np.array([x, 1.0, 0.0]))[0] - 40.0 for x in (2.0, -2.0))
    assert near > far


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_is_in_front_hides_what_is_behind_in_whatever_order_it_is_drawn(order: tuple[int, int]) -> None:
    canvas = Canvas(camera(), WHITE)
    front = meshes.box(np.array([1.0, 0.0, 0.0]), np.eye(3), np.full(3, 0.3))
    behind = meshes.box(np.array([-1.0, 0.0, 0.0]), np.eye(3), np.full(3, 0.9))
    bodies = ((front, RED), (behind, BLUE))
    for k in order:
        canvas.draw([bodies[k]], LIGHT)
    middle = canvas.colour[30, 40]
    assert middle[0] > 0.5
    assert middle[2] == 0.0
    beside = canvas.camera.project(np.array([-1.0, 0.8, 0.0]))
    assert canvas.colour[30, int(beside[0])][2] > 0.5
    assert (canvas.colour[0, 0] == 1.0).all()
    seen = canvas.visible(np.array([[1.5, 0.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]))
    assert seen.tolist() == [True, False, False, True]


def test_what_is_faint_lets_the_rest_through_and_hides_nothing() -> None:
    canvas = Canvas(camera(), WHITE)
    body = meshes.box(np.zeros(3), np.eye(3), np.full(3, 0.5))
    canvas.draw([(body, (0.0, 0.0, 0.0))], LIGHT, opacity=0.25)
    assert canvas.colour[30, 40] == pytest.approx(0.75)
    assert canvas.visible(np.zeros((1, 3))).all()


def test_a_shadow_falls_only_where_something_lies_under_it() -> None:
    view = Camera(np.array([0.0, 0.0, 5.0]), np.zeros(3), np.array([0.0, 1.0, 0.0]), 2.0, 80, 60)
    canvas = Canvas(view, WHITE)
    canvas.draw([(meshes.box(np.zeros(3), np.eye(3), np.array([0.5, 0.5, 0.01])), (0.5, 0.5, 0.5))], LIGHT)
    lit = canvas.colour[30, 40].copy()
    canvas.darken(meshes.box(np.array([0.0, 0.0, 0.005]), np.eye(3), np.array([2.0, 2.0, 0.005])), 0.5)
    np.testing.assert_allclose(canvas.colour[30, 40], 0.5 * lit)
    assert (canvas.colour[2, 2] == 1.0).all()


def test_pixels_are_means() -> None:
    canvas = Canvas(camera(), WHITE)
    canvas.colour[:, ::2] = 0.0
    assert canvas.pixels(2).shape == (30, 40, 3)
    assert (canvas.pixels(2) == 128).all()


@given(st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_cutting_parts_a_surface(seed: int) -> None:
    rng = np.random.default_rng(seed)
    triangles, at = rng.normal(size=(6, 3, 3)), float(rng.normal())
    low, high = (scene_picture._cut(triangles, 0, at, side) for side in (-1.0, 1.0))
    assert (low[..., 0] <= at + 1e-9).all()
    assert (high[..., 0] >= at - 1e-9).all()
    whole, one, other = (_area(part) for part in (triangles, low, high))
    assert one + other == pytest.approx(whole)


def _area(triangles: np.ndarray) -> float:
    a, b, c = np.moveaxis(triangles, 1, 0)
    return float(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


def picture(**options: object) -> str:
    robot = load_robot("kinova_gen3")
    q = np.array(START)
    wall = Obstacle("wall <1>", "box", (0.3, 0.6, 0.4), (0.02, 1.6, 0.8))
    table = Obstacle("table", "box", (0.7, 0.0, 0.0), (2.0, 2.0, 0.01))
    others = (
        Obstacle("ball", "sphere", (0.5, -0.6, 0.2), (0.1,)),
        Obstacle("pole", "capsule", (0.7, -0.4, 0.4), (0.03, 0.6)),
        Obstacle("ramp", "zonotope", (0.8, 0.0, 0.1), generators=((0.1, 0.0, 0.05), (0.0, 0.1, 0.0), (0.0, 0.0, 0.02))),
    )
    turn = np.linspace(0.0, 3.0, 40)[:, None] * np.eye(7)[0]
    arguments = {
        "load": payload_volume(PayloadVolumeConfig())[0], "label": "a & b", "size": (320, 200), **options,
    }  # fmt: skip
    return scene_picture.scene_picture(
        robot, Scene((wall, table, *others)), [Still(q, "start"), Still(q + turn[-1], "goal")],
        [Way(q + turn, "#0072B2")], **arguments,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_name_is_under_what_is_seen_of_an_obstacle_where_it_stands() -> None:
    # turned by 45 degrees about the line of sight: its lowest corner is in the middle, sqrt(1/2) below its centre
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.5**0.5, -(0.5**0.5)], [0.0, 0.5**0.5, 0.5**0.5]])
    canvas = Canvas(camera(), WHITE)
    drawn = scene_picture._text_below(canvas, "box", meshes.box(np.zeros(3), turn, np.full(3, 0.5)))
    x, y = (float(value) for value in re.findall(r'[xy]="([-\d.]+)"', drawn))
    lowest = canvas.camera.project(np.array([0.5, 0.0, -(0.5**0.5)]))[:2] / 2.0  # of the near face; two pixels are one
    size = 0.017 * 40.0
    assert x == pytest.approx(lowest[0], abs=0.06)  # printed to 0.1
    assert y == pytest.approx(lowest[1] + 1.4 * size, abs=0.06)
    assert not scene_picture._text_below(canvas, "sheet", np.zeros((0, 3, 3)))


@pytest.mark.parametrize("view", ["side", "top"])
def test_a_picture_names_what_is_in_it(view: str) -> None:
    svg = picture(view=view)
    assert svg.startswith('<svg role="img" aria-label="a &amp; b" viewBox="0 0 320 200"')
    words = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert words == ["wall &lt;1&gt;", "ball", "pole", "ramp", "start", "goal"]  # what all stand on is not named
    assert svg.count("data:image/jpeg;base64,") == 1
    for x, y in re.findall(r'<text[^>]* x="([-\d.]+)" y="([-\d.]+)"', svg):
        assert 0.0 <= float(x) <= 320.0
        assert -20.0 <= float(y) <= 220.0


def test_the_way_behind_something_is_dotted() -> None:
    assert "stroke-dasharray" in picture()


def test_without_a_load_the_way_is_that_of_the_last_joint() -> None:
    robot, q = load_robot("kinova_gen3"), np.array(START)
    line = scene_picture.load_way(robot, q[None], None)
    np.testing.assert_allclose(line[0], robot_frame(robot, q), atol=1e-12)
    assert "<polyline" in picture(load=None)


def robot_frame(robot: object, q: np.ndarray) -> np.ndarray:
    import pinocchio

    data = robot.model.createData()  # type: ignore[attr-defined]
    pinocchio.forwardKinematics(robot.model, data, q)  # type: ignore[attr-defined]
    return np.asarray(data.oMi[7].translation)
