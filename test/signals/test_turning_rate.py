# SPDX-License-Identifier: Apache-2.0
"""Angular velocity from orientations."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from sysid_nodes.signals.turning_rate import turning_rate


def angular_velocity(t: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(3.1 * t), 1.5 * np.sin(1.7 * t + 1.0), 0.8 * np.sin(5.3 * t)], axis=-1)


def orientations(times: np.ndarray) -> np.ndarray:
    """(N, 4), integrated in steps of 0.2 ms."""
    fine = np.arange(0.0, times[-1] + 1e-3, 2e-4)
    turn, out = pinocchio.Quaternion.Identity(), []
    for w in angular_velocity(fine + 1e-4):
        out.append(turn.coeffs().copy())
        turn = turn * pinocchio.Quaternion(pinocchio.exp3(2e-4 * w))
    return np.array(out)[np.searchsorted(fine, times - 1e-9)]


@pytest.fixture(scope="module")
def mocap() -> tuple[np.ndarray, np.ndarray]:
    times = np.arange(0.0, 6.0, 0.01)
    return times, orientations(times)


def test_turning_rate_of_orientations(mocap: tuple[np.ndarray, np.ndarray]) -> None:
    times, quaternions = mocap
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(times), 1))
    middle, rate = turning_rate(times, signs * quaternions)
    # A turn over 10 ms is a mean: it differs by dt^2 / 24 times the curvature, some 40 rad/s3 at most.
    np.testing.assert_allclose(rate, angular_velocity(middle), atol=3e-4)
    _, still = turning_rate(times, np.tile([0.0, 0.0, 0.0, 1.0], (len(times), 1)))
    np.testing.assert_array_equal(still, 0.0)
