"""Friction against its formula and finite differences."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.models import friction

MOTOR = SimpleNamespace(
    coulomb=np.array([0.5, 1.0]),
    viscous=np.array([0.1, 2.0]),
    armature=np.array([0.3, 0.0]),
    offset=np.array([-0.2, 0.4]),
)
CONSTANTS = friction.friction_constants(MOTOR)


def test_torque_by_hand():
    qd, qdd = np.array([[2.0, -1.0], [0.0, 0.0]]), np.array([[1.0, 5.0], [0.0, 0.0]])
    expected = [[0.5 + 0.2 + 0.3 - 0.2, -1.0 - 2.0 + 0.4], [-0.2, 0.4]]
    np.testing.assert_allclose(friction.friction_torque(CONSTANTS, qd, qdd), expected, atol=1e-15)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.05, 1.0]))
def test_derivatives_by_finite_differences(seed, smoothing):
    rng = np.random.default_rng(seed)
    # Speeds keep 0.1 from the jump, a hundred thousand steps of the difference.
    qd, qdd = rng.choice([-1, 1], (4, 2)) * rng.uniform(0.1, 2.0, (4, 2)), rng.normal(size=(4, 2))
    step = 1e-6
    derivatives = friction.friction_derivatives(CONSTANTS, qd, qdd, smoothing=smoothing)

    def torque(constants=CONSTANTS, speed=qd, acceleration=qdd):
        return friction.friction_torque(constants, speed, acceleration, smoothing=smoothing)

    # Curvature of the tanh is at most 1/smoothing^3 = 8000: truncation 1e-8; rounding 1e-9.
    by_speed = (torque(speed=qd + step) - torque(speed=qd - step)) / (2 * step)
    np.testing.assert_allclose(derivatives.velocity, by_speed, atol=1e-7)
    by_acceleration = (torque(acceleration=qdd + step) - torque(acceleration=qdd - step)) / (2 * step)
    np.testing.assert_allclose(derivatives.acceleration, by_acceleration, atol=1e-7)
    for column in range(4):
        move = step * np.eye(4)[column]
        by_constant = (torque(CONSTANTS + move) - torque(CONSTANTS - move)) / (2 * step)
        np.testing.assert_allclose(derivatives.constants[..., column], by_constant, atol=1e-7)


def test_smoothing_tends_to_the_sign():
    qd = np.array([[-0.3, 0.01]])
    smooth = friction.friction_regressor(qd, qd, smoothing=1e-4)
    np.testing.assert_allclose(smooth, friction.friction_regressor(qd, qd), atol=1e-12)


@pytest.mark.parametrize(
    ("qd", "constants", "smoothing", "message"),
    [
        (np.zeros((3, 2)), np.zeros((3, 4)), 0.0, r"friction constants must have shape \(2, 4\)"),
        (np.zeros((3, 1)), CONSTANTS, 0.0, "one shape"),
        (np.zeros(2), CONSTANTS, 0.0, "one shape"),
        (np.zeros((3, 2)), CONSTANTS, -1.0, "must not be negative, got -1"),
    ],
)
def test_bad_input(qd, constants, smoothing, message):
    with pytest.raises(SamplesError, match=message):
        friction.friction_torque(constants, qd, np.zeros((3, 2)), smoothing=smoothing)
