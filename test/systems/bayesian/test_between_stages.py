# SPDX-License-Identifier: Apache-2.0
"""Motion that central differences miss: found where it is known, and allowed for by intervals."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_trial import OURS, trial
from benchmarks.bayesian_world import bench_log, readings, simulate, true_mechanism
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.systems.bayesian import between_stages, conclusion, identify
from sysid_nodes.systems.bayesian.between_stages import _Finer, missed_between_stages, unfollowed_motion
from sysid_nodes.systems.bayesian.descent import start_point, stated_noise
from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.noise import Correlation
from sysid_nodes.systems.bayesian.problem import MechanismProblem


def sine_problem(rate: float) -> tuple[MechanismProblem, Estimate]:
    """A double pendulum that swings as sin(rate t), stages of 10 ms."""
    own = bench_robot("pendulum")
    mechanism, t = true_mechanism(own), 0.002 * np.arange(1000)[:, None]
    log = bench_log(own, np.sin(rate * t) * [1.0, 0.5], np.ones((1000, 2)), None)
    start = start_point(mechanism, log, mechanism.parameters.mean)
    turning = np.zeros((log.stages - 2, 2), np.bool_)
    return MechanismProblem(mechanism, log, stated_noise(mechanism, own.config), turning), start


@pytest.mark.parametrize("rate", [4.0, 8.0])
def test_speeds_and_accelerations_are_those_of_the_motion(rate: float) -> None:
    problem, start = sine_problem(rate)
    t = problem.log.t[:, None]
    size = np.max(start.q, axis=0)
    at = replace(start, q=size * np.sin(rate * t))
    finer = _Finer(**{one.name: getattr(problem, one.name) for one in fields(problem)})
    inner = slice(between_stages._ALONG, -between_stages._ALONG)  # at its ends a polynomial tells less
    exact = size * rate * np.cos(rate * t[1:-1]), -size * rate**2 * np.sin(rate * t[1:-1])
    for name, true in zip(("v", "a"), exact, strict=True):
        coarse, fine = (np.abs(getattr(one.motion(at), name) - true)[inner].max() for one in (problem, finer))
        assert fine < 0.1 * coarse


def test_intervals_allow_for_what_stages_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    """A double pendulum in MuJoCo, so exactly read that stages err by more than the noise: 62 of 74 in eight logs."""
    seeds = 5202, 5205
    found = [trial("pendulum", seed, 4.0, 1e-4, OURS) for seed in seeds]
    assert all(one["inside"] >= one["observed"] - 1 for one in found)
    monkeypatch.setattr(conclusion, "missed_between_stages", lambda problem, *_: np.zeros(problem.layout.parameters))
    without = [trial("pendulum", seed, 4.0, 1e-4, OURS) for seed in seeds]
    assert sum(one["observed"] - one["inside"] for one in without) > 2


def test_nothing_is_said_without_influences_or_of_a_few_stages() -> None:
    problem, start = sine_problem(4.0)
    none = Correlation(np.ones(2), 1.0, np.zeros((1, 1)))
    assert not missed_between_stages(problem, start, none).any()
    short = replace(problem, log=problem.log.part(0, 10), turning=problem.turning[:8])
    part = Estimate(start.q[:10], start.force[:10], start.x)
    assert not missed_between_stages(short, part, replace(none, own={"torque": None})).any()  # type: ignore[dict-item]


@pytest.mark.parametrize(("noise", "said"), [(1e-4, True), (1e-3, False)])
def test_stages_that_err_by_more_than_the_noise_are_said(noise: float, said: bool) -> None:
    """Intervals allow for it; only a shorter step makes them narrower."""
    own = bench_robot("pendulum")
    q, torque, _ = readings(own, simulate(own, 5202, 4.0), noise, 5202)
    findings = " ".join(identify(bench_log(own, q, torque, None), own.robot, own.config).findings)
    assert ("stages of 10 ms are long for this motion: 'joint1.viscous' is off by 1." in findings) is said


@pytest.mark.parametrize(("rate", "said"), [(40.0, []), (80.0, ["joint1", "joint2"])])
def test_motion_that_stages_do_not_follow_is_said(rate: float, said: list[str]) -> None:
    problem, _ = sine_problem(rate)
    words = tuple(f"'{name}' moves too fast for stages of 10 ms: take shorter (bayesian.step)" for name in said)
    assert unfollowed_motion(problem) == words
    assert unfollowed_motion(replace(problem, log=problem.log.part(0, 74))) == (), "of a few, noise looks like it"
    coarse = replace(problem, log=replace(problem.log, counts=np.full(2, 1.0)))
    assert unfollowed_motion(coarse) == (), "who stands flickers by a count now and then, which no polynomial follows"


def test_motion_that_stages_do_not_follow_is_no_ground_for_a_claim() -> None:
    """Of 1.25 Hz in 100 ms; at .3 mrad it was FOUND, and six of a multirotor's ten intervals held."""
    own = bench_robot("multirotor")
    own = replace(own, config=replace(own.config, step=0.1))
    q, torque, _ = readings(own, simulate(own, 5202, 8.0), 3e-4, 5202)
    result = identify(bench_log(own, q, torque, None), own.robot, own.config)
    assert result.status is BayesianStatus.STALLED
    assert "moves too fast for stages of 100 ms" in result.findings[0]
