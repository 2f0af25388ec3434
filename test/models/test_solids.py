# SPDX-License-Identifier: Apache-2.0
"""Bodies as inflated zonotopes: sampled points of a shape lie inside, and its farthest points are reached."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pinocchio
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sysid_nodes.data.scene import Obstacle
from sysid_nodes.exceptions import RobotError
from sysid_nodes.models.solids import Solid, from_obstacle, from_primitive, stack
from sysid_nodes.robots.robot import Primitive

UNIT = st.floats(-1.0, 1.0)
ROTATION = pinocchio.rpy.rpyToMatrix(0.4, -1.0, 2.0)
CENTRE = np.array([0.1, -0.2, 0.3])


def _local(kind: str, size: np.ndarray, rng: np.random.Generator, count: int = 4000) -> np.ndarray:
    """Points of a shape in its own frame, on its surface for the most part."""
    ball = rng.normal(size=(count, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    if kind == "box":
        return np.clip(rng.uniform(-1.5, 1.5, (count, 3)), -1.0, 1.0) * size
    points = size[0] * ball
    if kind == "capsule":
        points[:, 2] += rng.uniform(-size[1], size[1], count)
    return points


@pytest.mark.parametrize(("kind", "size"), [("sphere", [0.2]), ("capsule", [0.1, 0.4]), ("box", [0.1, 0.2, 0.3])])
def test_a_shape_s_support_is_that_of_its_points(kind: str, size: list[float]) -> None:
    rng = np.random.default_rng(1)
    solid = from_primitive(Primitive("joint_1", kind, CENTRE, ROTATION, np.array(size)))
    points = CENTRE + _local(kind, np.array(size), rng) @ ROTATION.T
    directions = rng.normal(size=(50, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    excess = solid.support(directions) - (directions @ points.T).max(axis=1)
    assert excess.min() > -1e-15  # no point outside but for rounding
    assert excess.max() < 0.05  # and 4000 points come near to every side of a body of this size
    far = np.linalg.norm(points - CENTRE, axis=1).max()
    assert far <= solid.reach + 1e-12 and solid.reach < far + 0.02
    assert (len(solid.generators), solid.radius > 0.01) == {
        "sphere": (0, True),
        "capsule": (1, True),
        "box": (3, False),
    }[kind]


def test_obstacles_and_primitives_of_one_shape_agree() -> None:
    quaternion = pinocchio.Quaternion(ROTATION).coeffs()
    directions = np.random.default_rng(2).normal(size=(100, 3))
    for kind, size, halves in (
        ("box", (0.2, 0.4, 0.6), [0.1, 0.2, 0.3]),
        ("capsule", (0.1, 0.8), [0.1, 0.4]),
        ("sphere", (0.2,), [0.2]),
    ):
        turn = {} if kind == "sphere" else {"quaternion": tuple(quaternion)}
        obstacle = from_obstacle(Obstacle("a", kind, tuple(CENTRE), size, **turn))
        primitive = from_primitive(Primitive("joint_1", kind, CENTRE, ROTATION, np.array(halves)))
        # the radii differ by what they take up for rounding, some 1e-13 m
        np.testing.assert_allclose(obstacle.support(directions), primitive.support(directions), atol=1e-12)
    zonotope = from_obstacle(Obstacle("z", "zonotope", (1.0, 0.0, 0.0), generators=((0.1, 0.0, 0.2), (0.0, 0.3, 0.0))))
    assert (zonotope.support(np.array([0.0, 1.0, 0.0])), zonotope.support(np.array([1.0, 0.0, 1.0]))) == (0.3, 1.3)


@settings(max_examples=60, deadline=None)
@given(st.tuples(UNIT, UNIT, UNIT, UNIT), st.tuples(*[st.floats(1e-3, 3.0)] * 3))
def test_the_radius_takes_up_what_rounding_does_to_a_rotated_box(q: tuple[float, ...], size: tuple[float, ...]) -> None:
    """Half edges in rational arithmetic, of the quaternion as it is: their errors together fit into the ball."""
    norm = float(np.linalg.norm(q))
    assume(norm > 0.1)
    quaternion = tuple(float(x) / norm for x in q)
    solid = from_obstacle(Obstacle("a", "box", (0.0, 0.0, 0.0), size, quaternion))
    x, y, z, w = (Fraction(value) for value in quaternion)
    s = 2 / (x * x + y * y + z * z + w * w)
    columns = (
        (1 - s * (y * y + z * z), s * (x * y + z * w), s * (x * z - y * w)),
        (s * (x * y - z * w), 1 - s * (x * x + z * z), s * (y * z + x * w)),
        (s * (x * z + y * w), s * (y * z - x * w), 1 - s * (x * x + y * y)),
    )
    total = Fraction(0)
    for column, extent, generator in zip(columns, size, solid.generators, strict=True):
        errors = [Fraction(extent) / 2 * c - Fraction(float(g)) for c, g in zip(column, generator, strict=True)]
        total += sum(abs(error) for error in errors)  # above the Euclidean norm
    assert total <= Fraction(solid.radius)
    assert solid.radius < 1e-12


def test_axis_aligned_boxes_are_exact() -> None:
    solid = from_primitive(Primitive("joint_1", "box", CENTRE, np.eye(3)[[1, 2, 0]], np.array([0.1, 0.2, 0.3])))
    assert solid.radius == 0.0
    assert {tuple(generator) for generator in solid.generators} == {(0.0, 0.0, 0.1), (0.2, 0.0, 0.0), (0.0, 0.3, 0.0)}


def test_a_stack_is_placed_like_its_bodies() -> None:
    bodies = [
        Solid(CENTRE, np.zeros((0, 3)), 0.2),
        from_primitive(Primitive("joint_1", "capsule", -CENTRE, ROTATION, np.array([0.1, 0.2]))),
        from_primitive(Primitive("joint_1", "box", CENTRE, ROTATION.T, np.array([0.1, 0.2, 0.3]))),
    ]
    solids = stack(bodies)
    assert (len(solids), solids.generators.shape) == (3, (3, 3, 3))
    rng = np.random.default_rng(3)
    rotation = np.array([[pinocchio.rpy.rpyToMatrix(*rng.uniform(-3, 3, 3)) for _ in bodies] for _ in range(4)])
    position = rng.normal(size=(4, 3, 3))
    placed = solids.place(rotation, position)
    for k in range(4):
        for s, body in enumerate(bodies):
            np.testing.assert_allclose(placed.centre[k, s], rotation[k, s] @ body.centre + position[k, s], atol=1e-15)
            generators = body.generators @ rotation[k, s].T
            np.testing.assert_allclose(placed.generators[k, s, : len(generators)], generators, atol=1e-15)
    assert len(stack([])) == 0


def test_the_reach_of_a_zonotope_of_many_generators_holds_it() -> None:
    generators = np.random.default_rng(4).normal(size=(12, 3))
    solid = Solid(np.zeros(3), generators, 0.5)
    signs = np.sign(np.random.default_rng(5).normal(size=(1000, 12)))
    assert np.linalg.norm(signs @ generators, axis=1).max() + 0.5 <= solid.reach


@pytest.mark.parametrize(
    ("kind", "size", "message"),
    [
        ("cylinder", [0.1, 0.2], "a shape on 'joint_1' is of unknown kind 'cylinder'"),
        ("box", [0.1, 0.2], r"a box on 'joint_1' has an impossible size \[0.1, 0.2\]"),
        ("sphere", [-0.1], r"a sphere on 'joint_1' has an impossible size \[-0.1\]"),
        ("capsule", [0.1, np.nan], r"a capsule on 'joint_1' has an impossible size \[0.1, nan\]"),
        ("sphere", [np.inf], "a solid must have finite coordinates and a radius that is not negative"),
    ],
)
def test_shapes_that_are_none(kind: str, size: list[float], message: str) -> None:
    with pytest.raises(RobotError, match=message):
        from_primitive(Primitive("joint_1", kind, np.zeros(3), np.eye(3), np.array(size)))


@pytest.mark.parametrize(
    ("centre", "generators", "radius", "message"),
    [
        (np.zeros(2), np.zeros((1, 3)), 0.0, r"a solid's centre must be 3 numbers, got shape \(2,\)"),
        (np.array([0.0, np.nan, 0.0]), np.zeros((1, 3)), 0.0, "finite coordinates"),
        (np.zeros(3), np.full((1, 3), np.inf), 0.0, "finite coordinates"),
        (np.zeros(3), np.zeros((1, 3)), -1e-9, "a radius that is not negative"),
        (np.zeros(3), np.zeros((1, 3)), np.nan, "a radius that is not negative"),
    ],
)
def test_solids_that_are_none(centre: np.ndarray, generators: np.ndarray, radius: float, message: str) -> None:
    with pytest.raises(RobotError, match=message):
        Solid(centre, generators, radius)
