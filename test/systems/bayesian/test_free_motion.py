# SPDX-License-Identifier: Apache-2.0
"""Errors of torques that act on the motion: an arm that swings almost freely."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shared.bayesian_derivatives import check_derivatives

from benchmarks.bayesian_free import free_log, identified
from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_run
from benchmarks.bayesian_robots import bench_robot
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.systems.bayesian import BayesianConfig, identify
from sysid_nodes.systems.bayesian.config import MOTION, READINGS, FrictionPriorConfig
from sysid_nodes.systems.bayesian.descent import start_point, stated_noise, turns
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.problem import GROUPS, MechanismProblem

CASE, SECONDS = "20 ms, 0.3, pulled down", 6.0


@pytest.mark.parametrize(("group", "couplings"), [("torque", ()), ("passive", ()), ("torque", ("joint2:joint1:0.6",))])
def test_derivatives(group: str, couplings: tuple[str, ...]) -> None:
    """With a joint without a motor, or with gears that couple them; some torques are not used, gains are free."""
    own = bench_robot("pendulum")
    passive = () if couplings else ("joint2",)
    drive = replace(own.config.drive, gain_sigma=0.1, offset_sigma=0.1, delay_sigma=0.01, armature_sigma=0.01)
    mechanism = replace(own.config.mechanism, passive=passive, couplings=couplings)
    built = build_mechanism(own.robot, replace(own.config, drive=drive, mechanism=mechanism), power=False)
    log = free_log(1, CASE, SECONDS)[1].part(0, 30)
    log = replace(log, torque=log.torque[:, : built.parameters.motors.sum()].copy())
    log.torque[7] = np.nan
    point = start_point(built, log, built.parameters.mean)
    rng = np.random.default_rng(0)
    point = replace(point, x=point.x + 0.1 * built.parameters.sigma * np.abs(rng.standard_normal(len(point.x))))
    turning = turns(built, log, point)
    turning[11, 0] = True
    reference = 1.1 * built.mass(point.q[1:-1], point.x)
    problem = MechanismProblem(built, log, stated_noise(built, own.config), turning, reference=reference)
    check_derivatives(problem, point, GROUPS.index(group))


def off(result: BayesianResult, truth: dict[str, float]) -> np.ndarray:
    """Errors of what is observed, in sigmas."""
    return np.array([(p.mean - truth[p.name]) / p.sigma for p in result.parameters if p.verdict == "observed"])


def test_an_arm_that_swings_freely_is_identified() -> None:
    """Errors that are the readings' make it lighter, in any log: the less is driven the more."""
    truth, log = free_log(3, CASE, SECONDS)
    right, wrong = (identified(log, acts_on) for acts_on in (MOTION, READINGS))
    assert right.status.trusted
    assert any("turned round or swapped would hardly be noticed" in text for text in right.findings)
    assert not any("would hardly be noticed" in text for text in wrong.findings)
    size, far = (float(np.sqrt(np.mean(off(result, truth) ** 2))) for result in (right, wrong))
    assert size < 1.3
    assert not wrong.status.trusted or far > 1.8


@pytest.mark.parametrize(
    ("change", "said"),
    [({"motors": "lugre"}, "lugre's friction"), ({"load_sigma": 0.1}, "'friction.load_sigma'")],
)
def test_friction_that_depends_on_accelerations_is_refused(change: dict[str, Any], said: str) -> None:
    own = bench_robot("pendulum")
    noise, friction = replace(own.config.noise, acts_on=MOTION), replace(FrictionPriorConfig(), **change)
    with pytest.raises(ConfigError, match=said):
        identify(free_log(3, CASE, SECONDS)[1], own.robot, replace(own.config, noise=noise, friction=friction))


def test_a_motion_that_loops_hold_is_refused() -> None:
    config: BayesianConfig = replace(CONFIG, noise=replace(CONFIG.noise, acts_on=MOTION))
    with pytest.raises(ConfigError, match="not with loops"):
        identify(leg_log(leg_run(1, 1.0)[1]), leg(), config)
