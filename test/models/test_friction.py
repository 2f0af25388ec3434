# SPDX-License-Identifier: Apache-2.0
"""Friction against its formula and finite differences."""

import numpy as np
import pytest

from sysid_nodes.models.friction import friction_slope, friction_torque
from sysid_nodes.robots import MotorConstants

MOTOR = MotorConstants(
    coulomb=np.array([0.5, 1.0]),
    viscous=np.array([0.1, 2.0]),
    armature=np.array([0.3, 0.0]),
    offset=np.array([-0.2, 0.4]),
)


def test_torque_by_hand():
    qd, qdd = np.array([[2.0, -1.0], [0.0, 0.0]]), np.array([[1.0, 5.0], [0.0, 0.0]])
    expected = [[0.5 + 0.2 + 0.3 - 0.2, -1.0 - 2.0 + 0.4], [-0.2, 0.4]]
    np.testing.assert_allclose(friction_torque(MOTOR, qd, qdd), expected, atol=1e-15)


@pytest.mark.parametrize("smoothing", [0.05, 1.0])
def test_slope_by_finite_differences(smoothing):
    qd, qdd, step = np.random.default_rng(0).normal(size=(50, 2)), np.zeros((50, 2)), 1e-6
    ahead, behind = (friction_torque(MOTOR, qd + x, qdd, smoothing=smoothing) for x in (step, -step))
    # Curvature of the tanh is at most 1/smoothing^3 = 8000: truncation 1e-8; rounding 1e-9.
    np.testing.assert_allclose(friction_slope(MOTOR, qd, smoothing=smoothing), (ahead - behind) / (2 * step), atol=1e-7)


def test_smoothing_tends_to_the_sign():
    qd, rest = np.array([[-0.3, 0.01]]), np.zeros((1, 2))
    smooth = friction_torque(MOTOR, qd, rest, smoothing=1e-4)
    np.testing.assert_allclose(smooth, friction_torque(MOTOR, qd, rest), atol=1e-12)
