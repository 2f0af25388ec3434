# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from shared.payload_problem import gen3_problem

from sysid_nodes.data import Bounds
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.known_robot import KnownRobotConfig, known_box, per_joint
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.unknowns import MOTOR_TERMS, identify_body, identify_payload

PRIOR = Bounds(-np.ones(10), np.arange(10) + 1.0)
KNOWN = KnownRobotConfig(offset_absolute=(0.4,), gain_relative=(0.1,), gain=(2.0,))


def test_the_box_follows_the_configuration_and_order() -> None:
    robot = load_robot("kinova_gen3")
    n = robot.n
    centre, radius = known_box(robot, KNOWN)
    np.testing.assert_array_equal(centre[: 10 * n], robot.inertial_parameters().ravel())
    np.testing.assert_allclose(radius[: 10 * n], 0.05 * np.abs(centre[: 10 * n]))
    np.testing.assert_allclose(radius[10 * n : 13 * n], 0.05 * np.abs(centre[10 * n : 13 * n]))
    np.testing.assert_allclose(radius[13 * n : 14 * n], 0.4)
    np.testing.assert_allclose((centre[14 * n :], radius[14 * n :]), (np.full(n, 2.0), np.full(n, 0.2)))


@pytest.mark.parametrize("identify", [identify_body, identify_payload])
def test_every_truth_in_the_box_has_its_xi(identify: object) -> None:
    rng = np.random.default_rng(1)
    problem = gen3_problem(rng, KNOWN, corner=True)
    n, body = 7, 6
    centre, radius = known_box(problem.robot, KNOWN)
    unknowns = identify(n, body, centre, radius, PRIOR)  # type: ignore[operator]
    xi = rng.choice([-1.0, 1.0], unknowns.size)
    theta = PRIOR.centre + PRIOR.half_width * xi[:10]
    p = unknowns.centre + unknowns.basis @ xi
    others = np.ones(15 * n, dtype=bool)
    others[unknowns.body_slice] = False
    assert (np.abs(p - centre)[others] <= radius[others] * (1 + 1e-12)).all()
    own = p[unknowns.body_slice] - theta
    allowed = radius[unknowns.body_slice] if identify is identify_payload else np.zeros(10)
    known = centre[unknowns.body_slice] if identify is identify_payload else np.zeros(10)
    assert (np.abs(own - known) <= allowed + 1e-12).all()
    assert (np.abs(p - 0.0)[others] <= unknowns.known_magnitude[others] * (1 + 1e-12)).all()
    assert len(unknowns.groups) == unknowns.size and set(unknowns.groups[:10]) == {"body"}


def test_groups_name_the_motor_terms() -> None:
    centre, radius = known_box(load_robot("kinova_gen3"), KNOWN)
    unknowns = identify_body(7, 6, centre, radius, PRIOR)
    assert set(unknowns.groups) == {"body", "link inertia", *MOTOR_TERMS[:-1]}  # load friction comes with a calibration
    gain = [k for k, name in enumerate(unknowns.groups) if name == "torque gain"]
    np.testing.assert_allclose(unknowns.basis[unknowns.motor_slice("torque gain")][:, gain], 0.2 * np.eye(7))


def test_what_is_certain_is_no_unknown() -> None:
    known = KnownRobotConfig(inertia_relative=0.0, friction_relative=0.0, armature_relative=0.0)
    centre, radius = known_box(load_robot("kinova_gen3"), known)
    assert identify_body(7, 6, centre, radius, PRIOR).size == 10


def test_one_number_or_one_a_joint() -> None:
    np.testing.assert_array_equal(per_joint((2.0,), 3, "x"), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(per_joint((1.0, 2.0, 3.0), 3, "x"), [1.0, 2.0, 3.0])
    for wrong in ((), (1.0, 2.0)):
        with pytest.raises(ConfigError, match=f"'x' needs 1 or 3 numbers, got {len(wrong)}"):
            per_joint(wrong, 3, "x")
