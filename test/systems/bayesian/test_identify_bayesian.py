# SPDX-License-Identifier: Apache-2.0
"""Posteriors of the leg that MuJoCo hides; coverage over many legs is benchmarks/bayesian_coverage.py."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from shared.quick_and_slow import mark_slow

from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_run
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import bench_log, readings, simulate, true_mechanism
from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.results.bayesian import BayesianResult, BayesianStatus, PosteriorParameter
from sysid_nodes.simulation.legged.lugre import LuGre
from sysid_nodes.solvers.trajectory_least_squares.parameter_posterior import ParameterPosterior, parameter_posterior
from sysid_nodes.systems.bayesian import (
    BayesianConfig,
    Grid,
    MechanismLog,
    Series,
    conclusion,
    identify,
    identify_further,
    mechanism_log,
)
from sysid_nodes.systems.bayesian.config import InertiaPriorConfig, NoiseConfig, SearchConfig, VerdictConfig
from sysid_nodes.systems.bayesian.mechanism import Motion
from sysid_nodes.systems.bayesian.stuck import stops_dead, stuck_until_it_jumps

QUICK = replace(CONFIG, step=0.02, search=SearchConfig(starts=1), verdict=VerdictConfig(samples=500))
SEED, DURATION = 11, 3.0


def short_log(*, torque: bool = True, power: bool = True) -> MechanismLog:
    return leg_log(leg_run(SEED, DURATION)[1], 0.02, torque=torque, power=power)


def told(result: BayesianResult) -> dict[str, PosteriorParameter]:
    return {parameter.name: parameter for parameter in result.parameters}


def errors(result: BayesianResult) -> list[float]:
    """Errors in sigmas of what is observed."""
    truth = leg_run(SEED, DURATION)[0].values()
    return [(p.mean - truth[p.name]) / p.sigma for p in result.parameters if p.verdict == "observed"]


def test_no_torque_but_power() -> None:
    result = identify(short_log(torque=False), leg(), QUICK)
    assert result.status is BayesianStatus.FOUND
    found = told(result)
    assert found["hip.coulomb"].verdict == "observed"
    assert result.held_out is None
    assert np.mean(np.abs(errors(result)) < 2.5) > 0.8


def test_a_covariance_that_is_not_a_number_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoilt(*args: Any) -> ParameterPosterior:
        own = parameter_posterior(*args)
        return replace(own, covariance=np.nan * own.covariance)

    monkeypatch.setattr(conclusion, "parameter_posterior", spoilt)
    monkeypatch.setattr(conclusion, "estimate_with_correlated_errors", lambda *_: None)
    result, known = identify_further(None, short_log().part(0, 40), leg(), QUICK)
    assert (result.status, known) == (BayesianStatus.STALLED, None)
    assert "covariance is not finite" in result.message
    assert np.isfinite(result.parameter_covariance).all()


@pytest.mark.parametrize(("leader", "said"), [("hip", True), ("wheel", False)])
def test_joints_that_follow_others_are_said_to_stand(leader: str, said: bool) -> None:
    """Unless those stand, too."""
    follower = f'<joint name="finger" type="revolute"><mimic joint="{leader}"/></joint></robot>'
    robot = replace(leg(), urdf=leg().urdf.replace("</robot>", follower))
    result, _ = identify_further(None, short_log().part(0, 40), robot, QUICK)
    assert any("held at zero" in text and text.endswith("'finger'") for text in result.findings) == said


@cache
def with_noise_stated(factor: float) -> BayesianResult:
    noise = NoiseConfig(4e-5 * factor, 1e-2 * factor, passive=1e-2 * factor)
    return identify(short_log(power=False), leg(), replace(QUICK, noise=noise))


@pytest.mark.parametrize("factor", mark_slow([30.0, 1.0 / 30.0], but=[30.0]))
def test_stated_noise_hardly_matters(factor: float) -> None:
    """That of joints without a motor included: loop forces hand it on to the motors."""
    results = [with_noise_stated(own) for own in (1.0, factor)]
    for name in ("hip.coulomb", "crank_motor.coulomb", "shank.Iyy"):
        first, second = (told(result)[name] for result in results)
        # 120 stages tell noise to a fifth or so, and rounds end where they hardly change it (0.19 sigma at most seen;
        # 1.1 while stages came and went)
        assert abs(first.mean - second.mean) < 0.5 * first.sigma
        assert second.sigma == pytest.approx(first.sigma, rel=0.4)
    assert "torque of joints without a motor" in [level.name for level in results[0].noise]
    assert not any("had not settled" in text for text in results[1].findings)


@pytest.mark.slow
def test_known_total_mass_is_met_and_helps() -> None:
    mass = float(leg_run(SEED, DURATION)[0].mass.sum())
    known = replace(QUICK, inertia=InertiaPriorConfig(total_mass=mass))
    with_it, without = identify(short_log(), leg(), known), identify(short_log(), leg(), QUICK)
    masses = [told(with_it)[f"{link}.m"] for link in ("thigh", "crank", "rod", "shank")]
    log_masses = [with_it.theta[k] for k, name in enumerate(with_it.names) if name.endswith("log mass / 2")]
    assert sum(np.exp(2.0 * np.array(log_masses))) == pytest.approx(mass, abs=1e-9)
    assert masses[0].sigma < 0.7 * told(without)["thigh.m"].sigma


def test_a_bound_is_kept() -> None:
    """A description whose friction is far above the truth's zero: the posterior hugs the bound."""
    config = replace(QUICK, friction=replace(QUICK.friction, passive="coulomb"))
    result = identify(leg_log(leg_run(SEED, 4.0)[1], 0.01), leg(), config)
    for joint in ("knee", "rod_joint"):
        friction = told(result)[f"{joint}.coulomb"]  # the truth is 0
        assert friction.lower >= 0.0
        assert friction.lower < 0.5 * friction.sigma  # 0 is never inside an interval whose ends are quantiles
    assert all(p.lower >= 0.0 for p in result.parameters if p.name.endswith((".coulomb", ".viscous", ".armature")))


def test_part_after_part_says_what_the_whole_log_says() -> None:
    """The parts are linearised at different points, along ridges that bend; a stage's motion at each end is lost."""
    log, config = leg_log(leg_run(SEED, DURATION)[1]), replace(QUICK, step=0.01)
    half = log.stages // 2
    _, known = identify_further(None, log.part(0, half), leg(), config)
    assert known is not None
    doubted = replace(known, status=BayesianStatus.LOCAL_MINIMUM_SUSPECTED)
    parts, known = identify_further(doubted, log.part(half, 2 * half), leg(), config)
    assert known is not None
    assert (parts.status, parts.stages) == (BayesianStatus.LOCAL_MINIMUM_SUSPECTED, 2 * half)  # a doubt stays
    whole = identify(log.part(0, 2 * half), leg(), replace(config, held_out=0.0))
    rows = [(row, told(whole)[row.name]) for row in parts.parameters]
    observed = [(a, b) for a, b in rows if "observed" in (a.verdict, b.verdict)]
    assert len(observed) >= 15
    for a, b in observed:
        # 0.52 to 0.61 at most with kernels that differ by rounding alone, from which other draws follow.
        assert abs(a.mean - b.mean) < 0.75 * b.sigma
        assert 0.7 < a.sigma / b.sigma < 1.4  # how long errors last is told by half as many residuals
    # Means of draws that are worth two hundred err by 0.07 sigma each.
    assert np.median([abs(a.mean - b.mean) / b.sigma for a, b in observed]) < 0.15
    assert all(a.narrowing < 1.3 * b.narrowing + 0.02 for a, b in rows), "what no part tells stays the prior's"


def constant(log: MechanismLog) -> MechanismLog:
    return replace(log, position=np.where(np.isfinite(log.position), 0.0, np.nan))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (constant, ExcitationError, "no joint moves"),
        (
            lambda log: replace(log, torque=np.full_like(log.torque, np.nan), power=log.power * np.nan),
            LogError,
            "neither",
        ),
        (lambda log: replace(log, position=np.full_like(log.position, np.nan)), LogError, "no joint position"),
        (lambda log: log.part(0, 21), LogError, "20 are needed"),
    ],
)
def test_useless_logs(change: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        identify(change(short_log()), leg(), QUICK)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("t", "value", "message"),
    [
        (np.arange(50.0)[::-1], 0.0, "stamps go back"),
        (np.arange(50.0), np.nan, "not a number"),
        (0.001 * np.arange(50.0), 0.0, "less than 20 stages"),
    ],
)
def test_useless_readings(t: np.ndarray, value: float, message: str) -> None:
    values = np.ones((50, 1))
    values[7] = 1.0 + value
    with pytest.raises(LogError, match=message):
        mechanism_log(Series(t, values), Series(t, values), None, Grid.over(t, 0.01))


@pytest.mark.parametrize("least", [0.0, -0.5])
def test_a_meter_that_never_reads_less_than_nothing_is_not_read_where_it_reads_nothing(least: float) -> None:
    """Its supply takes nothing back. Stages with a reading of nothing are left out, and those beside them at most."""
    t = 0.002 * np.arange(1000)
    drawn = np.maximum(np.sin(2.0 * np.pi * t), least)[:, None]
    log = mechanism_log(Series(t, drawn), Series(t, drawn), Series(t, drawn), Grid.over(t, 0.01))
    if least:
        assert np.isfinite(log.power).all()
        return
    read = np.isfinite(log.power)
    np.testing.assert_allclose(log.power[read], np.sin(2.0 * np.pi * log.t[read]), atol=1e-3)
    assert 0.46 < read.mean() < 0.5


def test_readings_are_brought_to_the_stages_time() -> None:
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0.0, 4.0, 2000))
    wave = np.sin(3.0 * t)[:, None]
    log = mechanism_log(Series(t, wave), Series(t, 2.0 * wave), None, Grid.over(t, 0.01))
    there = np.isfinite(log.position[:, 0])
    assert there.mean() > 0.9
    truth = np.sin(3.0 * (log.t + log.start))
    assert np.abs(log.position[there, 0] - truth[there]).max() < 5e-4
    assert np.isnan(log.power).all()
    assert isinstance(BayesianConfig().step, float)


def test_torques_that_are_late_are_said_to_be() -> None:
    own = bench_robot("pendulum")
    late = np.array([0.006, 0.015])
    truth = simulate(own, 1, 3.0)
    t, q, read = 0.002 * np.arange(len(truth.q)), *readings(own, truth, 1e-4, 1)[:2]
    read = np.stack([np.interp(t - lag, t, column) for lag, column in zip(late, read.T, strict=True)], axis=1)
    config = replace(own.config, drive=replace(own.config.drive, delay_sigma=0.02), held_out=0.2)
    result = identify(bench_log(own, q, read, None), own.robot, config)
    delays = [told(result)[f"{joint}.delay"] for joint in own.robot.joint_names]
    assert [p.mean for p in delays] == pytest.approx(late.tolist(), abs=1e-3)
    blind = identify(bench_log(own, q, read, None), own.robot, replace(own.config, held_out=0.2))
    assert result.held_out is not None
    assert blind.held_out is not None
    assert np.all(result.held_out.rms[2] < 0.6 * blind.held_out.rms[2])


@pytest.mark.parametrize("wrong", mark_slow(["positions", "torques", "sign"], but=["positions", "torques"]))
def test_readings_that_are_another_joints_are_not_taken_for_noise(wrong: str) -> None:
    """Intervals of what was found missed the truth by 8 to 50 sigmas. As they are, the readings are explained."""
    own = bench_robot("pendulum")
    q, torque, _ = readings(own, simulate(own, 1, 4.0), 3e-4, 1)
    if wrong == "positions":
        q = q[:, ::-1]
    elif wrong == "torques":
        torque = torque[:, ::-1]
    else:
        torque = torque * [1.0, -1.0]
    result = identify(bench_log(own, q, torque, None), own.robot, own.config)
    assert result.status is BayesianStatus.CONTRADICTED
    assert "explains less than half of what was read at 'joint" in result.findings[0]


@pytest.mark.parametrize("first", mark_slow([500, 700, 1200], but=[700]))
def test_an_encoder_that_was_stuck_is_said_to_have_been(first: int) -> None:
    own = bench_robot("pendulum")
    q, torque, _ = readings(own, simulate(own, 1, 4.0), 3e-4, 1)
    q[first : first + 300, 1] = q[first, 1]
    with pytest.raises(LogError, match=r"'joint2' reads the same for 0\.[56]\d* s and then jumps") as refused:
        identify(bench_log(own, q, torque, None), own.robot, own.config)
    assert refused.value.kind == "'joint2' reads the same and then jumps"


def test_a_joint_that_stands_still_tells_nothing_of_its_friction() -> None:
    """MuJoCo's dry friction holds it by whatever it takes, and its encoder shows no noise at all."""
    own = bench_robot("pendulum")
    own = replace(own, reach=own.reach * [1.0, 0.0])
    truth = simulate(own, 1, 3.0)
    q, torque, _ = readings(own, truth, 1e-4, 1)
    q[:, 1] = q[0, 1]
    result = identify(bench_log(own, q, torque, None), own.robot, own.config)
    assert result.status is BayesianStatus.FOUND
    found = told(result)
    assert found["joint2.coulomb"].verdict == "not observed"
    layout = true_mechanism(own).parameters
    for link, theta in zip(layout.links, layout.inertia(truth.x), strict=True):
        for name, value in zip(PARAMETER_NAMES, theta, strict=True):
            assert abs(found[f"{link}.{name}"].mean - value) < 4.0 * found[f"{link}.{name}"].sigma
    assert found["joint1.coulomb"].mean == pytest.approx(truth.x[10 * 2], rel=0.1)


def test_a_joint_that_stood_contradicts_nothing_when_it_moves() -> None:
    """Its encoder shows one number; the torques of the other joint would shake an estimate of where it is."""
    own, rng = bench_robot("pendulum"), np.random.default_rng(1)
    mechanism = true_mechanism(own)
    truth = simulate(own, 1, 0.01).x
    t, rate = 0.01 * np.arange(200), np.array([3.0, 5.0])
    known = None
    for moves in (0.0, 1.0):
        phase, reach = rate * t[:, None] + [0.3, 1.1], np.array([1.0, moves])
        q = own.rest + reach * (np.sin(phase) + 0.3 * np.sin(2.3 * phase))
        v = reach * rate * (np.cos(phase) + 0.69 * np.cos(2.3 * phase))
        a = -reach * rate**2 * (np.sin(phase) + 1.587 * np.sin(2.3 * phase))
        torque = mechanism.torque(Motion(q, v, a, np.zeros((200, 0))), truth)
        torque[:, 1] += (1.0 - moves) * 0.01 * np.sin(2.0 * t)  # dry friction holds it
        q = q + 1e-4 * np.minimum(reach, 1.0) * rng.standard_normal(q.shape)
        torque += 1e-3 * rng.standard_normal(q.shape)
        log = MechanismLog(0.0, 0.01, q, torque, np.full(200, np.nan))
        result, known = identify_further(known, log, own.robot, own.config)
        assert result.status is BayesianStatus.FOUND
        assert moves or told(result)["joint2.coulomb"].verdict == "not observed"


def test_a_joint_that_creeps_is_named() -> None:
    """Slower than its friction turns, and its friction told all the same: by the law of the turn, not by the joint."""
    own = true_mechanism(bench_robot("pendulum")).parameters
    joints, turning = own.joints, own.constants(own.mean, "turning_speed")[0]
    rows: Any = [SimpleNamespace(name=f"{name}.coulomb", verdict="observed") for name in joints]
    covered = turning * np.array([[-0.9, -2.0], [0.5, 0.5]])
    assert conclusion._creeping_joints(own, own.mean, rows, covered) == joints[:1]
    bent = replace(own, bristles=np.ones(own.n, dtype=bool))
    assert not conclusion._creeping_joints(bent, own.mean, rows, covered), "bristles bend over a way, at any speed"
    rows[0].verdict = "not observed"
    assert not conclusion._creeping_joints(own, own.mean, rows, covered)


def test_bristles_are_found_again() -> None:
    """Friction by LuGre's own equation along a slow motion: its constants, which Coulomb's law gets wrong."""
    own, rng = bench_robot("pendulum"), np.random.default_rng(2)
    friction = replace(own.config.friction, motors="lugre", stiction_sigma=0.05, stribeck_speed=0.15, deflection=5e-4)
    config = replace(own.config, friction=friction, held_out=0.0)
    mechanism = true_mechanism(own)
    layout, truth = mechanism.parameters, simulate(own, 1, 0.01).x
    for name in ("coulomb", "stiction"):
        truth[layout.joint(name)] = 0.0
    step, coulomb, rate, reach = 1e-3, np.array([0.08, 0.05]), np.array([0.9, 1.3]), np.array([1.0, 0.8])
    t = step * np.arange(6000)[:, None]
    phase = rate * t + [0.3, 1.1]
    q = own.rest + reach * (np.sin(phase) + 0.3 * np.sin(2.3 * phase))
    v = reach * rate * (np.cos(phase) + 0.69 * np.cos(2.3 * phase))
    a = -reach * rate**2 * (np.sin(phase) + 1.587 * np.sin(2.3 * phase))
    bristles = LuGre(coulomb, step)
    torque = mechanism.torque(Motion(q, v, a, np.zeros((len(t), 0))), truth) + [bristles.torque(w) for w in v]
    q, torque = (
        values[300::10] + 1e-4 * size * rng.standard_normal((570, 2)) for values, size in ((q, 1), (torque, 5))
    )
    log = MechanismLog(0.0, 0.01, q, torque, np.full(len(q), np.nan))
    result = identify(log, own.robot, config)
    assert result.status is BayesianStatus.FOUND
    found, plain = (
        told(one)
        for one in (result, identify(log, own.robot, replace(config, friction=replace(friction, motors="coulomb"))))
    )
    for joint, f in zip(layout.joints, coulomb, strict=True):
        for name, value in (("coulomb", f), ("stiction", 0.5 * f)):
            row = found[f"{joint}.{name}"]
            assert row.verdict == "observed" and abs(row.mean - value) < 3.5 * row.sigma
        assert found[f"{joint}.coulomb"].mean == pytest.approx(f, rel=0.01)
        assert abs(plain[f"{joint}.coulomb"].mean - f) > 0.05 * f, "Coulomb's law takes bristles for more friction"
        # Stages at quick turns are left out, so that little tells the bend; that is said.
        assert found[f"{joint}.deflection"].verdict != "observed"


def _reach(duration: int) -> np.ndarray:
    """A move of .5 rad without a jerk, in so many stages."""
    u = np.linspace(0.0, 1.0, duration)
    return np.asarray(0.5 * (10.0 * u**3 - 15.0 * u**4 + 6.0 * u**5))


RESTS = np.zeros(100)
QUIET = {
    "counts one on": np.r_[RESTS, np.full(200, 1e-4)],
    "sets out at the end": np.r_[RESTS, 1e-4 * np.arange(1.0, 5.0) ** 2],
    "moves once, quickly": np.r_[RESTS, _reach(10), np.full(200, 0.5)],
    "has a reading": np.zeros(1),
}


@pytest.mark.parametrize("position", QUIET.values(), ids=QUIET.keys())
def test_a_joint_that_rests_and_then_moves_is_not_stuck(position: np.ndarray) -> None:
    read = np.round(position / 1e-4) * 1e-4
    assert stuck_until_it_jumps(read) == 0
    assert stops_dead(read) == 0


def test_a_joint_that_jumps_from_rest_was_stuck() -> None:
    moving = 0.01 * np.arange(100)
    moving[40:60] = moving[40]
    assert stuck_until_it_jumps(moving) == pytest.approx(20, abs=2)
    assert stuck_until_it_jumps(np.r_[RESTS, np.full(100, 0.5)]) == pytest.approx(100, abs=2)


def test_a_joint_that_stops_dead_was_stuck() -> None:
    """At half its speed; one that was let come to rest is not."""
    t, noise = 0.01 * np.arange(200), 1e-4 * np.random.default_rng(0).standard_normal(200)
    moving = 0.2 * np.sin(2.0 * np.pi * t) + noise
    stuck = np.r_[moving[:110], np.full(90, moving[109])]
    assert stops_dead(stuck) == pytest.approx(90, abs=1)
    assert stops_dead(moving) == 0
    assert stops_dead(np.r_[moving[:125], np.full(75, moving[124])]) == 0, "where it turns, it stands for a moment"
