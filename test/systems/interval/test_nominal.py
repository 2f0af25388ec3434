# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from shared.noisy_payload import Errors, configuration, measure, point_mass, problem

from sysid_nodes.data import Bounds
from sysid_nodes.data.inertia import is_consistent
from sysid_nodes.models.known_robot import KnownRobotConfig, known_box
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.nominal import NominalEstimator
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.unknowns import identify_body

CERTAIN = KnownRobotConfig(inertia_relative=0.0, friction_relative=0.0, armature_relative=0.0)
BOX = Bounds(np.array([0.0, *[-1.0] * 9]), np.array([6.0, *[1.0] * 9]))


def estimator(box: Bounds = BOX) -> NominalEstimator:
    centre, radius = known_box(load_robot("kinova_gen3"), CERTAIN)
    return NominalEstimator(identify_body(7, 6, centre, radius, box))


def observe(found: NominalEstimator, theta: np.ndarray, box: Bounds = BOX, radius: float = 1e-3) -> None:
    """Rows that see each parameter alone at theta."""
    xi = (theta - box.centre) / box.half_width
    found.add(np.eye(10), -xi, np.full(10, radius))


def test_without_noise_it_is_the_truth() -> None:
    rng = np.random.default_rng(0)
    found = problem(rng, CERTAIN)
    pipeline = IntervalPipeline(found.robot, configuration(found, CERTAIN, Errors(position=1e-9, velocity=1e-9)))
    result = pipeline.identify(measure(found, rng, Errors(0.0, 0.0, 1e-9, 0.0), rate=1000.0, duration=4.0))
    # what the trapezoid leaves at 1 kHz, as in test_sensitivity.py
    np.testing.assert_allclose(result.nominal, found.theta, atol=3e-3)


def test_a_physical_observation_is_kept() -> None:
    theta = np.array([2.0, 0.1, -0.1, -0.3, 0.2, 0.01, 0.21, 0.0, 0.01, 0.05])
    found = estimator()
    observe(found, theta)
    np.testing.assert_allclose(found.solve(BOX), theta, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_is_physical_and_inside_whatever_was_observed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta = point_mass(2.0, rng.uniform(-0.2, 0.2, 3))
    bounds = Bounds(theta - rng.uniform(0.01, 0.1, 10), theta + rng.uniform(0.01, 0.1, 10))
    found = estimator()
    observe(found, theta + 0.3 * rng.normal(size=10))  # far from physical
    estimate = found.solve(bounds)
    assert bounds.contains(estimate)
    assert is_consistent(estimate, tolerance=1e-7)


def test_without_data_it_lies_in_the_box() -> None:
    estimate = estimator().solve(BOX)
    assert BOX.contains(estimate) and is_consistent(estimate, tolerance=1e-7)


def test_a_box_without_a_physical_body_gives_its_middle() -> None:
    impossible = Bounds(np.array([1.0, 1.0, *[-1e-3] * 8]), np.array([1.1, 1.1, *[1e-3] * 8]))
    np.testing.assert_array_equal(estimator().solve(impossible), impossible.centre)


def test_a_parameter_known_exactly_keeps_its_value() -> None:
    known = Bounds(np.array([2.0, *[-1.0] * 9]), np.array([2.0, *[1.0] * 9]))
    found = estimator(known)
    assert found.solve(known)[0] == 2.0
