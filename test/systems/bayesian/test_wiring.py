# SPDX-License-Identifier: Apache-2.0
"""Torques that are read another way than they should be: nothing is said of honest logs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.quick_and_slow import mark_slow

from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_of, leg_record, prior_constants
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import bench_log, readings, same_equations, true_mechanism
from sysid_nodes.systems.bayesian import BayesianConfig, MechanismLog, reading_evidence
from sysid_nodes.systems.bayesian.descent import start_point, stated_noise
from sysid_nodes.systems.bayesian.initial_motion import differences
from sysid_nodes.systems.bayesian.mechanism import Motion, build_mechanism
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.reading_evidence import Rows
from sysid_nodes.systems.bayesian.torque_errors import means, shares
from sysid_nodes.systems.bayesian.turning import turns
from sysid_nodes.systems.bayesian.ways_of_reading import rescalings, rewirings
from sysid_nodes.systems.bayesian.wiring import Wiring, other_wiring

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
) -> Wiring:
    """Of a leg's torques, times factors or those of other joints; nothing is fitted, only its motion is needed."""
    log, mechanism = leg_of_prior(drawn).part(0, stages), build_mechanism(leg(), expected, power=False)
    log = replace(log, torque=log.torque[:, order] * np.array(factors))
    start, noise = start_point(mechanism, log, mechanism.parameters.mean), stated_noise(mechanism, expected)
    return other_wiring(MechanismProblem(mechanism, log, noise, turns(mechanism, log, start)), start.q)


@pytest.mark.parametrize("stages", [SHORT, LONG])
def test_torques_that_are_read_as_they_are(stages: int) -> None:
    assert said(stages)[:2] == Wiring()[:2]


@pytest.mark.parametrize("stages", mark_slow([SHORT, LONG], but=[SHORT]))
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
    assert words in said(stages, **change).against


def test_torques_that_are_the_same_either_way_are_named() -> None:
    """Of a motor that gives next to nothing for half a second, the sign is nobody's to tell."""
    assert said(SHORT, (1.0, 0.02)).open == "the log does not tell whether torques were turned round at 'crank_motor'"


@pytest.mark.parametrize(
    ("factor", "words"),
    mark_slow(
        [(2.0, "0.5 times what was read"), (0.5, "2 times what was read")], but=[(2.0, "0.5 times what was read")]
    ),
)
def test_torques_of_another_scale(factor: float, words: str) -> None:
    """Which links as they are described do not allow, whatever the drives are."""
    for expected in (WEIGHED, replace(WEIGHED, friction=VAGUE.friction, drive=VAGUE.drive)):
        assert words in said(LONG, (factor, factor), drawn=WEIGHED, expected=expected).against


@pytest.mark.parametrize(("known", "total", "told"), [(0.2, None, 2), (0.3, None, 0), (0.3, 2.0, 2)])
def test_a_scale_is_looked_for_where_the_links_weight_is_known(known: float, total: float | None, told: int) -> None:
    """A real UR10 whose links were known to half was CONTRADICTED, though they weigh what they should to a tenth."""
    config = replace(CONFIG, inertia=replace(CONFIG.inertia, mass_sigma=known))
    own = replace(build_mechanism(leg(), config, power=False).parameters, total_mass=total)
    assert len(list(rescalings(own, 2))) == told


@pytest.mark.parametrize("stages", [SHORT, LONG])
def test_drives_that_are_smaller_than_they_might_be_are_no_sign_of_another_scale(stages: int) -> None:
    """Twice the torques would make every one of them likelier, under a prior that knows nothing of them."""
    config = replace(VAGUE, inertia=replace(CONFIG.inertia, mass_sigma=1.0))
    assert said(stages, expected=config).against == ""


@cache
def pressed(turned: int | None) -> Wiring:
    """Of a leg with motors at all joints, which press against each other until the knee's torques are turned round.

    The torques of one joint are read turned round, or of none.
    """
    held, all_driven = CONFIG, replace(CONFIG, mechanism=replace(CONFIG.mechanism, passive=()))
    true = build_mechanism(leg(), held, power=True)
    record = leg_record(leg_of(true, prior_constants(true, np.random.default_rng(4))), 2.0, np.random.default_rng(4))
    read, mechanism = leg_log(record, power=False), build_mechanism(leg(), all_driven, power=False)
    start, rng = start_point(true, read, true.parameters.mean), np.random.default_rng(5)
    x, moved = prior_constants(mechanism, rng), differences(start.q, read.step)
    free = mechanism.torque(Motion(*moved, np.zeros((read.stages - 2, 2))), x)
    knee = mechanism.closures.linearise(moved[0])[1][:, :, 3]
    force = 2.0 * free[:, 3:] * knee / np.sum(knee**2, axis=1, keepdims=True)
    torque = np.zeros((read.stages, leg().n))
    torque[1:-1] = mechanism.torque(Motion(*moved, force), x)
    torque += 0.05 * rng.standard_normal(torque.shape)
    if turned is not None:
        torque[:, turned] *= -1.0
    log = replace(read, position=start.q, torque=torque)
    at = replace(start, x=mechanism.parameters.mean)
    noise = stated_noise(mechanism, all_driven)
    return other_wiring(MechanismProblem(mechanism, log, noise, turns(mechanism, log, at)), start.q)


def test_joints_that_press_against_each_other_are_no_sign_of_another_way() -> None:
    """What loops hold beside the motion is nobody's to predict, as of two feet that stand."""
    assert pressed(None).against == ""


@pytest.mark.parametrize("joint", mark_slow(range(4), but=[3]))
def test_torques_turned_round_of_joints_that_press_against_each_other(joint: int) -> None:
    assert f"turned round at '{leg().joint_names[joint]}'" in pressed(joint).against


def test_noise_of_positions_is_no_sign_of_another_way() -> None:
    """Of a biped by the model's own equations: stage by stage, an ankle seemed turned round with odds of exp(12)."""
    own = bench_robot("biped")
    q, torque, _ = readings(own, same_equations(own, 603, 3.0), 1e-4, 603)
    log, mechanism = bench_log(own, q, torque, None), true_mechanism(own)
    start, noise = start_point(mechanism, log, mechanism.parameters.mean), stated_noise(mechanism, own.config)
    found = other_wiring(MechanismProblem(mechanism, log, noise, turns(mechanism, log, start)), start.q)
    assert found.against == ""
    assert found.odds < 3.0


def test_means_are_of_torques_that_are_used() -> None:
    """Of most of three stages; what is left over at the end is not used."""
    used = np.array([[True, True, False, False, False, True, True]]).T
    weight, told = shares(used)
    assert told.ravel().tolist() == [True, False]
    np.testing.assert_allclose(means(np.array([[1.0, 3.0, 9.0, 5.0, 7.0, 2.0, 8.0]]).T, weight), [[2.0], [2.0]])


def test_what_was_not_judged_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_evidence, "most_probable_constants", lambda *_: None)
    assert said(SHORT, (-1.0, 1.0)).open.startswith("whether torques were turned round or swapped was not judged")


def test_swapped_torques_are_means_of_the_stages_of_the_joint_that_they_are_for() -> None:
    """Means over the other joint's stages were compared with the motion of other moments, and swaps passed."""
    weight, told = shares(np.array([[True, True], [True, False], [True, True]]))
    none, read = np.zeros((1, 2)), np.array([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    rows = Rows(np.zeros((1, 2, 1)), none, np.zeros((1, 2, 0)), weight, read, np.ones(2), told)
    *_, swapped = rewirings(["a", "b"])
    left = rows.errors(swapped).judge(np.zeros(1), np.ones(2)).left
    np.testing.assert_allclose(left, [[-30.0, -3.5]])
