# SPDX-License-Identifier: Apache-2.0
"""Worst opponents: theirs is the worst corner, physical, and the benchmark runs at a tiny size."""

import itertools

import numpy as np
import pytest
from shared.certified_arm import box

from benchmarks import opponents, worst_cases, worst_terms
from benchmarks.delay_loop import Adversary, Reached
from benchmarks.report import Report
from benchmarks.soundness_draws import is_physical
from sysid_nodes.robots import load_robot


def test_hardly_any_corner_is_worse_for_all_joints() -> None:
    scaled = np.random.default_rng(0).normal(size=(3, 8))
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))
    norms = np.linalg.norm(corners @ scaled.T, axis=1)
    assert np.linalg.norm(scaled @ opponents.worst_of_all(scaled)) > 0.95 * norms.max()


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_model_is_physical_in_the_box_and_worse_than_others(seed: int) -> None:
    given, rng = box(0.1), np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], 14 * 7)
    theta, motor = opponents.worst_model(given, signs)
    assert is_physical(theta).all()
    assert (np.abs(theta - given.theta) <= given.theta_radius).all()
    radius = np.where(given.theta_radius > 0.0, given.theta_radius, 1.0)
    effect = (signs[:70].reshape(7, 10) * (theta - given.theta) / radius).sum(axis=1)
    for _ in range(200):
        other = given.theta + rng.uniform(-1.0, 1.0, (7, 10)) ** 3 * given.theta_radius
        found = (signs[:70].reshape(7, 10) * (other - given.theta) / radius).sum(axis=1)
        # The solver stops a millionth short of the best.
        assert (found <= effect + 1e-5)[is_physical(other)].all()
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
        Adversary(given.theta, given.motor, smart=True, rng=rng, quantised=quantised).drive_torque(command, push, error)
        for quantised in (False, True)
    )
    np.testing.assert_allclose(command - pushing, push * error)
    assert (np.abs(rounding - command) <= error).all()
    np.testing.assert_allclose(rounding[1:] / 0.6, np.rint(rounding[1:] / 0.6))


def test_a_term_alone_is_all_that_is_inexact() -> None:
    robot = load_robot("kinova_gen3")
    box, control, _ = worst_terms.build_setting(robot, worst_terms.TERMS["the drive of one joint"])
    assert np.count_nonzero(control.torque_error) == 1 and max(control.position_error) < 1e-11
    assert box.motor.coulomb.max() == 0.0 and box.motor_radius.armature.max() == 0.0
    assert box.theta_radius[:6].max() == 0.0 and box.theta_radius[6].max() < 1e-5
    box, _, _ = worst_terms.build_setting(robot, worst_terms.TERMS["dry friction"])
    assert box.motor_radius.coulomb.min() > 0.0 and box.motor_radius.viscous.max() == 0.0


def test_each_term_alone_runs_and_reaches_much(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(worst_terms, "TERMS", {"load": worst_terms.TERMS["load"]})
    monkeypatch.setattr(worst_terms, "WITHOUT", {"load": worst_terms.WITHOUT["load"]})
    assert worst_terms.main(["--plans", "1", "--duration", "0.1", "--dirty", "--out", str(tmp_path)]) == 0
    (report,) = tmp_path.glob("*.md")
    text = report.read_text(encoding="utf-8")
    assert "8 episodes, no bound was left" in text
    row = next(line for line in text.splitlines() if line.startswith("| load | delayed |"))
    assert float(row.split("|")[3]) > 0.5, "a constant error of the model comes near to the bound on r"
