# SPDX-License-Identifier: Apache-2.0
"""Motion that central differences miss: found where it is known, and allowed for by intervals."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_trial import OURS, trial
from benchmarks.bayesian_world import bench_log, true_mechanism
from sysid_nodes.systems.bayesian import between_stages, conclusion
from sysid_nodes.systems.bayesian.between_stages import _Finer, missed_between_stages
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
