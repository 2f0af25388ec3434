# SPDX-License-Identifier: Apache-2.0
"""What noise that lasts does to parameters, against many draws of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.bayesian_log import CONFIG, NOISE, leg, leg_log, leg_run
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import bench_log, readings, simulate, true_mechanism
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import FeasiblePoint
from sysid_nodes.systems.bayesian import MechanismLog, descent, identify
from sysid_nodes.systems.bayesian.config import NoiseConfig, SearchConfig
from sysid_nodes.systems.bayesian.estimate import Estimate, Noise
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.noise import (
    Shown,
    lasting_covariance,
    lasting_lags,
    noise_growth,
    pool_noise,
    pool_stated,
    quietest,
    shown_noise,
)
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.turning import turns

COUNT, KEEPS = 600, 0.8


def draws(number: int) -> np.ndarray:
    """(number, COUNT) of unit variance, each keeping 0.8 of the one before."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((number, COUNT))
    for k in range(1, COUNT):
        noise[:, k] = KEEPS * noise[:, k - 1] + np.sqrt(1.0 - KEEPS**2) * noise[:, k]
    return noise


@pytest.mark.parametrize("period", [600.0, 60.0, 20.0])
def test_added_covariance_is_that_of_the_errors(period: float) -> None:
    """A gain that is steady, one that turns with a period; the slower the motion, the more of what lasts is left."""
    t = np.arange(COUNT)
    gain = np.stack([np.ones(COUNT), np.sin(2.0 * np.pi * t / period)], axis=1)
    noise = draws(3000)
    truth = np.cov((noise @ gain).T)
    added = [lasting_covariance(gain[:, None], lasting_lags(row[:, None])[1]) for row in noise[:40]]
    found = np.mean([gain.T @ gain + own for own in added], axis=0)
    # correlations up to some tens of stages are told by 600 residuals to a fifth or so, always a little too long
    np.testing.assert_allclose(np.diag(found), np.diag(truth), rtol=0.3)
    assert truth[1, 1] > (1.5 if period > 20.0 else 1.0) * np.sum(gain[:, 1] ** 2)


def test_white_noise_adds_nothing() -> None:
    noise = np.random.default_rng(1).standard_normal((COUNT, 2))
    times, lags = lasting_lags(noise)
    np.testing.assert_array_equal(times, 1.0)
    np.testing.assert_array_equal(lasting_covariance(np.ones((COUNT, 2, 3)), lags), 0.0)
    np.testing.assert_array_equal(lasting_covariance(np.ones((5, 2, 3)), lasting_lags(noise[:5])[1]), 0.0)


def test_noise_that_was_only_stated_does_not_count() -> None:
    """Of two parts, one tells of the first motor and the meter, the other of the second motor and the meter."""
    nan = np.nan
    stated = pool_stated(Noise(np.array([1e-3]), np.array([1.0, 1.0]), 0.01, 5.0))
    shown = Noise(np.array([nan]), np.array([0.2, nan]), nan, 2.0)
    assert noise_growth(stated, replace(shown, power=50.0)) == 0.0, "nothing was seen that it could exceed"
    first = pool_noise(stated, shown, 100)
    np.testing.assert_allclose(first.noise.torque, [0.2, 1.0])
    second = pool_noise(first, Noise(np.array([nan]), np.array([nan, 0.3]), 0.02, 4.0), 300)
    np.testing.assert_allclose(second.noise.torque, [0.2, 0.3])
    np.testing.assert_allclose(second.stages.torque, [100, 300])
    np.testing.assert_allclose(second.noise.position, [1e-3])
    assert (second.noise.passive, second.stages.power) == (0.02, 400)
    assert second.noise.power == pytest.approx(np.sqrt(0.25 * 2.0**2 + 0.75 * 4.0**2))
    assert noise_growth(second, Noise(np.array([nan]), np.array([0.8, nan]), nan, 4.0)) == pytest.approx(4.0)


def test_stages_in_which_friction_turns() -> None:
    """Fast reversals of a motor are its own stages, those of a joint without one all motors'; slow ones are told
    but for the moment at which they stand."""
    dry = replace(CONFIG, friction=replace(CONFIG.friction, passive="coulomb"))
    count, step = 60, 0.01
    nothing = np.full((count, 4), np.nan)
    log = MechanismLog(0.0, step, nothing, nothing[:, :2], nothing[:, 0])
    t = step * (np.arange(count) - 29.5)
    for config, joint, alone in ((CONFIG, "hip", True), (CONFIG, "knee", None), (dry, "knee", False)):
        mechanism = build_mechanism(leg(), config, power=False)
        names = mechanism.chain.joint_names
        for curvature, turned in ((5.0, True), (0.05, False)):
            q = np.tile(t[:, None], 4)
            q[:, names.index(joint)] = 0.5 * curvature * t**2
            found = turns(mechanism, log, Estimate(q, np.zeros((count, 2)), mechanism.parameters.mean))
            motors = [name for name, driven in zip(names, mechanism.parameters.motors, strict=True) if driven]
            expected = np.array([turned and alone is not None and (not alone or name == joint) for name in motors])
            if turned:
                np.testing.assert_array_equal(found.any(axis=0), expected)
            assert found.sum() <= (8 * expected.sum() if turned else 4 * len(motors))
    rest = Estimate(np.zeros((count, 4)), np.zeros((count, 2)), mechanism.parameters.mean)
    assert turns(mechanism, log, rest).all(), "what holds a joint that stands still is anything up to its dry friction"


def test_a_short_log_s_noise_begins_with_what_readings_scatter_by() -> None:
    """Neither above it nor, where they were said to be better, below; one that was not read stays as it is."""
    rng = np.random.default_rng(2)
    position, torque = 1e-4 * rng.standard_normal((200, 2)), 0.05 * rng.standard_normal((200, 2))
    torque[:, 1] = np.nan
    log = MechanismLog(0.0, 0.01, position, torque, 0.3 * rng.standard_normal(200))
    loud = quietest(Noise(np.array([1e-2, 1e-6]), np.array([3.0, 3.0]), 0.01, 5.0), log)
    # the scatter of 200 readings is told to a twentieth or so
    np.testing.assert_allclose(loud.position, [1e-4, 1e-6], rtol=0.2)
    np.testing.assert_allclose(loud.torque, [0.05, 3.0], rtol=0.2)
    assert loud.power == pytest.approx(0.3, rel=0.2)
    unread = replace(log, power=np.full(200, np.nan))
    loud = quietest(Noise(np.array([1e-2, 1e-6]), np.array([3.0, 3.0]), 0.01, 5.0), unread)
    assert (loud.passive, loud.power) == (0.01, 5.0)


def test_a_power_meter_alone_begins_with_what_readings_scatter_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """From far above a Panda's descent ended in a minimum that later rounds did not leave, and its honest log was
    CONTRADICTED; noise that is known stays."""
    own, begun = bench_robot("pendulum"), list[Noise]()
    q, torque, power = readings(own, simulate(own, 4, 2.0), 3e-4, 4)
    log = bench_log(own, q, torque, power)
    alone = replace(log, torque=np.full_like(log.torque, np.nan))

    def hear(problem: MechanismProblem, *rest: object, **options: object) -> object:
        begun.append(problem.noise)
        return descend(problem, *rest, **options)  # type: ignore[arg-type]

    descend = descent.descend
    monkeypatch.setattr(descent, "descend", hear)
    mechanism, stated = build_mechanism(own.robot, own.config, power=True), own.config.noise
    for one, estimate in ((alone, True), (alone, False), (log, True)):
        begun.clear()
        descent.fit(mechanism, one, replace(own.config, noise=replace(stated, rounds=1, estimate=estimate)), None)
        quiet = estimate and one is alone
        assert begun[0].power == (log.power_scatter if quiet else stated.power)
        assert (begun[0].position.max() < 0.5 * stated.position) == quiet


def test_a_short_log_s_noise_that_is_stated_too_large_comes_down() -> None:
    """Of stages of five readings; from thirty times as much it would stay at twice what it is."""
    stated = replace(CONFIG.noise, position=30.0 * NOISE[0], torque=30.0 * NOISE[1], power=30.0 * NOISE[2])
    config = replace(CONFIG, held_out=0.0, search=SearchConfig(starts=1), noise=stated)
    result = identify(leg_log(leg_run(1, 2.0)[1]).part(0, 60), leg(), config)
    found = next(level.estimated for level in result.noise if level.name == "torque of hip")
    assert found < 1.5 * NOISE[1] / np.sqrt(5.0)


def test_what_a_log_does_not_tell_stays_where_it_has_got_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """As positions of a real wrist did in every other round: back at what was stated, nothing settles."""
    own = bench_robot("pendulum")
    truth = simulate(own, 4, 2.0)
    q, torque, _ = readings(own, truth, 3e-4, 4)
    log, rounds = bench_log(own, q, torque, None), list[Noise]()
    assert not log.is_short

    def hear(problem: MechanismProblem, at: FeasiblePoint[Estimate], config: NoiseConfig) -> Shown | None:
        found = shown_noise(problem, at, config)
        assert found is not None
        rounds.append(problem.noise)
        if len(rounds) == 2:
            found = found._replace(
                noise=replace(found.noise, position=np.full(2, np.nan), torque=2.0 * found.noise.torque)
            )
        return found

    monkeypatch.setattr(descent, "shown_noise", hear)
    descent.fit(true_mechanism(own), log, own.config, None)
    stated = own.config.noise.position
    assert rounds[1].position[0] < 0.5 * stated
    assert rounds[2].position[0] == rounds[1].position[0]
