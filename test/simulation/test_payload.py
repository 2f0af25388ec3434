# SPDX-License-Identifier: Apache-2.0
"""Payloads against the published dumbbell, and against bodies that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.data.inertia import is_consistent
from sysid_nodes.exceptions import InputError, RobotError
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation.arm import Payload, dumbbell, random_dumbbell

THETA_WITH_6_LB = """
4.00641849 -4.25003089e-05 8.75857772e-05 -0.602690557
0.114456235 -4.1051479e-06 0.104605998 -8.25759215e-07 5.97932273e-06 0.0135901159
"""


def test_six_pounds_are_the_authors_object() -> None:
    robot = load_robot("kinova_gen3")
    index, load = dumbbell(2.72155422).spatial_inertia(robot)
    assert index == 6
    expected = np.array(THETA_WITH_6_LB.split(), dtype=float)
    # The published object is turned by 1.5708 instead of pi / 2: 3.7e-6 rad x 0.011 kg m2 = 4e-8.
    np.testing.assert_allclose(robot.inertial_parameters()[6] + load.toDynamicParameters(), expected, atol=6e-8)


def test_random_dumbbells_are_physical_and_in_the_paper_s_box() -> None:
    robot, rng = load_robot("kinova_gen3"), np.random.default_rng(5)
    lower = np.array([1.2, -0.4, -0.4, -1.0] + [-0.2] * 6)
    upper = np.array([5.2, 0.4, 0.4, -0.1] + [0.2] * 6)
    masses = []
    for _ in range(50):
        payload = random_dumbbell(rng)
        _, load = payload.spatial_inertia(robot)
        theta = robot.inertial_parameters()[6] + load.toDynamicParameters()
        assert is_consistent(theta)
        assert (lower < theta).all()
        assert (theta < upper).all()
        masses.append(payload.mass)
    assert max(masses) - min(masses) > 1.0


def test_payload_on_another_link_moves_with_that_link() -> None:
    robot = load_robot("kinova_gen3")
    index, load = Payload(1.0, np.array([0.0, -0.1, 0.0]), 0.01 * np.eye(3), link="forearm_link").spatial_inertia(robot)
    assert index == 3
    np.testing.assert_allclose(load.toDynamicParameters()[:4], [1.0, 0.0, -0.1, 0.0])


@pytest.mark.parametrize(
    ("mass", "inertia", "message"),
    [
        (0.0, np.eye(3), "positive mass, got 0 kg"),
        (-1.0, np.eye(3), "positive mass, got -1 kg"),
        (float("nan"), np.eye(3), "positive mass, got nan kg"),
        (1.0, np.diag([1.0, 1.0, 3.0]), "not physical"),
        (1.0, np.diag([-0.1, 1.0, 1.0]), "not physical"),
        (1.0, np.ones(3), "symmetric 3x3"),
        (1.0, np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), "symmetric 3x3"),
    ],
)
def test_impossible_payload(mass: float, inertia: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Payload(mass, np.zeros(3), inertia)


def test_payload_on_a_missing_link() -> None:
    with pytest.raises(RobotError, match="no link 'tray'"):
        Payload(1.0, np.zeros(3), np.eye(3), link="tray").spatial_inertia(load_robot("kinova_gen3"))
