# SPDX-License-Identifier: Apache-2.0
"""Torques that are read another way than they should be, and constants that change: nothing is said of honest logs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_of, leg_record, prior_constants
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import bench_log, readings, simulate, true_mechanism
from sysid_nodes.data.inertia import parameters_to_log_cholesky
from sysid_nodes.results.bayesian import BayesianResult, BayesianStatus
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import linear_model, restore
from sysid_nodes.solvers.trajectory_least_squares.influence import influences, white_residuals
from sysid_nodes.solvers.trajectory_least_squares.multi_start import Search
from sysid_nodes.systems.bayesian import BayesianConfig, MechanismLog, identify
from sysid_nodes.systems.bayesian.constancy import change_at
from sysid_nodes.systems.bayesian.descent import Fitted, start_point, stated_noise, turns
from sysid_nodes.systems.bayesian.mechanism import Motion, build_mechanism
from sysid_nodes.systems.bayesian.noise import Correlation, pool_stated
from sysid_nodes.systems.bayesian.problem import GROUPS, MechanismProblem
from sysid_nodes.systems.bayesian.wiring import other_wiring

Array = npt.NDArray[np.float64]

SHORT, LONG = 50, 200  # stages of a leg that begins softly


WEIGHED = replace(CONFIG, inertia=replace(CONFIG.inertia, mass_sigma=0.1))
"""Links are known to a tenth."""

VAGUE = replace(
    CONFIG,
    friction=replace(CONFIG.friction, coulomb_sigma=50.0, viscous_sigma=50.0),
    drive=replace(CONFIG.drive, armature_sigma=5.0, offset_sigma=50.0),
)
"""Next to nothing is known of the drives."""


@cache
def leg_of_prior(config: BayesianConfig = CONFIG) -> MechanismLog:
    """Readings of a leg whose constants are drawn from the prior."""
    mechanism = build_mechanism(leg(), config, power=True)
    x = prior_constants(mechanism, np.random.default_rng([1, 1]))
    return leg_log(leg_record(leg_of(mechanism, x), 2.0, np.random.default_rng([1, 3])), power=False)


def said(
    stages: int,
    factors: Any = (1.0, 1.0),
    order: slice = slice(None),
    drawn: BayesianConfig = CONFIG,
    expected: BayesianConfig = CONFIG,
) -> str:
    """Of a leg's torques, times factors or those of other joints; nothing is fitted, only its motion is needed."""
    log, mechanism = leg_of_prior(drawn).part(0, stages), build_mechanism(leg(), expected, power=False)
    log = replace(log, torque=log.torque[:, order] * np.array(factors))
    start, noise = start_point(mechanism, log, mechanism.parameters.mean), stated_noise(mechanism, expected)
    problem, none = MechanismProblem(mechanism, log, noise, turns(mechanism, log, start)), Search[Any]
    return other_wiring(Fitted(problem, none, pool_stated(noise), None, True, start.q))  # type: ignore[arg-type]


@pytest.mark.parametrize("stages", [SHORT, LONG])
def test_torques_that_are_read_as_they_are(stages: int) -> None:
    assert said(stages) == ""


@pytest.mark.parametrize("stages", [SHORT, LONG])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"factors": (-1.0, 1.0)}, "turned round at 'hip'"),
        ({"factors": (1.0, -1.0)}, "turned round at 'crank_motor'"),
        ({"order": slice(None, None, -1)}, "those of 'hip' and 'crank_motor' swapped"),
    ],
)
def test_torques_that_are_read_another_way(stages: int, change: dict[str, Any], words: str) -> None:
    """Half a second tells that, too."""
    assert words in said(stages, **change)


@pytest.mark.parametrize(("factor", "words"), [(2.0, "0.5 times what was read"), (0.5, "2 times what was read")])
def test_torques_of_another_scale(factor: float, words: str) -> None:
    """Which links as they are described do not allow, whatever the drives are."""
    for expected in (WEIGHED, replace(WEIGHED, friction=VAGUE.friction, drive=VAGUE.drive)):
        assert words in said(LONG, (factor, factor), drawn=WEIGHED, expected=expected)


@pytest.mark.parametrize("stages", [SHORT, LONG])
def test_drives_that_are_smaller_than_they_might_be_are_no_sign_of_another_scale(stages: int) -> None:
    """Twice the torques would make every one of them likelier, under a prior that knows nothing of them."""
    config = replace(VAGUE, inertia=replace(CONFIG.inertia, mass_sigma=1.0))
    assert said(stages, expected=config) == ""


@cache
def drawn() -> tuple[MechanismLog, Array]:
    """Readings of an arm, and the torques (N, 2) that three times the weight of its last link would add."""
    own = bench_robot("pendulum")
    truth, mechanism = simulate(own, 4, 2.0), true_mechanism(own)
    q, torque, _ = readings(own, truth, 3e-4, 4)
    inertia, x = mechanism.parameters.inertia(truth.x), truth.x.copy()
    x[mechanism.parameters.body(1)] = parameters_to_log_cholesky(3.0 * inertia[1])
    motion = Motion(truth.q, truth.v, truth.a, np.zeros((len(truth.q), 0)))
    more = mechanism.torque(motion, x) - mechanism.torque(motion, truth.x)
    log = bench_log(own, q, torque, None)
    return log, more[::5][: log.stages]  # readings at 500 Hz, stages of 10 ms


def identified(first: int) -> BayesianResult:
    """With the weight from a stage on."""
    own, (log, more) = bench_robot("pendulum"), drawn()
    torque = log.torque + more * (np.arange(log.stages) >= first)[:, None]
    return identify(replace(log, torque=torque), own.robot, own.config)


def test_constants_that_change_are_said_to() -> None:
    changed, same = identified(100), identified(1000)
    assert "constants seem to change along the log, at 0.99 s or so" in " ".join(changed.findings)
    assert same.status is BayesianStatus.FOUND
    assert not any("seem to change" in text for text in same.findings)


def test_a_change_of_the_constants_is_seen_as_often_as_chance_has_it() -> None:
    """Of white noise, drawn and fitted by the linear model of a log: chances are spread evenly from 0 to 1."""
    own, log = bench_robot("pendulum"), drawn()[0]
    mechanism = true_mechanism(own)
    start, noise = start_point(mechanism, log, mechanism.parameters.mean), stated_noise(mechanism, own.config)
    problem = MechanismProblem(mechanism, log, noise, turns(mechanism, log, start))
    model = linear_model(problem, restore(problem, start))
    assert model.factor is not None
    found, rng = influences(model.blocks, model.factor), np.random.default_rng(0)
    assert found is not None
    at_minimum = replace(model.factor, parameter_gradient=np.zeros_like(model.factor.parameter_gradient))
    chances = []
    for _ in range(200):
        draw = white_residuals(model.blocks, model.layout, rng)
        assert draw is not None
        left = {name: replace(one, residual=r) for name, one, r in zip(GROUPS, found[1], draw, strict=False)}
        kept = Correlation(np.ones(2), 1.0, np.zeros((0, 0)), left)
        chances.append(change_at(0.5 * log.stages, replace(model, factor=at_minimum), kept)[0])
    # Two hundred even numbers have a mean within 0.06 of a half in 997 of 1000 cases.
    assert abs(np.mean(chances) - 0.5) < 0.06
    assert min(chances) > 1e-4
