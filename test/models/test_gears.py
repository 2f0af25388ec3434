# SPDX-License-Identifier: Apache-2.0
"""Coupled gears: motors' power is joints'."""

from __future__ import annotations

import numpy as np

from sysid_nodes.models.gears import motor_motion, motor_torques


def test_motors_and_joints_have_the_same_power() -> None:
    rng = np.random.default_rng(0)
    coupling = np.array([[2.0, 0.0, 0.0], [-1.0, 1.5, 0.0], [0.3, 0.2, -1.0]])
    velocity, load = rng.standard_normal((2, 5, 3))
    motors = motor_motion(coupling, velocity)
    np.testing.assert_allclose(motors[0], coupling @ velocity[0], rtol=1e-12)
    np.testing.assert_allclose((motors * motor_torques(coupling, load)).sum(axis=1), (velocity * load).sum(axis=1))


def test_coefficients_turn_like_the_torques_that_they_make() -> None:
    rng = np.random.default_rng(1)
    coupling, coefficients, x = (
        np.array([[1.0, 0.5], [0.0, 1.0]]),
        rng.standard_normal((4, 2, 3)),
        rng.standard_normal(3),
    )
    np.testing.assert_allclose(motor_torques(coupling, coefficients) @ x, motor_torques(coupling, coefficients @ x))
