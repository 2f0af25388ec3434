# SPDX-License-Identifier: Apache-2.0
"""Contacts and impacts: known truths recovered, derivatives against finite differences, times that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio
import pytest
from shared.bayesian_derivatives import check_derivatives
from shared.striking_robot import TURNING, Striker, Strikes, leg, pendulum, striking_robot

from benchmarks.bayesian_log import CONFIG, leg_log, leg_run
from benchmarks.bayesian_log import leg as linkage
from sysid_nodes.exceptions import ConfigError, LogError, RobotError
from sysid_nodes.results.bayesian import BayesianResult, BayesianStatus
from sysid_nodes.robots import Robot
from sysid_nodes.systems.bayesian import BayesianConfig, Grid, MechanismLog, Series, identify, identify_further
from sysid_nodes.systems.bayesian.config import (
    DrivePriorConfig,
    FrictionPriorConfig,
    MechanismConfig,
    NoiseConfig,
    SearchConfig,
)
from sysid_nodes.systems.bayesian.contact_checks import impossible_contacts
from sysid_nodes.systems.bayesian.descent import start_point, stated_noise
from sysid_nodes.systems.bayesian.estimate import Estimate, LogInformation
from sysid_nodes.systems.bayesian.log import Cuts, mechanism_log
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.problem import GROUPS, MechanismProblem

RESTITUTION = 0.6


@cache
def bounces() -> tuple[Striker, Strikes]:
    """Three bounces."""
    own = pendulum(RESTITUTION)
    return own, own.run(np.array([-0.9, 0.3]), 1.35)


@cache
def hops() -> tuple[Striker, Strikes]:
    """The foot lands three times and leaves twice."""
    own, q = leg(30.0), np.array([0.0, 0.6, -1.2])
    q[0] = 0.1 - own.height(q)[0]
    return own, own.run(q, 1.45)


def setting(which: str, step: float, contacts: tuple[str, ...]) -> BayesianConfig:
    friction = FrictionPriorConfig(
        motors="coulomb", passive="viscous", coulomb_sigma=1.0, viscous_sigma=1.5, turning_speed=TURNING
    )
    return BayesianConfig(
        step=step,
        mechanism=MechanismConfig(passive=("elbow" if which == "pendulum" else "rise",), contacts=contacts),
        friction=friction,
        noise=NoiseConfig(torque=0.1, position=5e-4),
        search=SearchConfig(starts=1),
    )


def bounce_words(run: Strikes, off: float = 0.0) -> tuple[str, ...]:
    return tuple(f"foot:wall:touch@{t + off:.4f}" for t in run.struck)


def stance_words(run: Strikes, off: float = 0.0) -> tuple[str, ...]:
    ends = [*run.left, 9.0]
    return tuple(f"foot:universe:touch@{t:.4f}..{end + off:.4f}" for t, end in zip(run.struck, ends, strict=False))


def readings(run: Strikes, config: BayesianConfig, seed: int = 0) -> MechanismLog:
    rng = np.random.default_rng(seed)
    q = Series(run.t, run.q + 2e-4 * rng.standard_normal(run.q.shape))
    torque = Series(run.t, run.torque + 0.02 * rng.standard_normal(run.torque.shape))
    which = "pendulum" if run.q.shape[1] == 2 else "leg"
    cuts = build_mechanism(striking_robot(which), config, power=False).contacts.cuts
    return mechanism_log(q, torque, None, Grid.over(run.t, config.step), cuts)


@cache
def found_bounces(step: float = 0.004) -> BayesianResult:
    own, run = bounces()
    config = setting("pendulum", step, bounce_words(run))
    return identify(readings(run, config), own.robot, config)


@cache
def found_hops() -> BayesianResult:
    own, run = hops()
    config = setting("leg", 0.004, stance_words(run))
    return identify(readings(run, config), own.robot, config)


def check_truths(result: BayesianResult, truths: dict[str, float], *, relative: float) -> None:
    """Within 3.5 sigma, beyond which one of a dozen lies once in two hundred runs; and sigmas are worth something."""
    told = {row.name: row for row in result.parameters}
    for name, truth in truths.items():
        row = told[name]
        assert abs(row.mean - truth) < 3.5 * row.sigma, (name, row.mean, row.sigma, truth)
        assert row.sigma < relative * truth, (name, row.sigma)


def test_a_pendulum_that_bounces_is_told_with_its_restitution() -> None:
    """What lies beyond the elbow jumps with the impact, too: momentum is all joints' together."""
    own, run = bounces()
    assert len(run.struck) == 3
    result = found_bounces()
    assert result.status is BayesianStatus.FOUND, result.findings
    check_truths(result, {"foot:wall.restitution": RESTITUTION}, relative=0.06)
    check_truths(
        result, {"elbow.viscous": own.viscous[1], "lower.Iyy": 0.006 + 0.6 * (0.15**2 + 0.02**2)}, relative=0.1
    )
    check_truths(result, {"shoulder.viscous": own.viscous[0], "shoulder.coulomb": own.coulomb[0]}, relative=0.2)
    for t in run.struck:
        row = next(row for row in result.parameters if row.name == f"foot:wall at {round(t, 4):g} s.instant")
        assert abs(row.mean - t) < 2e-4


def test_a_leg_that_lands_stands_and_leaves() -> None:
    """Friction of its motors and of the slide that nothing drives; while it stands, its foot is on the ground."""
    own, run = hops()
    assert len(run.struck) == 3
    assert len(run.left) == 2
    result = found_hops()
    assert result.status is BayesianStatus.FOUND, result.findings
    assert result.loop_gap < 1e-11
    truths = {
        "rise.viscous": own.viscous[0],
        "hip.coulomb": own.coulomb[1],
        "knee.coulomb": own.coulomb[2],
        "hip.viscous": own.viscous[1],
        "knee.viscous": own.viscous[2],
        "body.m": 3.0,
    }
    check_truths(result, truths, relative=0.08)


def test_nothing_is_claimed_of_stages_too_long_beside_an_impact() -> None:
    """The pendulum's at 10 ms are, with which intervals of 95 % held half of the friction; at 4 ms neither is."""
    coarse = found_bounces(0.01)
    assert coarse.status is BayesianStatus.STALLED
    assert "a joint turns" in coarse.findings[0] and "take shorter stages (bayesian.step)" in coarse.findings[0]
    for fine in (found_bounces(), found_hops()):
        assert not [words for words in fine.findings if "a joint turns" in words]


def check_all_derivatives(config: BayesianConfig, robot: Robot, log: MechanismLog, group: int) -> None:
    """Away from the estimate, with forces and impulses of some newtons."""
    mechanism = build_mechanism(robot, config, power=False)
    own, rng = mechanism.parameters, np.random.default_rng(0)
    start = start_point(mechanism, log, own.mean)
    turning = rng.random((log.stages - 2, int(own.motors.sum()))) < 0.2
    told = LogInformation(rng.standard_normal((3, len(own.free))), rng.standard_normal(3))
    problem = MechanismProblem(mechanism, log, stated_noise(mechanism, config), turning, told)
    x, impacts = start.x.copy(), mechanism.contacts.impacts
    drawn = own.free[own.free < own.users.stop]
    x[drawn] += 0.2 * own.sigma[drawn] * np.abs(rng.standard_normal(len(drawn)))
    for impact in impacts:
        x[impact.instant] += 3e-4
        x[impact.jump] += rng.standard_normal(len(impact.jump))
        x[impact.bend] += rng.standard_normal(len(impact.bend))
        x[impact.impulse] += np.abs(rng.standard_normal(len(impact.impulse)))
    q = start.q + 0.003 * rng.standard_normal(start.q.shape)
    point = Estimate(q, start.force + rng.standard_normal(start.force.shape), x)
    check_derivatives(problem, point, group)


@pytest.mark.parametrize("group", ["torque", "passive", "force", "prior", "impact"])
@pytest.mark.parametrize("which", ["pendulum", "leg", "leg that sticks"])
def test_derivatives(which: str, group: str) -> None:
    own, run = bounces() if which == "pendulum" else hops()
    words = bounce_words(run) if which == "pendulum" else stance_words(run)
    if "sticks" in which:
        words = tuple(word.replace("touch", "point") for word in words)
    which = which.partition(" ")[0]
    config = replace(setting(which, 0.01, words), drive=DrivePriorConfig(armature_sigma=0.05, gain_sigma=0.1))
    check_all_derivatives(config, own.robot, readings(run, config), GROUPS.index(group))


@pytest.mark.parametrize("group", ["torque", "passive", "power", "impact"])
def test_derivatives_of_a_linkage(group: str) -> None:
    """Impulses act through the loops, too."""
    words = ("shank:base:touch@0.13..0.2", "rod_end:base:touch@0.26..9")
    config = replace(CONFIG, mechanism=replace(CONFIG.mechanism, contacts=words))
    check_all_derivatives(config, linkage(), leg_log(leg_run(0, 0.4)[1]), GROUPS.index(group))


def test_momentum_is_that_of_the_mass_matrix() -> None:
    own, _ = bounces()
    mechanism = build_mechanism(own.robot, setting("pendulum", 0.01, ()), power=False)
    x = mechanism.parameters.mean.copy()
    x[mechanism.parameters.joint("armature")] = (0.1, 0.2)
    q, change = np.array([[0.4, -0.7]]), np.array([[1.3, -2.0]])
    mass = pinocchio.crba(own.robot.model, own.robot.model.createData(), q[0])
    mass = np.triu(mass) + np.triu(mass, 1).T + np.diag([0.1, 0.2])
    np.testing.assert_allclose(mechanism.momentum(q, change, x)[0][0], mass @ change[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("which", "words", "message"),
    [
        pytest.param(
            "leg",
            lambda run: stance_words(run, off=0.03),
            "'foot:universe' would have to pull",
            marks=pytest.mark.slow,
        ),
        ("pendulum", lambda run: bounce_words(run, off=0.008), "stated at 0.349 s comes out at 0.34"),
        (
            "pendulum",
            lambda run: bounce_words(run)[:2],
            "'foot:wall' turns at its plane at 0.905 s: is an impact not stated?",
        ),
    ],
    ids=["leaves late", "strikes late", "a bounce left out"],
)
def test_times_that_cannot_be_are_said_to_be(
    which: str, words: Callable[[Strikes], tuple[str, ...]], message: str
) -> None:
    own, run = bounces() if which == "pendulum" else hops()
    config = setting(which, 0.01, words(run))
    config = replace(config, noise=replace(config.noise, rounds=3), search=SearchConfig(starts=1, iterations=15))
    found = identify(readings(run, config), own.robot, config)
    assert found.status is BayesianStatus.CONTRADICTED
    assert message in " ".join(found.findings)


def test_a_point_behind_its_plane_is_named() -> None:
    own, run = bounces()
    config = setting("pendulum", 0.01, bounce_words(run))
    mechanism, log = build_mechanism(own.robot, config, power=False), readings(run, config)
    start = start_point(mechanism, log, mechanism.parameters.mean)
    problem = MechanismProblem(mechanism, log, stated_noise(mechanism, config), np.zeros((log.stages - 2, 1), np.bool_))
    assert impossible_contacts(problem, start) == ()
    q = start.q.copy()
    q[45:48, 0] = (0.05, 0.1, 0.05)
    found = " ".join(impossible_contacts(problem, replace(start, q=q)))
    assert "'foot:wall' is 50 mm below its plane at 0.46 s" in found


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("foot:wall:touch",), RobotError, "a contact is LINK:PLANE:touch@WHEN"),
        (("foot:wall:touch@soon",), RobotError, "got 'foot:wall:touch@soon'"),
        (("foot:wall:touch@0.5..0.3",), RobotError, "got 'foot:wall:touch@0.5..0.3'"),
        (("foot:wall:touch@nan",), RobotError, "got 'foot:wall:touch@nan'"),
        (("foot:wall:point@0.5",), RobotError, "or LINK:PLANE:KIND@SINCE..UNTIL with point or touch, in s"),
        (("foot:wall:hinge@0.5..0.6",), RobotError, "a contact is"),
        (("toe:wall:touch@0.5",), RobotError, "has no link 'toe'"),
        (("wall:base:touch@0.5",), RobotError, "keeps its height whatever the joints do: wall:base"),
        (("foot:lower:point@0.5..0.6",), RobotError, "keeps its height whatever the joints do: foot:lower"),
        (
            ("foot:wall:touch@0.5..0.7", "foot:wall:touch@0.7..0.9"),
            RobotError,
            "contacts of 'foot:wall' overlap in time",
        ),
        (("foot:wall:touch@0.05",), LogError, "impacts need 12 stages of 0.01 s between them"),
        (("foot:wall:touch@7.5",), LogError, "from both ends of the log (1.35 s); stated at 7.5 s"),
        (("foot:wall:touch@0.5", "foot:wall:touch@0.55"), LogError, "stated at 0.5, 0.55 s"),
    ],
)
def test_useless_contacts(words: tuple[str, ...], error: type[Exception], message: str) -> None:
    own, run = bounces()
    config = setting("pendulum", 0.01, words)
    with pytest.raises(error) as caught:
        identify(readings(run, config), own.robot, config)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_contacts_are_of_a_whole_log() -> None:
    own, run = bounces()
    config = setting("pendulum", 0.01, bounce_words(run))
    with pytest.raises(ConfigError, match="is for a whole log, not for one that comes part by part"):
        identify_further(None, readings(run, config), own.robot, config)


def test_no_mean_reaches_over_an_impact() -> None:
    """Of a ramp that turns within a stage's window, each side's stages lie on that side's line."""
    t = np.arange(0.0, 0.4, 1e-3)
    wave = np.abs(t - 0.2034)[:, None]
    log = mechanism_log(Series(t, wave), Series(t, wave), None, Grid.over(t, 0.01), Cuts(np.array([0.2034]), 1e-3))
    np.testing.assert_allclose(log.position[:, 0], np.abs(log.t - 0.2034), atol=1e-12)
