"""Norm bounds of the kinematics, against configurations at random and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from shared.row_scene import random_tree

from sysid_nodes.identifiers.error_radius import geometry
from sysid_nodes.identifiers.momentum_rows import body_norms
from sysid_nodes.identifiers.unknowns import prismatic_travel
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import joint_distances, momentum_regressors
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.robot import Robot


def robots() -> list[Robot]:
    rng = np.random.default_rng(0)
    return [load_robot("kinova_gen3"), load_robot("z1"), *(random_tree(rng) for _ in range(4))]


def configurations(robot: Robot, count: int = 60) -> np.ndarray:
    low = np.maximum(robot.limits.position_lower, -3.0)
    high = np.minimum(robot.limits.position_upper, 3.0)
    return np.random.default_rng(1).uniform(low, high, (count, robot.n))


@pytest.mark.parametrize("robot", robots(), ids=lambda robot: robot.name)
def test_reach_bounds_every_distance(robot: Robot) -> None:
    chain = Chain.from_robot(robot)
    reach = geometry(chain, prismatic_travel(robot)).reach
    assert (joint_distances(chain, configurations(robot)).max(axis=0) <= reach + 1e-12).all()


@pytest.mark.parametrize("robot", robots(), ids=lambda robot: robot.name)
def test_gravity_derivatives_are_bounded(robot: Robot) -> None:
    """d2U/dq2 and d3U/dq3 of each body alone, by central differences of the gravity torque."""
    chain, n = Chain.from_robot(robot), robot.n
    geo = geometry(chain, prismatic_travel(robot))
    theta = robot.inertial_parameters()
    norms = body_norms(theta, theta)
    q = configurations(robot, 20)
    step = 1e-3

    def gravity(at: np.ndarray) -> np.ndarray:  # (N, n, body)
        rows = momentum_regressors(chain, at, np.zeros_like(at))[1]
        return np.asarray(np.einsum("nkis,is->nki", rows.reshape(len(at), n, n, 10), theta))

    for first in range(n):
        a = step * np.eye(n)[first]
        slope = (gravity(q + a) - gravity(q - a)) / (2.0 * step)
        # 1e-5: central differences of step 1e-3 on torques of up to 100 N m
        assert (np.abs(slope) <= np.einsum("kis,is->ki", geo.hessian[:, first], norms) + 1e-5).all()
        for second in range(n):
            b = step * np.eye(n)[second]
            bend = (gravity(q + a + b) - gravity(q + a - b) - gravity(q - a + b) + gravity(q - a - b)) / (4 * step**2)
            allowed = np.einsum("kis,is->ki", geo.third[:, first, second], norms)
            assert (np.abs(bend) <= allowed + 1e-3).all()


def test_sliding_joints_need_their_travel() -> None:
    with pytest.raises(ValueError, match="prismatic joints need their travel"):
        geometry(Chain.from_robot(random_tree(np.random.default_rng(0))))
