# SPDX-License-Identifier: Apache-2.0
"""Worst opponents: theirs is the worst corner, physical, and the benchmark runs at a tiny size."""

import itertools

import numpy as np
import pytest
from shared.certified_arm import box

from benchmarks import worst_cases
from benchmarks.delay_loop import Reached
from benchmarks.report import Report
from benchmarks.soundness_draws import is_physical


def test_hardly_any_corner_is_worse_for_all_joints() -> None:
    scaled = np.random.default_rng(0).normal(size=(3, 8))
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))
    norms = np.linalg.norm(corners @ scaled.T, axis=1)
    assert np.linalg.norm(scaled @ worst_cases.worst_of_all(scaled)) > 0.95 * norms.max()


@pytest.mark.parametrize("seed", range(3))
def test_a_corner_model_is_physical_and_in_the_box(seed: int) -> None:
    given = box(0.1)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], 14 * 7)
    theta, motor = worst_cases.corner_model(given, signs)
    assert is_physical(theta).all()
    assert (np.abs(theta - given.theta) <= given.theta_radius).all()
    assert np.abs(theta - given.theta).max() > 0.0
    np.testing.assert_allclose(motor.coulomb - given.motor.coulomb, signs[70:77] * given.motor_radius.coulomb)
    np.testing.assert_allclose(motor.offset - given.motor.offset, signs[91:] * given.motor_radius.offset)


def test_what_is_beyond_its_bound_fails(tmp_path) -> None:
    inside, outside = Reached(0.5, 0.5, 0.5, 0.5, 0.5), Reached(0.5, 0.5, 0.5, 1.1, 0.5)
    for found, left in (([inside], False), ([inside, outside], True)):
        report = Report("worst_cases", "The worst", tmp_path, "now")
        assert worst_cases.summarise(report, {("Table I", 0.0): found}) == left


def test_it_runs(tmp_path) -> None:
    words = ["--plans", "1", "--opponents", "1", "--duration", "0.05", "--dirty", "--out", str(tmp_path)]
    assert worst_cases.main(words) == 0
    (report,) = tmp_path.glob("*.md")
    assert "no bound was left" in report.read_text(encoding="utf-8")
