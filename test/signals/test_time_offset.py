"""The offset between two clocks from what both streams saw."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.signals.time_offset import estimate_time_offset, turning_rate


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


@pytest.mark.parametrize("offset", [0.0, 0.0213, -0.0787])
def test_offset_between_gyroscope_and_mocap_is_found(mocap: tuple[np.ndarray, np.ndarray], offset: float) -> None:
    rng = np.random.default_rng(1)
    gyro_times = np.sort(rng.uniform(0.0, 6.0, 3000))
    turn = pinocchio.rpy.rpyToMatrix(0.3, -0.2, 1.0)
    gyro = angular_velocity(gyro_times) @ turn.T + np.array([0.3, -0.2, 0.1]) + 0.02 * rng.normal(size=(3000, 3))
    noisy = [
        (
            pinocchio.Quaternion(*np.roll(q, 1)) * pinocchio.Quaternion(pinocchio.exp3(0.0087 * rng.normal(size=3)))
        ).coeffs()
        for q in mocap[1]
    ]
    middle, rate = turning_rate(mocap[0], np.array(noisy), apart=10)
    found = estimate_time_offset(gyro_times, gyro, middle + offset, rate, limit=0.2)
    swapped = estimate_time_offset(middle + offset, rate, gyro_times, gyro, limit=0.2)
    assert found.found
    assert found.score > 0.97
    assert swapped.offset == -found.offset
    # Half a degree of noise on orientations 0.1 s apart is 0.12 rad/s; some 60 independent ones on 3 axes, of signals
    # that change at 3 rad/s2: 0.12 / 3 / sqrt(180) = 3 ms.
    assert found.offset == pytest.approx(offset, abs=9e-3)


def test_signals_that_have_nothing_in_common_have_no_offset() -> None:
    rng = np.random.default_rng(2)
    t = np.arange(0.0, 5.0, 0.01)
    result = estimate_time_offset(t, rng.normal(size=(500, 3)), t, rng.normal(size=(500, 3)), limit=0.2)
    assert not result.found
    assert not estimate_time_offset(t, np.ones((500, 1)), t, np.ones((500, 1)), limit=0.2).found
    # The best match lies beyond the range searched.
    wave = np.sin(t)[:, None]
    assert not estimate_time_offset(t, wave, t + 0.5, wave, limit=0.2).found


def test_too_short_an_overlap_is_an_error() -> None:
    t = np.arange(0.0, 1.0, 0.01)
    with pytest.raises(SamplesError, match=r"overlap for 0.49 s; an offset of up to 0.2 s needs 0.8 s"):
        estimate_time_offset(t, t[:, None], t + 0.5, t[:, None], limit=0.2)
