# SPDX-License-Identifier: Apache-2.0
"""Proven distances against sampled postures and an engine that shares no code with them."""

from dataclasses import replace

import numpy as np
import pytest
from shared.certified_arm import draw_in_ball, plan, robot, shapes

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.intervals import Affine
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.self_collision import joints_of, self_collision_pairs
from sysid_nodes.models.solids import from_obstacle, from_primitive
from sysid_nodes.results.certificate import Margins
from sysid_nodes.rollouts.contact_watch import ContactWatch
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE, Tube
from sysid_nodes.systems.certified.certificate.judgement import Judge
from sysid_nodes.systems.certified.certificate.motion import desired_motion, motion
from sysid_nodes.systems.certified.certificate.occupancy import (
    ENOUGH,
    Occupancy,
    _along,
    _along_axes,
    _distance_bounds,
    _Shapes,
    obstacle_distance,
    occupancy,
    self_distance,
)
from sysid_nodes.systems.certified.certificate.recursion import place

TREE = Chain.from_robot(robot()).tree
EDGES = np.linspace(0.0, 3.0, 25)
ENGINE = 2e-6
"""Error of the engine's distances [m]."""
OBSTACLES = (
    Obstacle("post", "box", (0.35, -0.7, 0.2), size=(0.2, 0.2, 0.4), quaternion=(0.0, 0.0, 0.38268343, 0.92387953)),
    Obstacle("ball", "sphere", (0.2, -0.4, 0.9), size=(0.1,)),
    Obstacle("pole", "capsule", (-0.4, -0.4, 0.5), size=(0.05, 0.8)),
    Obstacle("ramp", "zonotope", (0.4, 0.3, 0.1), generators=((0.2, 0.0, 0.1), (0.0, 0.3, 0.0), (0.0, 0.0, 0.02))),
)


def occupied(wanted, tube):
    state = motion(desired_motion(wanted, EDGES), tube, 4.0)
    placed = place(TREE, state.q)
    joints = joints_of(robot(), shapes()) - 1
    return [
        occupancy(placed, int(joint), from_primitive(shape)) for joint, shape in zip(joints, shapes(), strict=True)
    ], joints


@pytest.mark.parametrize("seed", range(2))
def test_no_posture_is_nearer_than_proven(seed):
    wanted, rng = plan(1.0, seed=seed), np.random.default_rng(seed)
    tube = Tube(np.full((25, 7), 0.03), np.full((25, 7), 0.1))
    occupied_by, joints = occupied(wanted, tube)
    movable = [shape for shape, joint in zip(occupied_by, joints, strict=True) if joint >= 0]
    pairs = self_collision_pairs(robot(), shapes()).kept
    outside = obstacle_distance(movable, [from_obstacle(o) for o in OBSTACLES]).min(axis=(1, 2))
    within = self_distance(occupied_by, pairs).min(axis=1)
    watch = ContactWatch(robot(), shapes(), OBSTACLES, pairs)
    near, count = np.inf, 0
    for i in range(25):
        span = (EDGES[i], EDGES[i + 1]) if i < 24 else (3.0, 4.0)
        for e in draw_in_ball(rng, 12, 7) * 0.03:
            q = wanted(rng.uniform(*span)).q - e
            real, own = watch.to_obstacles(q).distance, watch.to_itself(q).distance
            assert outside[i] <= max(real, 0.0) + ENGINE or real >= ENOUGH
            assert within[i] <= max(own, 0.0) + ENGINE or own >= ENOUGH
            if real < ENOUGH:
                near, count = min(near, real - outside[i]), count + 1
    assert count > 20 and near < 0.06  # a bound that is far from every sample would prove little


def test_what_is_no_number_is_never_far():
    wanted, tube = plan(0.3), Tube(np.full((25, 7), 0.01), np.full((25, 7), 0.1))
    shape = occupied(wanted, tube)[0][3]
    centre = shape.centre
    broken = Affine(centre.centre, centre.terms, np.where(np.arange(25)[:, None] == 4, np.inf, centre.remainder))
    lost = replace(shape, centre=broken)
    found = obstacle_distance([lost], [from_obstacle(OBSTACLES[0])])[:, 0, 0]
    assert found[4] == -np.inf and np.isfinite(np.delete(found, 4)).all()


@pytest.mark.parametrize("swept", [False, True])
def test_errors_count_along_the_way_between_and_no_other(swept):
    """A ball at 0.4 m off by 0.05 m along the way to another, whose generator turns across it: all worked out exactly.

    Two joints, so five symbols: time, errors by their norm, and the others' by theirs or one by one.
    """
    centre, generator = np.tile([0.4, 0.0, 0.0], (4, 1)), np.tile([0.0, 0.05, 0.0], (4, 1, 1))
    terms, turned = np.zeros((5, 4, 3)), np.zeros((5, 4, 1, 3))
    terms[:, :, 0] = np.array([0.01, 0.003, 0.004, 0.006, 0.008])[:, None]
    turned[1, :, :, 1] = 0.02  # across: of no account for the distance, but for a first look at it
    turned[2, :, :, 0] = 0.002
    rest = np.tile([0.001, 0.02, 0.02], (4, 1))
    one = Occupancy(
        Affine(centre, terms, rest), Affine(generator, turned, 0.001 * np.ones((4, 1, 3))), 0.1, False, swept
    )
    wobble = 0.01 + 0.005 + (0.014 if swept else 0.01) + 0.001 + 0.002 + 0.001
    found = obstacle_distance([one], [from_obstacle(Obstacle("ball", "sphere", (0.0, 0.0, 0.0), size=(0.15,)))])
    np.testing.assert_allclose(found[:, 0, 0].min(), 0.15 - wobble, atol=1e-8)


FAR = {
    "torque": np.full(7, 39.0), "position": np.full(7, 12.0), "velocity": np.full(7, 1.4), "obstacle": 1.0,
    "self_distance": 1.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"torque": (2, 7.8)}, "torque of joint_3, +7.8 N m to its limit"),
        ({"torque": (2, 7.8), "velocity": (5, 0.05)}, "velocity of joint_6, +0.05 rad/s to its limit"),
        ({"position": (3, -0.02), "velocity": (5, 0.01)}, "position of joint_4, -0.02 rad to its limit"),
        ({"velocity": (1, -0.1), "self_distance": -0.5}, "velocity of joint_2, -0.1 rad/s to its limit"),
        ({"obstacle": 0.002, "torque": (0, 7.0)}, "what joint_2 moves and 'ball', +0.002 m apart"),
        ({"self_distance": -0.01, "torque": (0, 0.1)}, "the base and what joint_4 moves, -0.010 m apart"),
    ],
)
def test_what_comes_nearest_to_its_limit_is_named(changed, words):
    """By the share of the limit that is left, or of the distance up to which distances count; refusals by their own."""
    judge = Judge(robot(), TREE, shapes(), keep=0.0, torque_margin=0.0, stop=None)
    given = dict(FAR)
    for name, value in changed.items():
        if isinstance(value, tuple):
            given[name] = np.where(np.arange(7) == value[0], value[1], given[name])
        else:
            given[name] = value
    joints = joints_of(robot(), shapes()) - 1
    moved = np.flatnonzero(joints >= 0)
    outside, within = np.ones((3, len(moved), 2)), np.ones((3, len(judge._pairs)))
    outside[1, int(np.flatnonzero(joints[moved] == 1)[0]), 0] = 0.5
    base = [k for k, (one, two) in enumerate(joints[judge._pairs]) if one < 0 and two == 3]
    within[2, base[0]] = 0.5
    scene = Scene((OBSTACLES[1], OBSTACLES[0]))
    assert judge._binding_limit(Margins(**given), outside, within, scene) == words


def test_nothing_to_compare():
    wanted, tube = plan(0.3), Tube(np.full((25, 7), 0.01), np.full((25, 7), 0.1))
    occupied_by, _ = occupied(wanted, tube)
    assert obstacle_distance(occupied_by, []).shape == (25, len(occupied_by), 0)
    assert obstacle_distance([], [from_obstacle(OBSTACLES[0])]).shape == (0, 0, 1)
    assert self_distance(occupied_by, np.zeros((0, 2), dtype=np.intp)).shape == (25, 0)


def fixed(x, y, radius, generators=()):
    """A body at rest over two intervals."""
    centre, many = np.tile([x, y, 0.0], (2, 1)), np.tile(np.reshape(generators, (1, -1, 3)), (2, 1, 1))
    forms = (Affine.constant(part, symbols=5) for part in (centre, many))
    return Occupancy(*forms, radius, boxed=False, swept=False)


def test_bodies_of_many_generators_reach_as_far_as_all_of_them():
    """Five along x, of a body whose neighbour has none; what is far is a quarter of a metre away, if not more."""
    beam = fixed(0.0, 0.0, 0.01, [[0.02, 0.0, 0.0]] * 5)
    near, far = fixed(0.3, 0.0, 0.05), fixed(0.9, 0.0, 0.05)
    found = self_distance([beam, near, far], np.array([[0, 1], [1, 0], [0, 2]]))
    np.testing.assert_allclose(found, [[0.3 - 0.1 - 0.06] * 2 + [0.25]] * 2, atol=1e-8)


def test_a_body_of_the_base_is_where_it_is_at_all_times():
    placed = place(TREE, motion(desired_motion(plan(0.3), EDGES), Tube(*np.full((2, 25, 7), 0.01)), 4.0).q)
    box = from_obstacle(OBSTACLES[0])
    for boxed, swept in ((False, True), (True, False)):
        found = occupancy(replace(placed, boxed=boxed, swept=swept), -1, box)
        assert (found.boxed, found.swept, found.radius) == (boxed, swept, box.radius)
        np.testing.assert_array_equal(found.centre.centre, np.tile(box.centre, (25, 1)))
        np.testing.assert_array_equal(found.generators.centre, np.tile(box.generators, (25, 1, 1)))
        assert not found.centre.terms.any() and found.centre.symbols == placed.origin[0].symbols


def test_bodies_about_one_point_have_a_finite_bound():
    np.testing.assert_allclose(self_distance([fixed(0.0, 0.0, 0.1), fixed(0.0, 0.0, 0.2)], np.array([[0, 1]])), -0.3)


@pytest.mark.parametrize(("boxed", "swept"), [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("near", [0.02, 1.0])
def test_first_bounds_are_the_best_of_a_few_directions(boxed, swept, near):
    """In plain loops: the line of centres and all generators, one of which is nothing; bodies apart, or in each other.

    Along a unit direction: the centres' distance less both bodies' half widths and what errors move them by; less
    radii, and what errors turn generators by in whatever direction.
    """
    rng, shape = np.random.default_rng(5), (3, 2)
    centre = Affine(near * rng.normal(size=(*shape, 3)), 0.02 * rng.normal(size=(5, *shape, 3)), 0.01 * np.ones(3))
    long = 0.2 * rng.normal(size=(*shape, 2, 3))
    long[0, :, 1] = 0.0
    generators = Affine(long, 0.01 * rng.normal(size=(5, *shape, 2, 3)), 0.02 * rng.uniform(size=(*shape, 2, 3)))
    radius = np.array([0.01, 0.02, 0.05])
    every, pairs = _Shapes(centre, generators, radius, boxed, swept), np.array([[0, 1], [2, 1]])
    found = _along_axes(every, pairs)

    def aside(terms):
        second = np.abs(terms[3:]).sum() if boxed or swept else np.hypot(*terms[3:])
        return abs(terms[0]) + (np.abs(terms[1:3]).sum() if boxed else np.hypot(*terms[1:3])) + second

    for p, (one, two) in enumerate(pairs):
        for t in range(2):
            apart = centre.centre[one, t] - centre.centre[two, t]
            terms = centre.terms[:, one, t] - centre.terms[:, two, t]
            best = -np.inf
            for direction in (apart, *long[one, t], *long[two, t]):
                n = direction / (np.linalg.norm(direction) or 1.0)
                half = sum(abs(n @ g) for g in (*long[one, t], *long[two, t]))
                best = max(best, abs(n @ apart) - half - aside(terms @ n) - 0.02 * np.abs(n).sum())
            for s in (one, two):
                best -= radius[s]
                for g in range(2):
                    off = [aside(generators.terms[:, s, t, g, k]) + generators.remainder[s, t, g, k] for k in range(3)]
                    best -= np.linalg.norm(off) * INFLATE
            assert found[p, t] == pytest.approx(best - 1e-9, abs=1e-10)


@pytest.mark.parametrize("swept", [False, True])
def test_the_bound_along_a_direction_is_less_all_that_errors_move_and_turn(swept):
    """Along x, which is the way between two bodies whose generators are all across it."""
    rng = np.random.default_rng(6)
    across = np.array([[0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])
    centre = Affine(np.array([[[0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]]]), 0.01 * rng.normal(size=(5, 2, 1, 3)), 1e-3)
    generators = Affine(np.tile(across, (2, 1, 1, 1)), 0.01 * rng.normal(size=(5, 2, 1, 2, 3)), 2e-3)
    every = _Shapes(centre, generators, np.array([0.1, 0.2]), False, swept)
    index = np.zeros(1, dtype=np.intp)
    found = _distance_bounds(every, index, index + 1, index)

    def aside(terms):
        return abs(terms[0]) + np.hypot(*terms[1:3]) + (np.abs(terms[3:]).sum() if swept else np.hypot(*terms[3:]))

    off = aside(centre.terms[:, 0, 0, 0] - centre.terms[:, 1, 0, 0]) + 2e-3
    off += sum(aside(generators.terms[:, s, 0, g, 0]) + 2e-3 for s in range(2) for g in range(2))
    # The search for the way is done to some 1e-6 rad, across which nothing is longer than 1 m.
    assert found[0] == pytest.approx(1.0 - 0.3 - off, abs=1e-5)


def test_errors_along_a_direction_are_none_too_small_where_its_length_is_off_by_rounding():
    short = np.array([[1.0 - 5e-10, 0.0, 0.0]])
    form = Affine(np.zeros((1, 3)), np.full((1, 1, 3), 0.5), 0.25 * np.ones((1, 3)))
    every = _Shapes(form, form, np.zeros(1), boxed=True, swept=False)
    assert 0.75 <= _along(form, short, every)[0] <= 0.75 * (1.0 + 1e-9)
