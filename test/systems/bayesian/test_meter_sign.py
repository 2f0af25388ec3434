# SPDX-License-Identifier: Apache-2.0
"""Power that was read turned round is told in short logs too, and nothing is said of honest ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from shared.quick_and_slow import mark_slow

from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_of, leg_record, prior_constants
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import bench_log, readings, simulate
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.systems.bayesian import MechanismLog, identify
from sysid_nodes.systems.bayesian.config import SearchConfig, VerdictConfig
from sysid_nodes.systems.bayesian.descent import start_point, stated_noise
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.meter_sign import Meter, turned_meter
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.turning import turns

SEED = 9201
AGAINST = "power is more probable turned round: is the sign of the meter's current right?"
OPEN = "the log does not tell whether the power meter was turned round"
TORQUES, ALONE = True, False


@cache
def leg_of_prior(seed: int) -> MechanismLog:
    """A second of a leg that begins softly."""
    mechanism = build_mechanism(leg(), CONFIG, power=True)
    x = prior_constants(mechanism, np.random.default_rng([seed, 1]))
    return leg_log(leg_record(leg_of(mechanism, x), 1.0, np.random.default_rng([seed, 3])))


def changed(log: MechanismLog, sign: float, torque: bool) -> MechanismLog:
    """With power times a sign, and with or without torques."""
    read = log.torque if torque else np.full_like(log.torque, np.nan)
    return replace(log, power=sign * log.power, torque=read)


def said(log: MechanismLog) -> Meter:
    """Of a leg; nothing is fitted, only its motion is needed."""
    mechanism = build_mechanism(leg(), CONFIG, power=True)
    start, noise = start_point(mechanism, log, mechanism.parameters.mean), stated_noise(mechanism, CONFIG)
    return turned_meter(MechanismProblem(mechanism, log, noise, turns(mechanism, log, start)), start.q)


@pytest.mark.parametrize(("stages", "torque"), [(50, TORQUES), (100, ALONE)])
@pytest.mark.parametrize(("sign", "against"), [(1.0, ""), (-1.0, AGAINST)])
def test_the_sign_of_a_meter(stages: int, torque: bool, sign: float, against: str) -> None:
    """A second is told alone only if losses follow the torques of the most probable constants."""
    seed = SEED if torque else SEED + 3
    assert said(changed(leg_of_prior(seed).part(0, stages), sign, torque))[:2] == (against, "")


def test_a_sign_that_is_nobody_s_to_tell_is_left_open() -> None:
    """Half a second of a leg that hardly moves: its power is as probable turned round."""
    found = said(changed(leg_of_prior(SEED + 1).part(0, 50), 1.0, ALONE))
    assert found[:2] == ("", OPEN)
    assert abs(found.odds) < 1.0


@pytest.mark.parametrize(("torque", "status"), [(TORQUES, BayesianStatus.FOUND), (ALONE, BayesianStatus.STALLED)])
def test_nothing_is_claimed_where_a_sign_that_all_hangs_on_is_left_open(torque: bool, status: BayesianStatus) -> None:
    search, verdict = SearchConfig(starts=1), VerdictConfig(samples=400)
    log = changed(leg_of_prior(SEED + 1).part(0, 50), 1.0, torque)
    result = identify(log, leg(), replace(CONFIG, held_out=0.0, search=search, verdict=verdict))
    assert result.status is status
    assert (OPEN in result.findings) is (status is BayesianStatus.STALLED)


@pytest.mark.parametrize("robot", mark_slow(["pendulum", "multirotor"], but=["pendulum"]))
@pytest.mark.parametrize(("sign", "status"), [(1.0, BayesianStatus.FOUND), (-1.0, BayesianStatus.CONTRADICTED)])
def test_half_a_second_with_torques_and_a_meter_that_is_turned_round(
    robot: str, sign: float, status: BayesianStatus
) -> None:
    """Turned round it was FOUND: motion, losses and noise took it up."""
    own = bench_robot(robot)
    q, torque, power = readings(own, simulate(own, SEED, 0.6), 3e-4, SEED)
    log = bench_log(own, q, torque, sign * power)
    result = identify(log, own.robot, replace(own.config, verdict=VerdictConfig(samples=400)))
    assert result.status is status
    assert (AGAINST in result.findings) is (sign < 0.0)
