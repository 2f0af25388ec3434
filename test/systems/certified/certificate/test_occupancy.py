# SPDX-License-Identifier: Apache-2.0
"""Proven distances against sampled postures and an engine that shares no code with them."""

import numpy as np
import pytest
from shared.certified_arm import draw_in_ball, plan, robot, shapes

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.intervals import Affine
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.self_collision import joints_of, self_collision_pairs
from sysid_nodes.models.solids import from_obstacle, from_primitive
from sysid_nodes.results.certificate import Margins
from sysid_nodes.simulation.arm.contact_watch import ContactWatch
from sysid_nodes.systems.certified.certificate.closed_loop import Tube
from sysid_nodes.systems.certified.certificate.judgement import Judge
from sysid_nodes.systems.certified.certificate.motion import desired_motion, motion
from sysid_nodes.systems.certified.certificate.occupancy import (
    ENOUGH,
    Occupancy,
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
    lost = type(shape)(broken, shape.generators, shape.radius)
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
    assert judge._binding(Margins(**given), outside, within, scene) == words


def test_nothing_to_compare():
    wanted, tube = plan(0.3), Tube(np.full((25, 7), 0.01), np.full((25, 7), 0.1))
    occupied_by, _ = occupied(wanted, tube)
    assert obstacle_distance(occupied_by, []).shape == (25, len(occupied_by), 0)
    assert self_distance(occupied_by, np.zeros((0, 2), dtype=np.intp)).shape == (25, 0)
