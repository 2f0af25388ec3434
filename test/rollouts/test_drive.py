# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from sysid_nodes.rollouts import Drive
from sysid_nodes.rollouts.drive import Bristles, saturate

DRIVE = Drive(np.array([40.0, 20.0]), np.array([1.0, 0.5]))
Q, W = np.array([0.1, -0.2]), np.array([0.3, -0.4])
ONE, NONE = np.ones(2), np.zeros(2)


def test_a_motor_without_limit_gives_what_the_pd_law_asks():
    torque = DRIVE.torque(np.array([0.2, 0.1]), Q, W, ONE, NONE, NONE)
    np.testing.assert_allclose(torque, [40.0 * 0.1 - 0.3, 20.0 * 0.3 + 0.2], rtol=1e-12)


def test_a_motor_never_gives_more_than_its_strength_and_half_of_it_at_the_right_place():
    strength = np.array([23.0, 10.0])
    np.testing.assert_allclose(saturate(np.array([1e4, -1e4]), 1.0 / strength), [23.0, -10.0])
    asked = strength * np.arctanh(0.5)
    np.testing.assert_allclose(saturate(asked, 1.0 / strength), 0.5 * strength, rtol=1e-12)


def test_the_set_point_for_a_torque_asks_for_it():
    wanted = np.array([7.0, -3.0])
    target = DRIVE.target(wanted, Q, W)
    np.testing.assert_allclose(DRIVE.torque(target, Q, W, ONE, NONE, NONE), wanted, rtol=1e-12)


def test_dry_friction_opposes_motion_and_gain_scales_only_the_motor():
    target = DRIVE.target(np.array([2.0, 2.0]), Q, W)
    torque = DRIVE.torque(target, Q, W, 0.5 * ONE, NONE, 0.2 * ONE)
    np.testing.assert_allclose(torque, [1.0 - 0.2, 1.0 + 0.2], atol=2e-3)


def test_bristles_hold_like_a_spring_and_slide_once_they_are_bent():
    """Dahl's law has an exponential for its solution; steps of a hundredth of the way follow it to a hundredth."""
    gives, still = 1e-3, np.zeros(1)
    bristles, q = Bristles(still, still, gives), still.copy()
    torque = []
    for direction, count in ((1.0, 500), (-1.0, 100)):
        for _ in range(count):
            q += 0.01 * direction * gives
            torque.append(bristles.move(q)[0])
    assert torque[9] == pytest.approx(-(1.0 - np.exp(-0.1)), abs=0.01), "a spring of 1 / gives"
    assert torque[499] == pytest.approx(-1.0, abs=0.01), "which slides"
    # Back by the way in which they come loose: from -1 to 1 - 2 exp(-1).
    assert torque[-1] == pytest.approx(1.0 - 2.0 * np.exp(-1.0), abs=0.02)


def test_bristles_of_a_joint_that_moves_are_bent():
    moving = Bristles(np.array([2.0, -2.0, 0.0]), np.zeros(3), 1e-3)
    np.testing.assert_allclose(moving.move(np.zeros(3)), [-1.0, 1.0, 0.0], atol=1e-6)
