# SPDX-License-Identifier: Apache-2.0
"""Distances of bodies against coal's, and proven bounds against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pinocchio
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import lsq_linear

from sysid_nodes.data.scene import Obstacle
from sysid_nodes.exceptions import InputError
from sysid_nodes.models import separation
from sysid_nodes.models.closest_point import _solve, closest_point
from sysid_nodes.models.separation import distances, separation_lower_bound
from sysid_nodes.models.solids import Solid, Solids, from_obstacle, from_primitive, stack
from sysid_nodes.robots.robot import Primitive

VALUE = st.floats(-10.0, 10.0) | st.floats(-1e-9, 1e-9) | st.floats(-1e9, 1e9)


def _random_rotations(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.array([pinocchio.rpy.rpyToMatrix(*row) for row in rng.uniform(-np.pi, np.pi, (count, 3))])


def _random_pairs(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Centres and generators of the difference of two boxes: far, near, long and flat ones."""
    one = rng.uniform(0.02, 0.2, (count, 3, 1)) * _random_rotations(rng, count)
    two = 10.0 ** rng.uniform(-3.0, 0.0, (count, 3, 1)) * _random_rotations(rng, count)
    two[: count // 4] = one[: count // 4] + 1e-6 * rng.normal(size=(count // 4, 3, 3))  # sides all but parallel
    return rng.normal(size=(count, 3)), np.concatenate([one, two], axis=1)


def _exact_square(centre: np.ndarray, generators: np.ndarray, coefficients: np.ndarray) -> Fraction:
    """|centre + sum e_i g_i|^2 without any rounding."""
    total = Fraction(0)
    for k in range(3):
        coordinate = Fraction(float(centre[k]))
        coordinate += sum(
            Fraction(float(e)) * Fraction(float(g)) for e, g in zip(coefficients, generators[:, k], strict=True)
        )
        total += coordinate**2
    return total


def _not_above(bound: float, square: Fraction) -> bool:
    return bound <= 0.0 or Fraction(bound) ** 2 <= square


@pytest.mark.usefixtures("kernel")
class TestClosestPoint:
    def test_distances_are_those_of_a_least_squares_solver(self) -> None:
        centre, generators = _random_pairs(np.random.default_rng(1), 200)
        found = closest_point(centre, generators)
        for k in range(len(centre)):
            exact = np.linalg.norm(lsq_linear(generators[k].T, -centre[k], (-1.0, 1.0), tol=1e-14).fun)
            # lsq_linear stops at some 1e-8 of the squared distance
            assert found.upper[k] <= exact + 1e-12
            assert found.upper[k] == pytest.approx(exact, abs=1e-6)

    def test_the_two_bounds_meet(self) -> None:
        centre, generators = _random_pairs(np.random.default_rng(2), 5000)
        found = closest_point(centre, generators)
        apart = found.lower > 0.0
        assert 0.5 < apart.mean() < 0.99
        assert ((found.upper - found.lower)[apart] <= 1e-6 * found.upper[apart]).all()
        assert found.upper[~apart].max() < 1e-6  # what no direction separates holds the origin

    def test_the_point_is_what_its_coefficients_give(self) -> None:
        centre, generators = _random_pairs(np.random.default_rng(3), 500)
        found = closest_point(centre, generators)
        assert np.abs(found.coefficients).max() <= 1.0 + 1e-12
        point = centre + np.einsum("ng,ngk->nk", found.coefficients, generators)
        np.testing.assert_allclose(point, found.point, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(found.direction, axis=1), 1.0, atol=1e-14)

    def test_it_stops_where_enough_is_known(self) -> None:
        centre, generators = _random_pairs(np.random.default_rng(4), 500)
        full, early = closest_point(centre, generators), closest_point(centre, generators, enough=np.full(500, 0.2))
        assert (early.lower <= full.upper + 1e-12).all()
        near = full.upper < 0.2
        np.testing.assert_allclose(early.upper[near], full.upper[near], atol=1e-9)
        assert (early.lower[~near] >= 0.2 * (1.0 - 1e-6)).all()

    @pytest.mark.parametrize("subset", [(0,), (0, 1), (0, 1, 2)])
    def test_equations_of_nothing_are_singular(self, subset: tuple[int, ...]) -> None:
        nothing = [[np.zeros(1)] * 3] * 3
        solution, regular = _solve(nothing, np.ones((3, 1)), subset)
        assert not regular.any() and not solution.any()

    @pytest.mark.parametrize("count", [0, 1, 30])
    def test_any_number_of_generators(self, count: int) -> None:
        rng = np.random.default_rng(5)
        generators = 0.02 * rng.normal(size=(50, count, 3))
        centre = rng.normal(size=(50, 3))
        found = closest_point(centre, generators)
        bound = separation_lower_bound(found.direction, centre, generators)
        apart = found.upper > 0.1
        assert apart.any()
        np.testing.assert_allclose(bound[apart], found.upper[apart], rtol=1e-6)

    def test_no_zonotope_at_all(self) -> None:
        assert closest_point(np.zeros((0, 3)), np.zeros((0, 4, 3))).upper.shape == (0,)

    def test_points_and_flat_zonotopes_at_the_origin(self) -> None:
        centre = np.zeros((3, 3))
        generators = np.zeros((3, 2, 3))
        generators[1, 0], generators[2] = [1.0, 0.0, 0.0], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
        found = closest_point(centre, generators)
        np.testing.assert_array_equal(found.upper, 0.0)
        assert (found.lower <= 0.0).all() and np.isfinite(found.direction).all()


class TestProof:
    def test_it_is_tight_along_the_direction_found(self) -> None:
        centre, generators = _random_pairs(np.random.default_rng(6), 5000)
        found = closest_point(centre, generators)
        bound = separation_lower_bound(found.direction, centre, generators, 0.05, 0.01)
        clear = found.upper > 0.1
        np.testing.assert_allclose(bound[clear], found.upper[clear] - 0.06, rtol=1e-6)
        assert (bound <= found.upper - 0.06).all()

    @settings(max_examples=100, deadline=None)
    @given(st.data(), st.integers(0, 8))
    def test_no_point_of_the_set_is_nearer_than_proven(self, data: st.DataObject, count: int) -> None:
        """In exact arithmetic, for directions, centres and generators of any size, aimed at the origin or not."""
        centre = data.draw(arrays.arrays(np.float64, 3, elements=VALUE))
        generators = data.draw(arrays.arrays(np.float64, (count, 3), elements=VALUE))
        aimed = closest_point(centre[None], generators[None])
        direction = data.draw(
            st.sampled_from([aimed.direction[0], centre]) | arrays.arrays(np.float64, 3, elements=VALUE)
        )
        bound = float(separation_lower_bound(direction, centre, generators))
        inner = np.clip(aimed.coefficients[0], -1.0, 1.0)
        signs = -np.sign(generators @ direction)
        for e in (inner, signs, data.draw(arrays.arrays(np.float64, count, elements=st.floats(-1.0, 1.0)))):
            assert _not_above(bound, _exact_square(centre, generators, e))

    @settings(max_examples=100, deadline=None)
    @given(
        st.lists(st.integers(1, 2**45), min_size=1, max_size=12),
        st.integers(-(2**20), 2**20),
        st.sampled_from([(2, 3, 6), (1, 2, 2), (0, 3, 4), (-4, 4, 7)]),
        st.integers(-60, 20),
    )
    def test_bodies_in_a_row_whose_gap_is_all_rounding(
        self, lengths: list[int], gap: int, axis: tuple[int, int, int], exponent: int
    ) -> None:
        """Centre and generators along an axis of whole length: the gap is rational and often below an ulp of either."""
        unit = 2.0**exponent
        total = sum(lengths) + gap
        assume(total > 0)
        norm = Fraction(round(np.sqrt(sum(a * a for a in axis))))
        centre = np.array([float(total * a) * unit for a in axis])
        exactly = [Fraction(total * a) * Fraction(unit) for a in axis]
        assume([Fraction(float(c)) for c in centre] == exactly)
        generators = np.array([[float(length * a) * unit for a in axis] for length in lengths])
        exact = gap * Fraction(unit) * norm
        for direction in (np.array(axis, dtype=float), 0.1 * np.array(axis), centre):
            bound = float(separation_lower_bound(direction, centre, generators))
            if gap <= 0:
                assert bound <= 0.0
            else:
                assert Fraction(bound) <= exact
            # and it loses no more than some ulps of the terms that cancel
            assert bound >= float(exact) - 1e-13 * sum(lengths) * unit * float(norm) - 1e-13 * abs(float(exact))

    def test_touching_bodies_are_not_separated(self) -> None:
        rng = np.random.default_rng(7)
        for size in rng.uniform(0.01, 1.0, (200, 3)):
            one, two = np.diag(size), np.diag(rng.uniform(0.01, 1.0, 3))
            centre = np.zeros(3)
            centre[0] = one[0, 0] + two[0, 0]
            generators = np.vstack([one, two])
            if Fraction(centre[0]) <= Fraction(one[0, 0]) + Fraction(two[0, 0]):
                assert separation_lower_bound(np.array([1.0, 0.0, 0.0]), centre, generators) <= 0.0

    def test_overlapping_bodies_have_no_direction(self) -> None:
        rng = np.random.default_rng(8)
        generators = 0.3 * rng.normal(size=(100, 5, 3))
        inside = 0.99 * rng.uniform(-1.0, 1.0, (100, 5))
        centre = np.einsum("ng,ngk->nk", inside, generators)
        for direction in (*rng.normal(size=(20, 3)), closest_point(centre, generators).direction):
            assert (separation_lower_bound(direction, centre, generators) <= 0.0).all()

    def test_the_ball_and_the_slack_come_off(self) -> None:
        centre, none = np.array([3.0, 0.0, 0.0]), np.zeros((0, 3))
        assert separation_lower_bound(centre, centre, none, 1.0, 0.5) == pytest.approx(1.5, rel=1e-14)
        assert separation_lower_bound(centre, centre, none, 1.0, 0.5) < 1.5
        assert separation_lower_bound(centre, centre, none, 2.0, 1.0) < 0.0

    def test_roundings_cost_twice_what_they_can_and_no_more(self) -> None:
        """Exact numbers: 2 (G + 8) u of all sizes, 16 u of the bound, and a last digit where a step is rounded down."""
        unit, one = 2.0**-53, np.array([1.0, 0.0, 0.0])
        for count in (1, 4):
            found = separation_lower_bound(one, one, np.tile(0.25 / count * one, (count, 1)))
            assert (0.75 - found) / unit == pytest.approx(2.0 * (count + 8) * 1.25 + 16.0 * 0.75 + 4.0, abs=1.5)

    @pytest.mark.parametrize(
        ("direction", "centre", "generator", "radius"),
        [
            ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.1, 0.0, 0.0], 0.0),
            ([np.nan, 0.0, 0.0], [1.0, 0.0, 0.0], [0.1, 0.0, 0.0], 0.0),
            ([np.inf, 0.0, 0.0], [1.0, 0.0, 0.0], [0.1, 0.0, 0.0], 0.0),
            ([1.0, 0.0, 0.0], [np.inf, 0.0, 0.0], [0.1, 0.0, 0.0], 0.0),
            ([1.0, 0.0, 0.0], [1.0, np.nan, 0.0], [0.1, 0.0, 0.0], 0.0),
            ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [np.inf, 0.0, 0.0], 0.0),
            ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, np.nan, 0.0], 0.0),
            ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.1, 0.0, 0.0], np.inf),
            ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.1, 0.0, 0.0], np.nan),
            ([1.0, 1.0, 1.0], [1.7e308, 1.7e308, 1.7e308], [0.1, 0.0, 0.0], 0.0),
        ],
    )
    def test_garbage_proves_nothing(
        self, direction: list[float], centre: list[float], generator: list[float], radius: float
    ) -> None:
        bound = separation_lower_bound(np.array(direction), np.array(centre), np.array([generator]), radius)
        assert bound == -np.inf

    @pytest.mark.parametrize("direction", [[5e-324, 0.0, 0.0], [1e-310, 1e-312, 0.0], [1.7e308, 1e300, 0.0]])
    def test_directions_of_any_length(self, direction: list[float]) -> None:
        bound = separation_lower_bound(np.array(direction), np.array([2.0, 0.0, 0.0]), np.array([[0.5, 0.0, 0.0]]))
        assert 1.4 < bound <= 1.5

    def test_negative_errors_are_a_mistake(self) -> None:
        for radius, slack in ((-1e-9, 0.0), (np.array([0.0, -1.0]), 0.0), (0.0, -1e-9)):
            with pytest.raises(InputError, match="a radius and a slack must not be negative"):
                separation_lower_bound(np.eye(3)[:2], np.eye(3)[:2], np.zeros((2, 1, 3)), radius, slack)


coal = pytest.importorskip("coal")


def _coal_shape(primitive: Primitive) -> object:
    size = primitive.size
    if primitive.kind == "box":
        return coal.Box(*(2.0 * size))
    return coal.Sphere(size[0]) if primitive.kind == "sphere" else coal.Capsule(size[0], 2.0 * size[1])


def _random_primitives(rng: np.random.Generator, count: int) -> list[Primitive]:
    counts = {"box": 3, "sphere": 1, "capsule": 2}
    kinds = rng.choice(list(counts), count)
    rotations = _random_rotations(rng, count)
    return [
        Primitive("joint_1", kind, rng.normal(size=3) * 0.4, rotation, rng.uniform(0.02, 0.4, counts[kind]))
        for kind, rotation in zip(kinds, rotations, strict=True)
    ]


@pytest.mark.usefixtures("kernel")
class TestDistances:
    def test_they_are_coal_s_and_none_is_proven_larger(self) -> None:
        rng = np.random.default_rng(9)
        one, two = _random_primitives(rng, 400), _random_primitives(rng, 400)
        first, second = stack([from_primitive(p) for p in one]), stack([from_primitive(p) for p in two])
        found = distances(first, second, np.repeat(np.arange(400), 2).reshape(-1, 2))
        request = coal.DistanceRequest()
        request.gjk_tolerance = request.epa_tolerance = 1e-9
        overlapping = 0
        for k, (a, b) in enumerate(zip(one, two, strict=True)):
            poses = [coal.Transform3s(p.rotation, p.position) for p in (a, b)]
            result = coal.DistanceResult()
            expected = coal.distance(_coal_shape(a), poses[0], _coal_shape(b), poses[1], request, result)
            # coal's own tolerance
            assert found.distance[k] == pytest.approx(expected, abs=2e-6), (a, b)
            if expected > 0.0:
                np.testing.assert_allclose(found.normal[k], -result.normal, atol=1e-3)
            overlapping += expected < 0.0
            generators = np.vstack([first.generators[k], second.generators[k]])
            radius = first.radius[k] + second.radius[k]
            bound = separation_lower_bound(found.normal[k], first.centre[k] - second.centre[k], generators, radius)
            assert bound <= expected + 2e-6
            assert (bound > 0.0) <= (expected > 0.0)
        assert 50 < overlapping < 350

    def test_normal_and_point_are_the_distance_s_gradient(self) -> None:
        """By translation, and by a rotation of the first body, also where bodies overlap."""
        rng = np.random.default_rng(10)
        one, two = _random_primitives(rng, 300), _random_primitives(rng, 300)
        first, second = stack([from_primitive(p) for p in one]), stack([from_primitive(p) for p in two])
        pairs = np.repeat(np.arange(300), 2).reshape(-1, 2)
        found, step = distances(first, second, pairs), 1e-5
        axis, shift = rng.normal(size=(300, 3)), rng.normal(size=(300, 3))

        def moved(amount: float) -> Solids:
            turn = np.array([pinocchio.exp3(amount * a) for a in axis])
            return first.place(turn, amount * shift)

        slope = (distances(moved(step), second, pairs).distance - distances(moved(-step), second, pairs).distance) / (
            2.0 * step
        )
        expected = (found.normal * (np.cross(axis, found.point) + shift)).sum(axis=1)
        # Kinks of the distance, as where another way out becomes the shortest, spoil a few differences.
        assert np.mean(np.abs(slope - expected) < 1e-3) > 0.95
        apart = found.distance > 0.01
        assert np.mean(np.abs(slope - expected)[apart] < 1e-3) > 0.99

    def test_batches_of_poses_and_culling(self) -> None:
        rng = np.random.default_rng(11)
        bodies = stack([from_primitive(p) for p in _random_primitives(rng, 4)])
        obstacles = stack([from_primitive(p) for p in _random_primitives(rng, 3)])
        rotation = _random_rotations(rng, 20).reshape(5, 4, 3, 3)
        placed = bodies.place(rotation, rng.normal(size=(5, 4, 3)))
        pairs = np.array([(i, j) for i in range(4) for j in range(3)])
        found = distances(placed, obstacles, pairs)
        assert (found.distance.shape, found.normal.shape, found.point.shape) == ((5, 12), (5, 12, 3), (5, 12, 3))
        own = np.array([(0, 1), (2, 3)])
        within = distances(placed, placed, own)
        for k in range(5):
            single = Solids(placed.centre[k], placed.generators[k], placed.radius, placed.reach)
            for batch, alone in (
                (found, distances(single, obstacles, pairs)),
                (within, distances(single, single, own)),
            ):
                np.testing.assert_allclose(batch.distance[k], alone.distance, atol=1e-9)
                np.testing.assert_allclose(batch.normal[k], alone.normal, atol=1e-6)
        culled = distances(placed, obstacles, pairs, beyond=0.5)
        far = culled.distance != found.distance
        assert 0 < far.sum() < far.size
        assert (culled.distance[far] >= 0.5).all() and (culled.distance <= found.distance + 1e-9).all()
        # All of them by the balls alone, however near.
        balls = distances(placed, obstacles, pairs, beyond=-np.inf)
        centre = (placed.centre[:, :, None] - obstacles.centre).reshape(5, 12, 3)
        length, reach = np.linalg.norm(centre, axis=-1), placed.reach[pairs[:, 0]]
        assert length.min() < 0.9
        np.testing.assert_allclose(balls.distance, length - reach - obstacles.reach[pairs[:, 1]])
        np.testing.assert_allclose(balls.normal, centre / length[..., None])
        np.testing.assert_allclose(
            balls.point, placed.centre[:, pairs[:, 0]] - reach[:, None] * centre / length[..., None]
        )
        assert np.isfinite(distances(placed, obstacles, pairs, beyond=-np.inf).distance).all()

    @pytest.mark.parametrize(
        ("one", "two", "distance"),
        [
            (Solid(np.zeros(3), np.zeros((0, 3)), 0.1), Solid(np.zeros(3), np.zeros((0, 3)), 0.2), -0.3),
            (Solid(np.zeros(3), np.array([[0.0, 0.0, 0.5]]), 0.1), Solid(np.zeros(3), np.zeros((0, 3)), 0.2), -0.3),
            (Solid(np.zeros(3), np.array([[1, 0, 0.0]]), 0.1), Solid(np.zeros(3), np.array([[0, 1, 0.0]]), 0.2), -0.3),
            (Solid(np.zeros(3), np.eye(3), 0.0), Solid(np.array([0.8, 0.0, 0.0]), np.zeros((0, 3)), 0.1), -0.3),
            (Solid(np.zeros(3), np.eye(3), 0.0), Solid(np.array([2.0, 0.0, 0.0]), np.eye(3), 0.0), 0.0),
        ],
    )
    def test_the_shortest_way_out(self, one: Solid, two: Solid, distance: float) -> None:
        """Pushed along the normal by the depth, the bodies just touch."""
        found = distances(stack([one]), stack([two]), np.array([[0, 0]]))
        assert found.distance[0] == pytest.approx(distance, abs=1e-12)
        out = stack([Solid(one.centre - (distance - 0.05) * found.normal[0], one.generators, one.radius)])
        assert distances(out, stack([two]), np.array([[0, 0]])).distance[0] == pytest.approx(0.05, abs=1e-9)
        # The way is one's own: the other's leads just as far.
        other = distances(stack([two]), stack([one]), np.array([[0, 0]]))
        assert other.distance[0] == pytest.approx(distance, abs=1e-12)
        away = stack([Solid(two.centre - (distance - 0.05) * other.normal[0], two.generators, two.radius)])
        assert distances(away, stack([one]), np.array([[0, 0]])).distance[0] == pytest.approx(0.05, abs=1e-9)

    def test_a_box_among_obstacles_of_every_kind(self) -> None:
        hand = stack([from_primitive(Primitive("j", "box", np.zeros(3), np.eye(3), np.array([0.1, 0.2, 0.3])))])
        around = [
            Obstacle("box", "box", (1.0, 0.0, 0.0), (0.2, 0.2, 0.2)),
            Obstacle("sphere", "sphere", (0.0, 1.0, 0.0), (0.3,)),
            Obstacle("capsule", "capsule", (0.0, 0.0, 1.0), (0.1, 0.4)),
            Obstacle("zonotope", "zonotope", (-1.0, 0.0, 0.0), generators=((0.3, 0.0, 0.0), (0.0, 0.5, 0.1))),
        ]
        found = distances(hand, stack([from_obstacle(o) for o in around]), np.array([(0, k) for k in range(4)]))
        np.testing.assert_allclose(found.distance, [0.8, 0.5, 0.4, 0.6], atol=1e-9)
        np.testing.assert_allclose(found.normal, [[-1, 0, 0], [0, -1, 0], [0, 0, -1], [1, 0, 0]], atol=1e-9)

    def test_nothing_in_line_with_nothing_is_left_upward(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Generators of no length have no direction, neither in C++ nor in Python."""
        point = stack([Solid(np.zeros(3), np.zeros((1, 3)), 0.1)])
        for compiled in (True, False):
            if not compiled:
                monkeypatch.setattr(separation, "ways_out", lambda *_: None)
            found = distances(point, point, np.array([[0, 0]]))
            assert found.distance[0] == pytest.approx(-0.2, abs=1e-12)
            np.testing.assert_array_equal(found.normal, [[0.0, 0.0, 1.0]])

    def test_the_point_of_a_round_body_lies_on_its_surface(self) -> None:
        """A gradient cannot tell: no turn about the normal's line changes a distance."""
        here = stack([Solid(np.array([1.0, 0.0, 0.0]), np.array([[0.0, 0.3, 0.0]]), 0.1)])
        there = stack([Solid(np.array([-1.0, 0.2, 0.0]), np.zeros((1, 3)), 0.5)])
        found = distances(here, there, np.array([[0, 0]]))
        assert found.distance[0] == pytest.approx(1.4, abs=1e-9)
        np.testing.assert_allclose(found.point, [[0.9, 0.2, 0.0]], atol=1e-9)
