# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.wiener_smoother import SmoothedMotion, _band_of_inverse, _lower, smooth_motion

STEP, MASS, NOISE, INTENSITY = 2e-3, 0.03, 4e-4, 0.2
COUNT = 3000


def wandering(seed: int, jumps: float = 1.0) -> tuple[SmoothedMotion, np.ndarray, np.ndarray]:
    """The smoothed motion of a body under a known force and a Wiener process, that force in all, and its sigma."""
    rng = np.random.default_rng(seed)
    known = np.sin(5.0 * STEP * np.arange(COUNT - 2))
    faster = (np.sin(2.0 * STEP * np.arange(COUNT - 3)) > 0.9).astype(float)
    spread = np.sqrt(INTENSITY * STEP * np.where(faster > 0.0, jumps, 1.0))
    force = known + np.concatenate([[0.0], np.cumsum(spread * rng.standard_normal(COUNT - 3))])
    x = np.zeros(COUNT)
    for k in range(1, COUNT - 1):
        x[k + 1] = 2.0 * x[k] - x[k - 1] + STEP**2 / MASS * force[k - 1]
    y = x + NOISE * rng.standard_normal(COUNT)
    mass = np.full(COUNT - 2, MASS)
    found = smooth_motion(y, np.ones(COUNT, dtype=bool), mass, known, STEP, faster)
    factor = mass / STEP**2
    told = factor * (found.position[2:] - 2.0 * found.position[1:-1] + found.position[:-2])
    return found, told - force, found.sigma(factor, -2.0 * factor, factor)


def test_noise_and_intensity_are_found_and_the_band_holds_the_force() -> None:
    found, error, sigma = wandering(0)
    assert found.noise == pytest.approx(NOISE, rel=0.05)
    assert np.median(found.intensity) == pytest.approx(INTENSITY, rel=0.4)
    assert 0.92 < np.mean(np.abs(error) < 1.96 * sigma) < 0.98
    assert np.std(error) == pytest.approx(np.sqrt(np.mean(sigma**2)), rel=0.15)


def test_where_the_force_may_change_faster_the_data_say_how_much() -> None:
    found, error, sigma = wandering(1, jumps=300.0)
    assert 50.0 < found.intensity.max() / found.intensity.min() < 2000.0
    assert 0.92 < np.mean(np.abs(error) < 1.96 * sigma) < 0.98


def test_a_hole_widens_the_band() -> None:
    rng = np.random.default_rng(2)
    measured = np.ones(1000, dtype=bool)
    measured[400:500] = False
    y = np.where(measured, 1e-3 * rng.standard_normal(1000), 1e6)
    mass = np.ones(998)
    found = smooth_motion(y, measured, mass, np.zeros(998), 0.01)
    assert np.abs(found.position).max() < 0.1
    assert found.covariance[0, 450] > 2.0 * found.covariance[0, 200]


def test_the_band_of_the_inverse_is_the_inverses() -> None:
    rng = np.random.default_rng(3)
    rows = sparse.diags_array([rng.standard_normal(37) for _ in range(4)], offsets=[0, 1, 2, 3], shape=(37, 40))
    matrix = sparse.csr_array(rows.T @ rows + sparse.eye_array(40))
    band = _band_of_inverse(linalg.cholesky_banded(_lower(matrix), lower=True))
    inverse = np.linalg.inv(matrix.toarray())
    for k in range(4):
        np.testing.assert_allclose(band[k, : 40 - k], np.diagonal(inverse, k), rtol=1e-9)


def test_too_little_to_smooth_is_refused() -> None:
    with pytest.raises(SamplesError, match="needs 10 measurements"):
        smooth_motion(np.zeros(30), np.arange(30) < 5, np.ones(28), np.zeros(28), 0.01)
    with pytest.raises(SamplesError, match="28 masses"):
        smooth_motion(np.zeros(30), np.ones(30, dtype=bool), np.ones(30), np.zeros(28), 0.01)
