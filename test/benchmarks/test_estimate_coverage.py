# SPDX-License-Identifier: Apache-2.0
"""The statistical estimate with real residuals as noise; a few seeds of the benchmark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.estimate_coverage import Weighing, coverage
from benchmarks.real_arm_logs import plain_least_squares, real_arms

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def weighing(shared_data: Path) -> Weighing:
    return Weighing.of(real_arms(shared_data)[0])


@pytest.mark.slow
def test_the_intervals_hold_with_real_residuals(weighing: Weighing) -> None:
    inside = coverage(weighing, range(3))
    assert inside.mean() > 0.83  # of thirty; with 95 % less happens once in a hundred


def test_half_the_interval_would_not_hold(weighing: Weighing) -> None:
    """Windows that are taken for independent, as in plain least squares, claim too much."""
    found = weighing.fit(weighing.windows)
    white = np.sqrt(found.inverse[-10, -10])
    assert np.sqrt(found.covariance()[0][-10, -10]) > 1.15 * white


def test_it_is_no_worse_than_plain_least_squares_by_a_point(weighing: Weighing) -> None:
    mass = weighing.fit(weighing.windows).point[-10]
    truth = weighing.arm.mass
    plain = plain_least_squares(weighing.arm, weighing.rows)
    assert abs(mass - truth) <= abs(plain - truth) + 0.01 * truth


def test_a_payload_that_is_added_is_found(weighing: Weighing) -> None:
    theta = np.array([1.0, 0.0, 0.05, 0.1, 0.02, 0.0, 0.02, 0.0, 0.0, 0.01])
    arm = replace(weighing.arm, mass=weighing.arm.mass + 1.0)
    more = Weighing.of(arm, theta)
    assert more.fit(more.windows).point[-10] == pytest.approx(arm.mass, rel=0.02)
