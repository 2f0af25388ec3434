# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the Bayesian identification at a tiny size; and its minimum as fatrop finds it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shared.benchmark_report import only_report
from shared.quick_and_slow import mark_slow

from benchmarks import (
    bayesian_changes,
    bayesian_changes_report,
    bayesian_coverage,
    bayesian_coverage_report,
    bayesian_excitation,
    bayesian_loops,
    bayesian_real,
    bayesian_real_report,
    bayesian_speed,
    bayesian_symmetry,
    bayesian_wiring,
)
from benchmarks.bayesian_log import leg_run
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_trial import errors
from benchmarks.bayesian_world import simulate, true_mechanism
from benchmarks.report import Asked
from sysid_nodes.solvers.trajectory_least_squares import LevenbergMarquardtConfig
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import solve_feasible


@pytest.mark.slow  # the world of a trial: test_what_is_wrong_with_readings
def test_coverage(tmp_path: Path) -> None:
    arguments = ["--legs", "1", "--duration", "1", "--cases", "2 % outliers", "gain off by 10 %"]
    arguments += ["--records", str(tmp_path / "records")]
    assert bayesian_coverage.main([*arguments, "--out", str(tmp_path)]) == 0
    assert "| 2 % outliers | all |" in only_report(tmp_path)


def test_what_is_wrong_with_readings() -> None:
    record = leg_run(1, 1.0, 0.3)[1]
    for case, share in (("2 % outliers", 0.02), ("gain off by 10 %", 1.0), ("torque", 0.0)):
        spoilt = bayesian_coverage.spoil(bayesian_coverage.CASES[case], record, 1)
        assert (spoilt.torque != record.torque).mean() == pytest.approx(share, abs=0.01)
        off = np.median(spoilt.torque / record.torque, axis=0)
        np.testing.assert_allclose(off, bayesian_coverage.gains(bayesian_coverage.CASES[case], 1))


def test_loops(tmp_path: Path) -> None:
    assert bayesian_loops.main(["--seeds", "1", "--duration", "0.5", "--legs", "four-bar", "--out", str(tmp_path)]) == 0
    assert "| four-bar | 1 |" in only_report(tmp_path)


@pytest.mark.parametrize(("leg_name", "seed"), [("four-bar", 31), pytest.param("Cassie", 5, marks=pytest.mark.slow)])
def test_a_minimum_is_near_after_few_iterations(leg_name: str, seed: int) -> None:
    """They took 32 and 22 while torques told speeds that readings do not, and the whole Hessian measured steps."""
    found = bayesian_loops.trial(leg_name, seed, 2.0)
    assert found["status"].startswith("CONVERGED")
    assert found["near"] <= 12
    assert found["iterations"] <= 18
    assert 0.0 < found["violation"] < 1e-10


@pytest.mark.slow
def test_speed(tmp_path: Path) -> None:
    assert bayesian_speed.main(["--stages", "30", "60", "--whole", "60", "--windows", "--out", str(tmp_path)]) == 0
    assert "98 constants" in only_report(tmp_path)


@pytest.mark.slow
def test_excitation(tmp_path: Path) -> None:
    assert bayesian_excitation.main(["--arms", "1", "--duration", "3", "--out", str(tmp_path)]) == 0
    assert "| links | 1 of 1 |" in only_report(tmp_path)


def test_real_logs_that_are_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bayesian_real.main(["--data", str(tmp_path / "none"), "--out", str(tmp_path)]) == 0
    assert "no logs under" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "stages"), mark_slow([("pendulum", 25), ("four-bar leg", 50)], but=[("pendulum", 25)])
)
def test_fatrop_finds_the_same_minimum(name: str, stages: int) -> None:
    """The cost is derived twice, and minimised by two methods; the leg moves after 25 stages only."""
    pytest.importorskip("casadi")
    from benchmarks import bayesian_fatrop
    from benchmarks.peers import fatrop_posterior

    problem, start = bayesian_fatrop.problem_of(name, stages, 1)
    rules = LevenbergMarquardtConfig(max_iterations=300, cost_tolerance=1e-12)
    ours = solve_feasible(problem, start, rules)
    theirs = fatrop_posterior.minimise(problem, ours.point.point, 20)
    assert theirs.cost == pytest.approx(ours.cost, rel=1e-6)


@pytest.mark.parametrize("name", ["quadruped", "biped"])
def test_pairs_of_legs(name: str) -> None:
    own = bench_robot(name)
    words = bayesian_symmetry.symmetric(own)
    rows = true_mechanism(bayesian_symmetry.alike(own)).parameters.symmetry
    assert len(rows) == 10 * len(words)


@pytest.mark.slow
def test_expected_errors_of_torques_are_those_of_draws() -> None:
    own = bench_robot("pendulum")
    mechanism, moved = true_mechanism(own), simulate(own, 0, 1.0)
    rng, x, free = np.random.default_rng(0), moved.x, mechanism.parameters.free
    root = 1e-4 * rng.standard_normal((len(free), len(free))) * mechanism.parameters.sigma[free, None]
    expected = bayesian_symmetry.expected_error(mechanism, moved, x, root @ root.T)
    squares = []
    for step in rng.standard_normal((400, len(free))) @ root.T:
        drawn = x.copy()
        drawn[free] += step
        squares.append(errors(mechanism, moved, drawn)[1] ** 2)
    # Squares of few directions scatter by about as much as they are, their mean of 400 by a twentieth.
    assert np.sqrt(np.mean(squares)) == pytest.approx(expected, rel=0.1)


def test_symmetry(tmp_path: Path) -> None:
    arguments = ["--seeds", "1", "--duration", "1", "--robots", "quadruped", "--truths", "MuJoCo"]
    assert bayesian_symmetry.main([*arguments, "--out", str(tmp_path)]) == 0
    assert "| Go2, MuJoCo, both |" in only_report(tmp_path)


@pytest.mark.slow
def test_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bayesian_changes.PAYLOADS, "pendulum", (0.2,))
    arguments = ["--arms", "1", "--duration", "1.5", "--robots", "pendulum", "--data", str(tmp_path / "none")]
    assert bayesian_changes.main([*arguments, "--out", str(tmp_path)]) == 0
    report = only_report(tmp_path)
    assert "| pendulum, nothing | 1 | 0 |" in report
    assert "| pendulum, 0.2 kg at 50 % | 1 | 1 |" in report


@pytest.mark.slow
def test_slight_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is claimed, intervals hold what a constant was and what it became, and are counted by what was said."""
    monkeypatch.setitem(bayesian_changes.SLIGHT, "pendulum", (0.05,))
    monkeypatch.setattr(bayesian_changes, "RUBS", (0.001,))
    monkeypatch.delitem(bayesian_changes.COURSES, "settling")
    arguments = ["--slight", "--arms", "1", "--duration", "1.5", "--robots", "pendulum"]
    assert bayesian_changes.main([*arguments, "--out", str(tmp_path)]) == 0
    report = only_report(tmp_path)
    assert "| 50 g at once | 1 | 1 | 0 |  |  | 0 |  |  |" in report
    (line,) = (line for line in report.splitlines() if line.startswith("| friction 0.1 % more steadily | 1 | 0 | 0 |"))
    before, after = (float(cell.split()[0]) for cell in line.split("|")[-3:-1])
    assert min(before, after) > 60.0


def test_what_changes_slightly_is_told_apart() -> None:
    silent = {"said": [], "held": [0.9, 0.8]}
    doubted, refused = silent | {"said": ["it changes"], "held": [1.0, 0.6]}, {"said": ["it changes"], "held": []}
    assert bayesian_changes_report.slight_row("x", [silent, doubted, refused]) == (
        *("x", 3, 1, 1, "100 %", "60 %", 1, "90 %", "80 %"),
    )
    t = np.linspace(0.0, 1.0, 11)
    courses = {name: course(t) for name, course in bayesian_changes.COURSES.items()}
    assert courses["at once"].tolist() == [0.0] * 5 + [1.0] * 6
    assert all((np.diff(course) >= 0.0).all() and course[0] == 0.0 for course in courses.values())


def test_wiring_benchmark(tmp_path: Path) -> None:
    arguments = ["--dirty", "--robots", "pendulum", "--seeds", "1", "--duration", "0.5", "--out", str(tmp_path)]
    assert bayesian_wiring.main(arguments) == 0
    (path,) = tmp_path.glob("*.md")
    text = path.read_text(encoding="utf-8")
    assert "| pendulum | 3 | 3 | 5.7 | " in text
    assert "| pendulum, swapped, 0.0001 rad | 1 |" in text


def met(asked: list[Asked]) -> list[bool | None]:
    return [said[2] for said in asked]


def test_what_coverage_was_asked() -> None:
    """Fifty parameters, of which as many are within each interval as it says, or ten of a hundred fewer."""
    sigmas = [0.3] * 50 + [1.2] * 40 + [1.8] * 5 + [2.5] * 5
    exact = [("friction", sigma, sigma < 1.96) for sigma in sigmas]
    fewer = [("friction", 0.9 if k < 6 else sigma, held) for k, (_, sigma, held) in enumerate(exact)]
    for rows, usual, wanted in ((exact, True, True), (fewer, True, False), (fewer, False, True)):
        assert met(bayesian_coverage_report.verdict("x", [{"rows": rows}, {}], usual=usual)) == [wanted]
    assert not bayesian_coverage_report.verdict("x", [{"status": "CONTRADICTED"}], usual=True)
    accuracy = {"noise known": (0.7, 0.1, 0.4, 0.1), "noise stated 30 times too large": (0.7, 0.14, 0.4, 0.1)}
    accuracy["power"] = (0.6, 0.19, 0.5, 0.06)
    assert met(bayesian_coverage_report.verdicts(accuracy)) == [False, True, False]


def test_what_was_asked_of_changes_loops_legs_and_costs() -> None:
    silent, doubted = ({"said": said, "held": [0.9, 0.8], "status": "FOUND"} for said in ([], ["it changes"]))
    refused = {"said": ["it changes"], "held": [], "status": "CONTRADICTED"}
    found = [(True, doubted), (True, refused), (False, silent)]
    assert met(bayesian_changes_report.verdict(found)) == [True, False, True]
    assert met(bayesian_changes_report.verdict([*found, (True, silent), (False, refused)])) == [False, False, False]
    assert met(bayesian_changes_report.verdict([(True, silent | {"held": []})])) == [False, True], "of a real arm"
    assert met(bayesian_changes_report.slight_verdict([(True, {"held": [0.93, 0.97]})])) == [True]
    assert met(bayesian_changes_report.slight_verdict([(True, {"held": [0.93, 0.89]})])) == [False]
    legs = [{"iterations": count, "near": 9, "violation": 1e-11} for count in (9, 16)]
    assert met(bayesian_loops._verdict("x", legs)) == [True, False]
    both = {"errors": [0.7, 1.0, 0.9], "expected": 0.5}
    alike = [{"neither": {"errors": [1.0, 1.0, 1.0], "expected": 1.0}, "both": both}]
    assert [bayesian_symmetry._verdict("x", alike, k)[2] for k in (0, 2)] == [True, False]
    assert bayesian_symmetry._verdict("x", alike, 0)[1].endswith("; 50 % by what is told")


def test_what_was_asked_beside_fatrop() -> None:
    pytest.importorskip("casadi")
    from benchmarks import bayesian_fatrop

    times, ended = {("Panda", 20): 50.0, ("Panda", 1000): 9.0}, {("Panda", 20): 1e-8}
    assert met(bayesian_fatrop._verdict(60.0, times, ended)) == [True, None, False]


def test_what_was_asked_of_real_arms() -> None:
    error = np.ones((3, 2))
    found = {"ours": error * [0.9, 1.04], "one": error, "other": 2.0 * error}
    assert met([bayesian_real_report.no_worse("x", [(found, "ours", ("one", "other"))])]) == [True]
    found["ours"] = error * [0.9, 1.06]
    assert met([bayesian_real_report.no_worse("x", [(found, "ours", ("one", "other"))])]) == [False]
    apart = bayesian_real_report.sides([(0.0, 0.1), (0.0, 0.3)], [(0.2, 9.0), (0.2, 9.0)])
    assert apart[1:] == ("1 of 2", False)
