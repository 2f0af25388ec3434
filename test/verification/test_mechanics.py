# SPDX-License-Identifier: Apache-2.0
"""The checker's own mechanics against pinocchio, and its arithmetic against samples."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from shared.certificate_documents import setup

from sysid_nodes.models.self_collision import place as place_shapes
from sysid_nodes.models.self_collision import self_collision_pairs
from sysid_nodes.models.separation import distances
from sysid_nodes.robots import load_robot
from sysid_nodes.verification.chain import OutsideScopeError, read_chain, rotation_about
from sysid_nodes.verification.desired import Parts
from sysid_nodes.verification.distance import (
    FAR,
    joint_frames,
    obstacle_distances,
    robot_shape,
    self_distances,
    separation,
)
from sysid_nodes.verification.errors import Errors
from sysid_nodes.verification.models import Models
from sysid_nodes.verification.spread import Ball, Change, Symbols
from sysid_nodes.verification.spread_chain import Spread, inertial

ROBOT = load_robot("kinova_gen3", variant="gripper")
CHAIN = read_chain(ROBOT.urdf, ROBOT.joint_names)
N = 7


def at(q: np.ndarray, off: float = 0.0) -> Parts:
    """One part of time in which the robot is at q (n,), up to ``off``."""
    zero = np.zeros((1, N))
    return Parts(np.zeros(1, dtype=np.intp), np.zeros(1), np.ones(1), q[None], zero, zero, zero + off, zero, zero, zero)


def known() -> Models:
    nothing = np.zeros((N, 2))
    return Models(CHAIN.theta, 0.0 * CHAIN.theta, nothing, nothing, nothing, nothing, True)


def numbers(x: np.ndarray, off: float = 0.0) -> list[Ball]:
    return [Ball(np.array([value]), np.array([off])) for value in x]


def symbols(off: float) -> Symbols:
    """Position errors of up to ``off`` a joint, and no others."""
    e, none = np.full((1, N), off), np.zeros((1, N))
    unit = np.ones(N)
    return Symbols(Errors(np.linalg.norm(e, axis=1), e, unit), Errors(np.zeros(1), none, unit))


def torque(q: np.ndarray, qd: np.ndarray, qd_a: np.ndarray, qdd: np.ndarray, off: float = 0.0) -> list[Ball]:
    """By the checker's mechanics, positions and rates known up to ``off``."""
    rates = tuple(numbers(x, off) for x in (qd, qd_a, qdd))
    found, _, _ = inertial(Spread(CHAIN, at(q), symbols(off)), ROBOT.model.gravity.linear, rates, known())
    return found


def expected(q: np.ndarray, qd: np.ndarray, qd_a: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    model, data = ROBOT.model, ROBOT.model.createData()
    coriolis = pinocchio.computeCoriolisMatrix(model, data, q, qd).copy()
    return np.array(pinocchio.rnea(model, data, q, 0.0 * q, qdd) + coriolis @ qd_a)


def test_the_urdf_is_read_as_pinocchio_reads_it() -> None:
    np.testing.assert_allclose(CHAIN.theta, ROBOT.inertial_parameters(), rtol=0.0, atol=1e-14)
    with pytest.raises(OutsideScopeError, match="do not form a chain"):
        read_chain(ROBOT.urdf, ROBOT.joint_names[1:][::-1])


@pytest.mark.parametrize("seed", range(3))
def test_torques_are_those_of_pinocchio(seed: int) -> None:
    q, qd, qd_a, qdd = np.random.default_rng(seed).normal(size=(4, N))
    found = torque(q, qd, qd_a, qdd)
    np.testing.assert_allclose([x.middle[0] for x in found], expected(q, qd, qd_a, qdd), rtol=0.0, atol=1e-11)
    assert max(x.largest[0] - abs(x.middle[0]) for x in found) < 1e-9


def test_torques_of_all_states_nearby_are_held_and_not_by_far() -> None:
    rng, off = np.random.default_rng(5), 0.01
    centre = rng.normal(size=(4, N))
    found, used = torque(*centre, off), np.zeros(N)
    for _ in range(300):
        near = centre + off * np.sign(rng.normal(size=(4, N)))
        bound = np.array([x.radius[0] + x.error_size[0] for x in found])
        used = np.maximum(used, np.abs(expected(*near) - [x.middle[0] for x in found]) / bound)
    assert used.max() <= 1.0
    assert used.max() > 0.35


def test_balls_and_changes_hold_what_they_are_computed_from() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.normal(size=(2, 50, 3))
    off = rng.uniform(0.0, 0.3, size=(2, 50))
    shift = rng.normal(size=(2, 50, 3))
    shift *= (off / np.linalg.norm(shift, axis=-1))[..., None]
    balls = [Ball(x, r) for x, r in zip((one, two), off, strict=True)]
    changes = [Change(np.linalg.norm(x, axis=-1), r) for x, r in zip((one, two), off, strict=True)]
    a, b = one + shift[0], two + shift[1]
    for name, exact, before in (
        ("cross", np.cross(a, b), np.cross(one, two)),
        ("dot", (a * b).sum(axis=-1), (one * two).sum(axis=-1)),
        ("__add__", a + b, one + two),
    ):
        axis = -1 if exact.ndim == 2 else None
        error = np.abs(exact - before) if axis is None else np.linalg.norm(exact - before, axis=-1)
        for kind in (balls, changes):
            got = getattr(kind[0], name)(kind[1])
            bound = got.radius if isinstance(got, Ball) else got.change
            assert (error <= bound).all()
            assert (error / bound).max() > 0.5


def test_rotations_turn_by_the_right_hand() -> None:
    np.testing.assert_allclose(
        rotation_about(np.array([0.0, 0.0, 1.0]), 0.5 * np.pi) @ [1.0, 0.0, 0.0], [0, 1, 0], atol=1e-15
    )


def test_distances_are_those_of_the_planner_but_never_more() -> None:
    made = setup()
    shapes = [robot_shape({"frame": s.frame, "kind": s.kind, "position": s.position, "rotation": s.rotation,
                           "size": s.size, "load": s.load}, CHAIN.names) for s in made.shapes]  # fmt: skip
    pairs = self_collision_pairs(made.robot, made.shapes)
    for q in np.random.default_rng(2).uniform(-1.5, 1.5, (4, N)):
        solids = place_shapes(made.robot, pairs.shapes, q[None])
        known_distances = distances(solids, solids, pairs.kept, beyond=10.0).distance[0]
        own = [float(separation(joint_frames(CHAIN, at(q)), shapes[i], shapes[j])[0][0]) for i, j in pairs.kept]
        clear = known_distances > 0.01
        assert (np.array(own)[clear] <= known_distances[clear] + 1e-9).all()
        assert (np.array(own)[clear] >= np.minimum(known_distances[clear], FAR) - 2e-3).all()


def test_distances_of_nothing_are_infinite_as_certificates_say() -> None:
    rest, none = at(np.zeros(N)), Errors.within(np.zeros(1), np.ones(N))
    one = [robot_shape({"frame": CHAIN.names[0], "kind": "sphere", "position": np.zeros(3), "rotation": np.eye(3),
                        "size": [0.1], "load": False}, CHAIN.names)]  # fmt: skip
    assert self_distances(CHAIN, rest, none, one, None) == np.inf
    assert obstacle_distances(CHAIN, rest, none, one, []) == np.inf
