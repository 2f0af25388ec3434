# SPDX-License-Identifier: Apache-2.0
"""Worst opponents: theirs is the worst corner, physical, and the benchmark runs at a tiny size."""

import itertools

import numpy as np
import pytest
from shared.certified_arm import box

from benchmarks import worst_cases
from benchmarks.delay_loop import Adversary, Reached
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
        fought = [worst_cases.Fought(one, "all", 0.9, 0.7, "energy") for one in found]
        assert worst_cases.summarise(report, {"Table I": fought}) == left


def test_what_stays_below_half_is_told_with_what_models_alone_would_make(tmp_path) -> None:
    low, high = (Reached(r, e, 0.1, 0.04, 0.6) for r, e in ((0.3, 0.6), (0.2, 0.1)))
    report = Report("worst_cases", "The worst", tmp_path, "now")
    given = [worst_cases.Fought(low, "joint", 0.9, 0.41, "energy"), worst_cases.Fought(high, "all", 0.8, 0.7, "energy")]
    worst_cases.summarise(report, {"Table I": given})
    below = report.write().read_text(encoding="utf-8").split("Less than half")[1].split("##")[0]
    assert "| Table I | r of a joint 0.300 | 0.900 | 0.410 | energy |" in below
    assert "| Table I | norm of r 0.200 | 0.800 | 0.700 | energy |" in below and "e of a joint" not in below


def test_it_runs_with_a_motion_that_another_takes_over_from(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(worst_cases, "CASES", [worst_cases.Case("a tenth of it", 0.002, 0.2, quantised=True)])
    monkeypatch.setattr(worst_cases, "TAKEOVER", 0.02)
    words = ["--plans", "2", "--opponents", "1", "--duration", "0.05", "--dirty", "--out", str(tmp_path)]
    assert worst_cases.main(words) == 0
    (report,) = tmp_path.glob("*.md")
    assert "no bound was left" in report.read_text(encoding="utf-8")
    assert "rounded to 0.4 N m | 4 |" in report.read_text(encoding="utf-8")


def test_drives_are_off_by_no_more_than_they_may_be() -> None:
    rng = np.random.default_rng(0)
    command, push = rng.normal(size=7), rng.choice([-1.0, 1.0], 7)
    error = np.array([0.0, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3])
    given = box(0.1)
    pushing, rounding = (
        Adversary(given.theta, given.motor, smart=True, rng=rng, quantised=quantised).acting(command, push, error)
        for quantised in (False, True)
    )
    np.testing.assert_allclose(command - pushing, push * error)
    assert (np.abs(rounding - command) <= error).all()
    np.testing.assert_allclose(rounding[1:] / 0.6, np.rint(rounding[1:] / 0.6))
