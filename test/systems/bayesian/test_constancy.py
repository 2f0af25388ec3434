# SPDX-License-Identifier: Apache-2.0
"""Constants that change along a log: none of them is claimed, and nothing is said of honest logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.quick_and_slow import mark_slow

from benchmarks.bayesian_changes import trial as changes
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import Truth, bench_log, readings, simulate, true_mechanism
from sysid_nodes.data.inertia import parameters_to_log_cholesky
from sysid_nodes.results.bayesian import BayesianResult, BayesianStatus
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import LinearModel
from sysid_nodes.systems.bayesian import MechanismLog, identify
from sysid_nodes.systems.bayesian.constancy import Change, chance_of, changed_constants, step_between_blocks
from sysid_nodes.systems.bayesian.mechanism import Motion
from sysid_nodes.systems.bayesian.noise import Correlation
from sysid_nodes.systems.bayesian.problem import MechanismProblem

Array = npt.NDArray[np.float64]

BLOCKS = 16
WORDS = "constants seem to change along the log"


@cache
def drawn() -> tuple[Truth, MechanismLog]:
    """A double pendulum in MuJoCo, and readings of its first 2 s."""
    own = bench_robot("pendulum")
    truth = simulate(own, 4, 2.0)
    q, torque, _ = readings(own, truth, 3e-4, 4)
    return truth, bench_log(own, q, torque, None)


def carried(factor: float) -> Array:
    """(N, 2) torques that so many times the weight of its last link would add."""
    truth, log = drawn()
    mechanism = true_mechanism(bench_robot("pendulum"))
    inertia, x = mechanism.parameters.inertia(truth.x), truth.x.copy()
    x[mechanism.parameters.body(1)] = parameters_to_log_cholesky(factor * inertia[1])
    motion = Motion(truth.q, truth.v, truth.a, np.zeros((len(truth.q), 0)))
    more = mechanism.torque(motion, x) - mechanism.torque(motion, truth.x)
    return np.asarray(more[::5][: log.stages])  # readings at 500 Hz, stages of 10 ms


def rubbed(factor: float) -> Array:
    """(N, 2) torques that so many times the dry friction of its elbow would add."""
    truth, log = drawn()
    own = true_mechanism(bench_robot("pendulum")).parameters
    more = (factor - 1.0) * own.constants(truth.x, "coulomb") * [0.0, 1.0] * np.tanh(truth.v / 0.01)
    return np.asarray(more[::5][: log.stages])


def identified(more: Array, first: int) -> BayesianResult:
    """With further torques from a stage on."""
    own, (_, log) = bench_robot("pendulum"), drawn()
    torque = log.torque + more * (np.arange(log.stages) >= first)[:, None]
    return identify(replace(log, torque=torque), own.robot, own.config)


def test_of_constants_that_stay_nothing_is_said() -> None:
    same = identified(carried(1.0), 0)
    assert same.status is BayesianStatus.FOUND
    assert not any(WORDS in text for text in same.findings)


@pytest.mark.parametrize(
    ("factor", "first", "seconds"),
    mark_slow([(3.0, 100, 1.0), (3.0, 30, 0.3), (1.2, 80, 0.8)], but=[(3.0, 30, 0.3), (1.2, 80, 0.8)]),
)
def test_a_weight_that_is_taken_up_contradicts(factor: float, first: int, seconds: float) -> None:
    """Early, late, little; the place is told to some blocks of a tenth of a second."""
    changed = identified(carried(factor), first)
    assert changed.status is BayesianStatus.CONTRADICTED
    words = next(text for text in changed.findings if WORDS in text)
    assert "'link2: log mass / 2'" in words or "'link2: centre z'" in words
    assert abs(float(words.split(" at ")[1].split()[0]) - seconds) < 0.5


def test_a_payload_that_is_taken_up_early_moves_the_centre() -> None:
    """By masses alone .2 kg after a tenth of this log were only doubted, and 60 % of intervals held what was before."""
    assert changes("pendulum", 4604, 4.0, 0.2, 0.1)["status"] == BayesianStatus.CONTRADICTED.name


def test_friction_that_changes_contradicts() -> None:
    changed = identified(rubbed(2.0), 80)
    assert changed.status is BayesianStatus.CONTRADICTED
    assert any(WORDS in text and "'joint2.coulomb'" in text for text in changed.findings)


def test_intervals_hold_the_constants_before_and_after_a_change_that_is_not_certain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sysid_nodes.systems.bayesian.constancy._FALSE", 0.0)
    own, factor = bench_robot("pendulum"), 1.4
    before = float(true_mechanism(own).parameters.inertia(drawn()[0].x)[1, 4])
    changed = identified(carried(factor), 80)
    row = next(row for row in changed.parameters if row.name == "link2.Ixx")
    assert changed.status is BayesianStatus.FOUND
    assert any(f"{WORDS}, at" in text and text.endswith("intervals allow for it") for text in changed.findings)
    assert row.lower < before < factor * before < row.upper


@cache
def minimum() -> tuple[MechanismProblem, LinearModel, Correlation]:
    """Of a log in which the weight is taken up."""
    heard: list[tuple[MechanismProblem, LinearModel, Correlation]] = []

    def hear(problem: MechanismProblem, model: LinearModel, kept: Correlation) -> None:
        heard.append((problem, model, kept))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sysid_nodes.systems.bayesian.conclusion.changed_constants", hear)
        identified(carried(1.2), 80)
    return heard[0]


def test_where_the_model_is_linearised_does_not_matter() -> None:
    """At bounds, a minimum is not where all rows together ask for nothing."""
    problem, model, kept = minimum()
    factor = model.factor
    assert factor is not None
    information = factor.corner @ factor.corner.T
    off = 3.0 * np.linalg.solve(factor.corner.T, np.ones(len(information)))  # three sigmas in every direction
    asked = replace(factor, parameter_gradient=factor.parameter_gradient + information @ off)
    moved = {name: replace(one, residual=one.residual + one.gain @ information @ off) for name, one in kept.own.items()}
    here = changed_constants(problem, model, kept)
    there = changed_constants(problem, replace(model, factor=asked), replace(kept, own=moved))
    assert here is not None
    assert there is not None
    assert there.chance == pytest.approx(here.chance, rel=1e-3)  # of a t of 11 to 5e-5: of 1e4 residuals, rounding


def test_a_change_that_is_told_worse_than_the_prior_is_none() -> None:
    problem, model, kept = minimum()
    own = problem.mechanism.parameters
    known = replace(own, sigma=np.minimum(own.sigma, 1e-9))
    assert (
        changed_constants(replace(problem, mechanism=replace(problem.mechanism, parameters=known)), model, kept) is None
    )


def test_every_constant_that_is_tried_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masses of two links, two coordinates of each centre, friction of two joints; one log in a hundred is said."""
    monkeypatch.setattr("sysid_nodes.systems.bayesian.constancy.chance_of", lambda _t: 0.0012)
    change = changed_constants(*minimum())
    assert change is not None
    assert change.chance == 8 * 0.0012
    assert change.words
    monkeypatch.setattr("sysid_nodes.systems.bayesian.constancy.chance_of", lambda _t: 0.063)
    assert changed_constants(*minimum()) is None


def shown_as(t: float, monkeypatch: pytest.MonkeyPatch) -> Change | None:
    """The step of the minimum's log, had it been as clear as t."""

    def dulled(score: Array, information: Array) -> Any:
        found = step_between_blocks(score, information)
        return found._replace(t=t * found.t / abs(largest.t))

    found = [step_between_blocks(*of) for of in heard(monkeypatch)]
    largest = max(found, key=lambda step: abs(step.t))
    monkeypatch.setattr("sysid_nodes.systems.bayesian.constancy.step_between_blocks", dulled)
    return changed_constants(*minimum())


def heard(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Array, Array]]:
    """Scores of the constants that are tried, and their information."""
    own: list[tuple[Array, Array]] = []
    with monkeypatch.context() as patch:
        name = "sysid_nodes.systems.bayesian.constancy.step_between_blocks"
        patch.setattr(name, lambda *of: own.append(of) or step_between_blocks(*of))
        changed_constants(*minimum())
    return own


def test_intervals_allow_for_changes_that_are_too_slight_to_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """From what errors show in every other log (3.43 sigmas of eight constants) on, at first by next to nothing."""
    sizes = []
    for t in (3.5, 4.6, 5.6):
        with monkeypatch.context() as patch:
            change = shown_as(t, patch)
        assert change is not None
        assert bool(change.words) == (t > 5.579)  # one in a hundred
        sizes.append(float(np.trace(change.spread)))
    assert sizes[:2] == pytest.approx([(1.0 - (3.431 / t) ** 2) * sizes[2] for t in (3.5, 4.6)], rel=0.02)
    assert shown_as(3.4, monkeypatch) is None


def test_a_short_log_is_not_cut_into_blocks() -> None:
    problem, model, kept = minimum()
    part = replace(problem, log=problem.log.part(0, 6 * BLOCKS - 1))
    assert changed_constants(part, model, kept) is None


def test_a_level_is_no_change() -> None:
    values = np.random.default_rng(7).standard_normal(BLOCKS)
    assert steps(values + 1e3) == pytest.approx(steps(values), rel=1e-6)


def steps(values: Array) -> float:
    """Chance that is said of the constant's values (BLOCKS,) in blocks of which each tells it to 1."""
    step = step_between_blocks(-values, np.eye(BLOCKS))
    return chance_of(step.t)


def test_errors_show_a_change_no_oftener_than_is_said() -> None:
    rng = np.random.default_rng(5)
    chances = np.array([steps(10.0 * rng.standard_normal(BLOCKS)) for _ in range(1000)])
    # Half of what is said of all places together: neighbouring places are tried on the same errors.
    assert 0.01 < np.mean(chances < 0.05) <= 0.05
    assert np.mean(chances < 1e-3) <= 0.003


def test_of_less_than_white_noise_nothing_is_made() -> None:
    """Blocks that by chance agree better than their noise lets them tell nothing of a step that is smaller."""
    assert steps(np.where(np.arange(BLOCKS) < 8, 0.0, 1.0)) > 0.01


def test_a_change_within_a_block() -> None:
    """Leaves it mixed, which is no error of the others."""
    rng, block = np.random.default_rng(6), np.arange(BLOCKS)
    values = np.where(block > 7, 30.0, 0.0) + rng.standard_normal(BLOCKS)
    values[7] = 15.0
    assert steps(values) < 1e-6


@pytest.mark.parametrize("drift", [lambda t: t, lambda t: np.exp(-t / 4.0)])
def test_what_drifts_is_no_change(drift: Callable[[Array], Array]) -> None:
    """As friction that warms up; of 14 constants tried, a contradiction would need less than 1e-5."""
    assert steps(100.0 * drift(np.arange(BLOCKS, dtype=float))) > 1e-3
