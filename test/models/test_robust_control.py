# SPDX-License-Identifier: Apache-2.0
"""The robust law against its formula, from the recursion of models/passivity.py."""

import numpy as np
import pytest

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.passivity import passive_inverse_dynamics
from sysid_nodes.models.robust_control import RobustControlConfig, RobustLaw, gains
from sysid_nodes.robots import MotorConstants, load_robot

ROBOT = load_robot("kinova_gen3")
CHAIN = Chain.from_robot(ROBOT)
THETA = ROBOT.inertial_parameters()
MOTOR = MotorConstants(*(np.linspace(a, b, 7) for a, b in ((1.0, 2.0), (3.0, 1.0), (5.0, 7.0), (-0.1, 0.2))))
CONFIG = RobustControlConfig()
NO_CLIP = np.full(7, np.inf)


def law(**changes):
    return RobustLaw(ROBOT, THETA, MOTOR, RobustControlConfig(**changes))


@pytest.mark.parametrize("seed", range(5))
def test_torque_is_that_of_the_formula(seed):
    rng = np.random.default_rng(seed)
    q, qd, q_d, qd_d, qdd_d = rng.uniform(-1.0, 1.0, (5, 7))
    limit = rng.uniform(5.0, 50.0, 7)
    found = law().command(q, qd, (q_d, qd_d, qdd_d), limit)
    e, rate = q_d - q, qd_d - qd
    qd_a, qdd_a, r = qd_d + 4.0 * e, qdd_d + 4.0 * rate, rate + 4.0 * e
    expected = passive_inverse_dynamics(CHAIN, THETA.ravel(), *(x[None] for x in (q, qd, qd_a, qdd_a)))[0]
    expected += MOTOR.viscous * qd_a + MOTOR.armature * qdd_a + MOTOR.offset
    expected += MOTOR.coulomb * np.clip(qd_a / 0.01, -1.0, 1.0)
    expected += np.clip(gains(ROBOT, CONFIG).damping * r, -limit, limit)
    assert found.torque == pytest.approx(expected, abs=1e-9)
    assert found.position_error == pytest.approx(e) and found.reference_error == pytest.approx(r)


def test_both_velocities_of_the_coriolis_term_count():
    q, qd, qd_d = np.full(7, 0.5), np.full(7, 1.0), np.zeros(7)
    moving = law(position_gain=0.1).command(q, qd, (q, qd_d, np.zeros(7)), np.zeros(7))
    still = law(position_gain=0.1).command(q, 0.0 * qd, (q, qd_d, np.zeros(7)), np.zeros(7))
    rate = -0.1 * qd  # K_r times the rate of e is all that is left of qdd_a; qd_a is zero, so C(q, qd) qd_a is
    zero = np.zeros((1, 7))
    inertial = passive_inverse_dynamics(CHAIN, THETA.ravel(), q[None], zero, zero, rate[None])
    inertial -= passive_inverse_dynamics(CHAIN, THETA.ravel(), q[None], zero, zero, zero)
    assert moving.torque - still.torque == pytest.approx(inertial[0] + MOTOR.armature * rate, abs=1e-9)


def test_robust_input_is_clipped_joint_by_joint():
    q = np.zeros(7)
    desired = (np.full(7, 1.0), np.zeros(7), np.zeros(7))
    limit = np.arange(1.0, 8.0)
    clipped, free = (law().command(q, q, desired, x) for x in (limit, 0.0 * limit))
    assert clipped.torque - free.torque == pytest.approx(limit)


def test_the_robots_own_model_is_not_touched():
    before = ROBOT.inertial_parameters()
    RobustLaw(ROBOT, 2.0 * THETA, MOTOR, CONFIG).command(*np.zeros((2, 7)), tuple(np.zeros((3, 7))), NO_CLIP)
    assert (ROBOT.inertial_parameters() == before).all()


def test_errors_of_the_sensors():
    found = gains(ROBOT, CONFIG)
    assert found.position_error == pytest.approx(0.5 * ROBOT.encoder_step)
    assert (gains(ROBOT, RobustControlConfig(position_error=(1e-3,))).position_error == 1e-3).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"damping": (1.0, 2.0)}, "'control.damping' needs 1 or 7 numbers, got 2"),
        ({"velocity_error": (0.0,) * 3}, "'control.velocity_error' needs 1 or 7 numbers, got 3"),
        ({"torque_error": (0.0,) * 8}, "'control.torque_error' needs 1 or 7 numbers, got 8"),
    ],
)
def test_gains_that_do_not_fit(changes, words):
    with pytest.raises(ConfigError, match=words):
        law(**changes)


@pytest.mark.parametrize("theta", [THETA[:5], np.full((7, 10), np.nan)])
def test_a_model_that_is_none(theta):
    with pytest.raises(ConfigError, match="7 x 10 finite inertial parameters"):
        RobustLaw(ROBOT, theta, MOTOR, CONFIG)
