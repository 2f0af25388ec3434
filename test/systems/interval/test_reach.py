# SPDX-License-Identifier: Apache-2.0
"""Norm bounds of the kinematics, against configurations at random, motions within a window and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from shared.rough_motion import RoughMotion
from shared.row_scene import random_tree

from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import momentum_regressors
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.interval.momentum_rows import body_norms
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.unknowns import prismatic_travel


def robots() -> list[Robot]:
    rng = np.random.default_rng(0)
    return [load_robot("kinova_gen3"), load_robot("z1"), *(random_tree(rng) for _ in range(4))]


def configurations(robot: Robot, count: int) -> np.ndarray:
    low = np.maximum(robot.limits.position_lower, -3.0)
    high = np.minimum(robot.limits.position_upper, 3.0)
    return np.random.default_rng(1).uniform(low, high, (count, robot.n))


def levers_of(chain: Chain, q: np.ndarray) -> np.ndarray:
    """(N, n, n) speed of body i's origin for unit speed of joint l, from the Jacobians."""
    motion = reference.forward_kinematics(chain.tree, q, np.zeros_like(q))
    out = np.zeros((len(q), chain.n, chain.n))
    for joint in range(chain.n):
        linear, angular = motion.jacobian[joint, :3], motion.jacobian[joint, 3:]
        for body in np.flatnonzero(chain.supports()[joint]):
            speed = linear + np.cross(angular, motion.origin[body], axis=0)
            out[:, joint, body] = np.linalg.norm(speed, axis=0)
    return out


@pytest.mark.parametrize("robot", robots(), ids=lambda robot: robot.name)
def test_levers_hold_between_samples_and_for_wrong_positions(robot: Robot) -> None:
    rng = np.random.default_rng(2)
    chain = Chain.from_robot(robot)
    sliding = ~chain.tree.revolute
    reach = Reach(chain, prismatic_travel(robot))
    for dt in (0.001, 0.02):
        speed = np.where(sliding, 0.1, rng.choice([0.1, 4.0]))
        motion = RoughMotion.random(rng, configurations(robot, 1)[0] * 0.5, 40.0 * speed, speed, 0.3, 0.01)
        t = np.arange(0.0, 0.3, dt)
        q, _, _ = motion(t)
        error = 1e-2 * rng.choice([0.0, 1.0])
        edges = np.array([[0, len(t) // 2], [len(t) // 2, len(t) - 1]], dtype=np.intp)
        top = np.abs(motion.velocity).max(axis=0)
        spread = np.ones((2, 1))
        read = q + error * rng.choice([-1.0, 1.0], q.shape)
        levers = reach.levers(t, read, edges, spread * top, spread * np.full(robot.n, error))
        for window, (first, last) in enumerate(edges):
            inside = motion(np.linspace(t[first], t[last], 200))[0]
            assert (levers_of(chain, inside).max(axis=0) <= levers.lam[window] + 1e-12).all()


def test_levers_of_an_arm_that_rests_are_those_of_any_position_that_may_have_been_read_wrong() -> None:
    arm, error = load_robot("kinova_gen3"), 0.05
    chain, q = Chain.from_robot(arm), configurations(arm, 40)
    read = q + error * np.random.default_rng(3).choice([-1.0, 1.0], q.shape)
    t, edges = np.arange(2.0 * len(q)) * 1e-3, np.arange(2 * len(q), dtype=np.intp).reshape(-1, 2)
    none = np.zeros_like(q)
    reach = Reach(chain, prismatic_travel(arm))
    levers, exact = (
        reach.levers(t, np.repeat(read, 2, axis=0), edges, none, spread).lam for spread in (none + error, none)
    )
    true = levers_of(chain, q)
    assert (true <= levers + 1e-12).all()
    assert (true > exact + 1e-12).mean() > 0.05  # which counting no error would not hold


@pytest.mark.parametrize("robot", robots(), ids=lambda robot: robot.name)
def test_gravity_derivatives_are_bounded(robot: Robot) -> None:
    """d2U/dq2 and d3U/dq3 of each body alone, by central differences of the gravity torque."""
    chain, n = Chain.from_robot(robot), robot.n
    theta = robot.inertial_parameters()
    norms = body_norms(theta, theta)
    step = 1e-3
    q = configurations(robot, 12)
    # windows in which the arm stands still
    t = np.arange(2.0 * len(q)) * 1e-3
    edges = np.arange(2 * len(q), dtype=np.intp).reshape(-1, 2)
    still = np.zeros_like(q)
    levers = Reach(chain, prismatic_travel(robot)).levers(t, np.repeat(q, 2, axis=0), edges, still, still)

    def gravity(at: np.ndarray) -> np.ndarray:  # (N, n, body)
        rows = momentum_regressors(chain, at, np.zeros_like(at))[1]
        return np.asarray(np.einsum("nkis,is->nki", rows.reshape(len(at), n, n, 10), theta))

    for first in range(n):
        a = step * np.eye(n)[first]
        slope = np.abs(gravity(q + a) - gravity(q - a)) / (2.0 * step)
        # the steps of the central differences themselves leave 1e-5
        assert (slope <= np.einsum("wkis,is->wki", levers.hessian[:, :, first], norms) + 1e-5).all()
        for second in range(first, n):
            b = step * np.eye(n)[second]
            bend = (gravity(q + a + b) - gravity(q + a - b) - gravity(q - a + b) + gravity(q - a - b)) / (4 * step**2)
            allowed = np.einsum("kis,is->ki", levers.third[:, first, second], norms)
            assert (np.abs(bend) <= allowed + 1e-3).all()


def test_gravity_does_nothing_about_a_vertical_axis() -> None:
    robot = load_robot("kinova_gen3")
    q = np.repeat(configurations(robot, 1), 2, axis=0)
    levers = Reach(Chain.from_robot(robot), prismatic_travel(robot)).levers(
        np.array([0.0, 1e-3]), q, np.array([[0, 1]]), 0.0 * q[:1], 0.0 * q[:1]
    )
    assert (levers.hessian[:, 0] <= 1e-6).all() and (levers.hessian[:, :, 0] <= 1e-6).all()
    assert (levers.hessian[:, 1, 1, 1:, 0] > 0.1).any()
    assert (
        (levers.third[0] <= 1e-6).all() and (levers.third[:, 0] <= 1e-6).all() and (levers.third[1, 1, 1] > 0.1).any()
    )


def test_kinematics_are_evaluated_every_ten_milliseconds_and_at_both_ends() -> None:
    arm = load_robot("kinova_gen3")
    reach, q = Reach(Chain.from_robot(arm), prismatic_travel(arm)), configurations(arm, 60)
    often = reach.levers(np.arange(60) * 0.001, q, np.array([[2, 37], [37, 59]]), 0.0 * q[:2], 0.0 * q[:2]).picked
    assert [list(x) for x in often] == [[2, 10, 19, 28, 37], [37, 44, 51, 59]]
    seldom = reach.levers(np.arange(60) * 0.02, q, np.array([[4, 7]]), 0.0 * q[:1], 0.0 * q[:1]).picked
    assert [list(x) for x in seldom] == [[4, 5, 6, 7]]


def test_a_sliding_joint_moves_what_it_carries_by_its_own_speed() -> None:
    rng = np.random.default_rng(5)
    arm = next(x for x in (random_tree(rng) for _ in range(99)) if not Chain.from_robot(x).tree.revolute[:2].all())
    chain, q = Chain.from_robot(arm), configurations(load_robot("kinova_gen3"), 2)[:, :6] * 0.1
    found = Reach(chain, prismatic_travel(arm)).levers(
        np.array([0.0, 1e-3]), q, np.array([[0, 1]]), 0.0 * q[:1] + 0.5, 0.0 * q[:1] + 0.01
    )
    sliding = ~chain.tree.revolute
    np.testing.assert_array_equal(found.lam[0, sliding], chain.supports()[sliding])
