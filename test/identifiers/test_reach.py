"""Levers and gravity's derivatives, against configurations at random and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from shared.row_scene import random_tree

from sysid_nodes.identifiers.momentum_rows import body_norms
from sysid_nodes.identifiers.reach import Levers, Reach
from sysid_nodes.identifiers.unknowns import prismatic_travel
from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import momentum_regressors
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.robot import Robot

SPREAD = 0.02


def robots() -> list[Robot]:
    rng = np.random.default_rng(0)
    return [load_robot("kinova_gen3"), load_robot("z1"), *(random_tree(rng) for _ in range(4))]


def inside(robot: Robot, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, Levers]:
    """A configuration, others within SPREAD of it, and the levers of a window that may visit them all."""
    low = np.maximum(robot.limits.position_lower, -3.0) + SPREAD
    high = np.minimum(robot.limits.position_upper, 3.0) - SPREAD
    centre = rng.uniform(low, high)
    q = centre + rng.uniform(-SPREAD, SPREAD, (count, robot.n))
    reach = Reach(Chain.from_robot(robot), prismatic_travel(robot))
    readings = np.stack([centre, centre])
    # half of the spread may happen between the samples, the other half is error of the readings
    speed, error = np.full((1, robot.n), SPREAD / 0.01), np.full((1, robot.n), SPREAD / 2.0)
    return centre, q, reach.within(np.array([0.0, 0.01]), readings, np.array([[0, 1]]), speed, error)


@pytest.mark.parametrize("robot", robots(), ids=lambda robot: robot.name)
def test_levers_hold_throughout_the_window(robot: Robot) -> None:
    rng = np.random.default_rng(1)
    tree = Chain.from_robot(robot).tree
    for _ in range(20):
        _, q, levers = inside(robot, rng, 40)
        motion = reference.forward_kinematics(tree, q, np.zeros_like(q))
        for joint, body in np.argwhere(reference.supports(tree)):
            axis = np.einsum("abs,b->as", motion.rotation[joint], tree.axis[joint])
            arm = motion.origin[body] - motion.origin[joint]
            length = np.linalg.norm(np.cross(axis.T, arm.T), axis=1) if tree.revolute[joint] else np.ones(len(q))
            assert (length <= levers.lam[0, joint, body] + 1e-12).all()


@pytest.mark.parametrize("robot", robots(), ids=lambda robot: robot.name)
def test_gravity_derivatives_are_bounded(robot: Robot) -> None:
    """d2U/dq2 and d3U/dq3 of each body alone, by central differences of the gravity torque."""
    rng = np.random.default_rng(2)
    chain, n = Chain.from_robot(robot), robot.n
    theta = robot.inertial_parameters()
    norms = body_norms(theta, theta)
    step = 1e-3

    def gravity(at: np.ndarray) -> np.ndarray:  # (N, n, body)
        rows = momentum_regressors(chain, at, np.zeros_like(at))[1]
        return np.asarray(np.einsum("nkis,is->nki", rows.reshape(len(at), n, n, 10), theta))

    for _ in range(5):
        _, q, levers = inside(robot, rng, 8)
        for first in range(n):
            a = step * np.eye(n)[first]
            slope = (gravity(q + a) - gravity(q - a)) / (2.0 * step)
            # 1e-5: central differences of step 1e-3 on torques of up to 100 N m
            assert (np.abs(slope) <= np.einsum("kis,is->ki", levers.hessian[0, :, first], norms) + 1e-5).all()
            for second in range(n):
                b = step * np.eye(n)[second]
                bend = gravity(q + a + b) - gravity(q + a - b) - gravity(q - a + b) + gravity(q - a - b)
                allowed = np.einsum("kis,is->ki", levers.third[:, first, second], norms)
                assert (np.abs(bend) / (4.0 * step**2) <= allowed + 1e-3).all()


def test_levers_within_a_window_are_shorter_than_the_longest() -> None:
    """What makes the local levers worth their cost: an arm is rarely stretched out."""
    robot = load_robot("kinova_gen3")
    rng = np.random.default_rng(3)
    widest = Reach(Chain.from_robot(robot), prismatic_travel(robot))._widest
    share = [float((inside(robot, rng, 1)[2].lam[0].sum()) / widest.sum()) for _ in range(20)]
    assert np.mean(share) < 0.8
