# SPDX-License-Identifier: Apache-2.0
"""Each benchmark runs from end to end at a tiny size and writes its report; the figures are not looked at here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from shared.benchmark_report import only_report

from benchmarks import containment, speed, streaming, tightness, untold
from benchmarks.containment_trial import run_trial
from benchmarks.disturbances import SENSOR_PATTERNS, TORQUE_PATTERNS, Context, reading, signs
from benchmarks.motions import PIECE, REPLAN, START, random_pieces
from benchmarks.truth import random_payload
from sysid_nodes.data.inertia import is_consistent

RNG = np.random.default_rng(3)


def test_containment(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    arguments = ["--trials", "2", "--seed", "5", "--records", str(records), "--out", str(tmp_path)]
    assert containment.main(arguments) == 0
    assert "**2 trials" in only_report(tmp_path)
    before = records.read_text(encoding="utf-8")
    assert containment.main(arguments) == 0
    assert records.read_text(encoding="utf-8") == before, "finished trials must not run again"


def test_containment_counts_a_miss(tmp_path: Path) -> None:
    record = {"key": {"seed": 5, "trial": 0}, "found": run_trial(5, 0)}
    record["found"]["set_membership"]["misses"] = [{"window": 3, "parameters": [2], "excess": [0.1]}]
    records = tmp_path / "records.jsonl"
    records.write_text(json.dumps(record) + "\n", encoding="utf-8")
    arguments = ["--trials", "1", "--seed", "5", "--records", str(records), "--out", str(tmp_path)]
    assert containment.main(arguments) == 1
    assert "trial 0" in only_report(tmp_path)


def test_a_trial_whose_window_and_spans_are_given_draws_all_else_as_before() -> None:
    drawn, given = run_trial(5, 1), run_trial(5, 1, window=0.1, spans=3)
    assert (given["window"], given["spans"]) == (0.1, 3)
    same = ("payload", "motion", "rate", "velocity_error", "smooth", "mode", "torque_pattern")
    assert [given[key] for key in same] == [drawn[key] for key in same]


def test_a_trial_is_the_same_every_time() -> None:
    assert json.dumps(run_trial(5, 1)) == json.dumps(run_trial(5, 1))


@pytest.mark.slow
def test_tightness(tmp_path: Path) -> None:
    arguments = ["--seeds", "1", "--rate", "250", "--duration", "3", "--windows", "0.1", "--patterns", "uniform"]
    arguments += ["--motions", "random", "sines"]
    assert tightness.main([*arguments, "--out", str(tmp_path)]) == 0
    report = only_report(tmp_path)
    assert "3 s at 250 Hz" in report
    assert report.partition("bounds on jerk")[2].count("large random sines") == 1  # pieces have no such bounds


@pytest.mark.slow
def test_untold(tmp_path: Path) -> None:
    """One arm without an effect, and one whose readings are far out of scale: a claim that is wrong is counted."""
    records = tmp_path / "records.jsonl"
    arguments = ["--seed", "5", "--draws", "1", "--effects", "none", "drift", "--records", str(records)]
    assert untold.main([*arguments, "--out", str(tmp_path / "a")]) == 0
    assert "Without an effect 1 of 1 end with a claim." in only_report(tmp_path / "a")
    lines = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    lines[0]["found"]["claimed_wrong"] = 3
    records.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert untold.main([*arguments, "--out", str(tmp_path / "b")]) == 1
    assert "**In 1 of 2 draws some published bound was claimed and wrong.**" in only_report(tmp_path / "b")


def test_speed(tmp_path: Path) -> None:
    arguments = ["--runs", "1", "--samples", "2000", "--windows", "0.1", "--spans", "2", "--out", str(tmp_path)]
    assert speed.main(arguments) == 0
    report = only_report(tmp_path)
    assert "2000 samples" in report
    assert "2 windows" in report


@pytest.mark.slow
def test_streaming(tmp_path: Path) -> None:
    arguments = ["--duration", "2", "--short", "1", "--windows", "0.1", "--rate", "200"]
    assert streaming.main([*arguments, "--out", str(tmp_path)]) == 0
    assert "truth inside every interval published | yes" in only_report(tmp_path)


@pytest.fixture
def context() -> Context:
    return Context(np.linspace(0.0, 2.0, 300), RNG.normal(size=(300, 7, 10)), 4, 0.1)


@pytest.mark.parametrize("pattern", dict.fromkeys(TORQUE_PATTERNS + SENSOR_PATTERNS))
def test_errors_keep_to_their_bound_and_reach_it(pattern: str, context: Context) -> None:
    sign = signs(pattern, RNG, context)
    torque = RNG.normal(size=sign.shape)
    error = np.abs(torque - (found := reading(torque, sign, 0.025, 0.1)))
    bound = 0.025 * np.abs(found) + 0.1
    assert (error <= bound * (1.0 + 1e-12)).all()
    assert (error / bound).max() > 0.99


def test_pieces_join_smoothly_and_keep_to_their_box() -> None:
    motion = random_pieces(np.random.default_rng(1))
    for join in (REPLAN, 2.0 * REPLAN, 3.0 * REPLAN):
        for before, after in zip(motion(np.array([join - 1e-9])), motion(np.array([join])), strict=True):
            # A step of 1 ns at the largest jerk moves an acceleration by less than 1e-8 rad/s2.
            np.testing.assert_allclose(before, after, atol=1e-8)
    q, qd, qdd = motion(np.array([0.0, 3.0 * REPLAN + PIECE]))
    np.testing.assert_allclose(q[0], START)
    np.testing.assert_allclose(np.concatenate([qd, qdd]), 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["dumbbell", "points", "thin"])
def test_payloads_are_physical(kind: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        # "thin" is singular by design, so its smallest eigenvalue is zero to rounding.
        assert is_consistent(random_payload(rng, kind), tolerance=1e-9 if kind == "thin" else 0.0)
