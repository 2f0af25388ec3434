# SPDX-License-Identifier: Apache-2.0
"""What contradicts a model is said of wrong readings, and not of honest ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
from shared.quick_and_slow import mark_slow

from benchmarks.bayesian_coverage import trial
from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_run
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import true_mechanism
from sysid_nodes.exceptions import LogError
from sysid_nodes.results.bayesian import BayesianResult, BayesianStatus, PosteriorParameter
from sysid_nodes.solvers.trajectory_least_squares.parameter_posterior import ParameterPosterior
from sysid_nodes.systems.bayesian import Grid, MechanismLog, Series, identify, mechanism_log
from sysid_nodes.systems.bayesian.conclusion import _still_joints
from sysid_nodes.systems.bayesian.config import SearchConfig, VerdictConfig
from sysid_nodes.systems.bayesian.contradictions import _beyond_prior, _unexplained_joints, far_from_prior, too_short
from sysid_nodes.systems.bayesian.descent import Fitted, fit, stated_noise
from sysid_nodes.systems.bayesian.knowledge import Readings
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.noise import Correlation, pool_stated
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.stuck import refuse_stuck_readings

Array = npt.NDArray[np.float64]
Change = Callable[[MechanismLog], MechanismLog]

SEED, LONG, SHORT = 1, 200, 50  # stages of 2 and of .5 s


def read(stages: int) -> MechanismLog:
    """The first stages of a leg that begins softly."""
    return leg_log(leg_run(SEED, 2.0)[1]).part(0, stages)


def identified(log: MechanismLog) -> BayesianResult:
    search, verdict = SearchConfig(starts=1), VerdictConfig(samples=400)
    return identify(log, leg(), replace(CONFIG, held_out=0.0, search=search, verdict=verdict))


def scaled(first: float, second: float) -> Change:
    return lambda log: replace(log, torque=log.torque * [first, second])


def swapped(log: MechanismLog) -> MechanismLog:
    return replace(log, torque=log.torque[:, ::-1].copy())


@pytest.mark.parametrize("stages", mark_slow([SHORT, LONG], but=[LONG]))
def test_honest_readings_are_believed(stages: int) -> None:
    assert identified(read(stages)).status is BayesianStatus.FOUND


@pytest.mark.parametrize(
    ("stages", "change", "said"),
    [
        (LONG, scaled(0.4, 0.4), "times what the motion takes"),  # light links explain it, a power meter does not
        pytest.param(
            LONG, scaled(1.0, -1.0), "less than half of what was read at 'crank_motor'", marks=pytest.mark.slow
        ),
        pytest.param(  # `too_short` by itself: below
            SHORT, scaled(1.0, -1.0), "lasts about as long as the log at 'crank_motor'", marks=pytest.mark.slow
        ),
        pytest.param(SHORT, swapped, "independent errors beside", marks=pytest.mark.slow),
    ],
)
def test_wrong_torques_are_not(stages: int, change: Change, said: str) -> None:
    result = identified(change(read(stages)))
    assert not result.status.trusted
    assert said in result.message


def test_a_torque_that_never_changes_is_refused() -> None:
    log = read(SHORT)
    log.torque[:, 1] = 0.3
    said = r"the torque of 'crank_motor' reads 0\.3 throughout while it moves: stuck"
    with pytest.raises(LogError, match=said) as refused:
        identified(log)
    assert refused.value.kind == "the torque of 'crank_motor' reads the same throughout"


def test_an_encoder_that_stops_dead_is_refused() -> None:
    log = read(SHORT)
    log.position[30:, 0] = log.position[30, 0]
    with pytest.raises(LogError, match=r"'hip' stops dead and reads the same for the last 0\.2 s: stuck") as refused:
        refuse_stuck_readings(log, leg().joint_names, [False] * leg().n)
    assert refused.value.kind == "'hip' stops dead"


def test_a_loop_that_does_not_close_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    close = "sysid_nodes.systems.bayesian.initial_motion.close_loops"
    monkeypatch.setattr(close, lambda _closures, q, _free: (q, 0.02))
    with pytest.raises(LogError, match="that were read: 20 mm or mrad stay open") as refused:
        identified(read(SHORT))
    assert refused.value.kind == "a loop cannot be closed at the first positions that were read"


def test_an_encoder_that_stops_where_its_joint_turns_is_refused_if_it_flickers_elsewhere() -> None:
    """It does not stop dead: only that readings flicker where the joint is as slow tells it from one that stands."""
    log = read(LONG)
    turns = 20 + int(np.argmin(np.abs(np.diff(log.position[20:160, 0]))))
    log.position[turns:, 0] = log.position[turns, 0]
    said = r"'hip' reads the same for .* s, at other times it flickers: stuck\?"
    with pytest.raises(LogError, match=said) as refused:
        refuse_stuck_readings(log, leg().joint_names, [False] * leg().n)
    assert refused.value.kind == "'hip' reads the same, at other times it flickers"


def test_an_encoder_that_never_changes_is_refused_if_others_flicker() -> None:
    """With and without a power meter it was FOUND."""
    log = read(SHORT)
    log.position[:, 0] = 0.1
    with pytest.raises(LogError, match="'hip' reads the same throughout, others flicker: stuck") as refused:
        refuse_stuck_readings(log, leg().joint_names, [False] * leg().n)
    assert refused.value.kind == "'hip' reads the same throughout"


def test_an_encoder_whose_noise_is_below_its_count_may_stand() -> None:
    """Of a real UR10e, rounded to .1 mrad: brought to stages' times nothing repeats but where a joint stands."""
    log = read(LONG)
    turns = 20 + int(np.argmin(np.abs(np.diff(log.position[20:160, 0]))))
    log.position[turns:, 0] = log.position[turns, 0]
    refuse_stuck_readings(replace(log, counts=np.full(leg().n, 1e-3)), leg().joint_names, [True, True, False, False])


def test_the_smallest_change_of_readings_is_kept() -> None:
    t = 0.002 * np.arange(500)
    q = np.stack([1e-3 * np.round(1e3 * np.sin(t)), np.full(len(t), 0.3)], axis=1)
    log = mechanism_log(Series(t, q), Series(t, q), None, Grid.over(t, 0.01))
    np.testing.assert_allclose(log.part(5, 50).counts, [1e-3, 0.0], atol=1e-15)


def test_a_coarse_encoder_that_never_changes_is_named() -> None:
    """It may as well stand: nothing tells."""
    log = read(SHORT)
    log.position[:, 0] = 0.1
    log.position[:] = 5e-4 * np.round(log.position / 5e-4)
    assert "reads the same: 'hip' throughout" in " ".join(identified(log).findings)


@pytest.mark.parametrize(("stood", "said"), [(60, ["'hip' for 0.6 s"]), (40, [])])
def test_an_encoder_that_reads_the_same_for_a_quarter_of_a_log_is_named(stood: int, said: list[str]) -> None:
    """Not one that rests for a moment."""
    log = read(LONG)
    log.position[70 : 70 + stood, 0] = log.position[70, 0]
    named = SimpleNamespace(problem=SimpleNamespace(log=log, mechanism=build_mechanism(leg(), CONFIG, power=True)))
    assert list(_still_joints(named)) == said  # type: ignore[arg-type]


def power_turned(log: MechanismLog) -> MechanismLog:
    return replace(log, power=-log.power)


def power_alone(log: MechanismLog) -> MechanismLog:
    return replace(log, power=-log.power, torque=np.full_like(log.torque, np.nan))


@pytest.mark.parametrize("change", mark_slow([power_turned, power_alone], but=[power_turned]))
def test_power_that_is_turned_round_is_not_taken_for_noise(change: Change) -> None:
    """Without torques it was FOUND, six of fourteen intervals right."""
    result = identified(change(read(LONG)))
    assert result.status is BayesianStatus.CONTRADICTED
    assert "less than half of the power that was read" in result.message


def test_a_loop_of_another_kind_is_not_taken_for_noise() -> None:
    """A rod that is welded to the lever lets nothing move as it was read; noise of positions is not taken for it."""
    weld = replace(CONFIG.mechanism, loops=("rod_end:lever_pin:weld",))
    search, verdict = SearchConfig(starts=1), VerdictConfig(samples=400)
    result = identify(read(LONG), leg(), replace(CONFIG, mechanism=weld, search=search, verdict=verdict))
    assert result.status is BayesianStatus.CONTRADICTED
    assert "times their noise off any motion" in result.message


@pytest.mark.parametrize(("turned", "missed"), [(1.0, ()), (-1.0, ("crank_motor",))])
def test_what_is_much_more_than_readings_scatter_by_is_the_model_s(turned: float, missed: tuple[str, ...]) -> None:
    """However white it looks, and settled: a log may be too short to show for how long it lasts."""
    log, config = scaled(1.0, turned)(read(LONG)), replace(CONFIG, search=SearchConfig(starts=1, iterations=12))
    fitted = replace(fit(build_mechanism(leg(), config, power=True), log, config, None), settled=True)
    white = Correlation(np.ones(2), 1.0, np.zeros((0, 0)))
    assert _unexplained_joints(fitted, white, Readings.of(log.torque, None)) == missed


@cache
def fitted_arm() -> tuple[Fitted, Array]:
    """A double pendulum's problem with nothing fitted, and torques that are used of each motor."""
    own = bench_robot("pendulum")
    mechanism, t = true_mechanism(own), 0.01 * np.arange(102.0)
    q = np.stack([np.sin(3.0 * t), np.cos(4.0 * t)], axis=1)
    noise = 0.1 * np.random.default_rng(0).standard_normal(q.shape)
    log = MechanismLog(0.0, 0.01, q, np.sin(5.0 * q) + noise, np.full(len(t), np.nan))
    stated = stated_noise(mechanism, own.config)
    turning = np.zeros((100, 2), dtype=bool)
    problem = MechanismProblem(mechanism, log, replace(stated, torque=np.full(2, 0.1)), turning)
    return Fitted(problem, None, pool_stated(stated), None, True, q), np.full(2, 100.0)  # type: ignore[arg-type]


def told(count: int) -> ParameterPosterior:
    """Of so many coordinates."""
    own = fitted_arm()[0].problem.mechanism.parameters
    p, end = len(own.free), np.full(len(own.free), np.inf)
    left = np.where(np.arange(p) < count, 0.1, 1.0)
    return ParameterPosterior(np.zeros(p), np.diag(left * own.sigma[own.free] ** 2), -end, end)


@pytest.mark.parametrize(("errors", "said"), [(12.9, True), (13.1, False)])
def test_errors_that_are_left_beyond_the_constants(errors: float, said: bool) -> None:
    """Eight tell how large errors are: five constants are told here."""
    fitted, used = fitted_arm()
    kept = Correlation(2.0 * used / errors, 1.0, np.zeros((0, 0)))
    assert ("independent errors beside 5 constants" in too_short(fitted, kept, told(5))) is said


@pytest.mark.parametrize(
    ("errors", "noise", "said"),
    [
        (5.9, 0.3, True),
        (6.1, 0.3, False),  # six tell for how long they last
        (5.9, 0.15, False),  # what is less than twice as loud as readings scatter is no error of the model
    ],
)
def test_a_joint_whose_errors_last_as_long_as_the_log(errors: float, noise: float, said: bool) -> None:
    fitted, used = fitted_arm()
    problem = replace(fitted.problem, noise=replace(fitted.problem.noise, torque=np.array([0.1, noise])))
    kept = Correlation(used / [100.0, errors], 1.0, np.zeros((0, 0)))
    words = "what the model misses lasts about as long as the log at 'joint2'"
    assert (words in too_short(replace(fitted, problem=problem), kept, told(1))) is said


@pytest.mark.parametrize(
    ("off", "left", "said"), [(1.0, 0.01, False), (2.0, 0.01, True), (2.0, 0.9, True), (0.3, 0.9, False)]
)
def test_constants_far_from_the_prior_all_together_are_said(off: float, left: float, said: bool) -> None:
    """One and two sigmas in each of more than ten coordinates that are told, or in as many that are hardly told."""
    own = build_mechanism(leg(), CONFIG, power=True).parameters
    p, end = len(own.free), np.full(len(own.free), np.inf)
    theta = ParameterPosterior(np.zeros(p), left * np.diag(own.sigma[own.free] ** 2), -end, end)
    assert bool(far_from_prior(own, own.mean + off * own.sigma, theta)) is said


@pytest.mark.slow  # where nothing is fitted: test_wiring.py
def test_honest_torques_without_a_power_meter_have_no_wrong_scale() -> None:
    """Priors of friction, which is never less than nothing, would have it that torques were read twice as large."""
    assert trial(1, "noise stated 30 times too large", 4.0)["status"] == BayesianStatus.FOUND.name


@pytest.mark.parametrize(
    ("off", "group", "said"), [(2.0, "inertia", False), (7.0, "inertia", True), (0.0, "drive", True)]
)
def test_what_no_honest_prior_allows_to_a_constant(off: float, group: str, said: bool) -> None:
    """Of a link, six sigmas of its coordinates: a product of inertia may be eight of its own where none is three."""
    own = build_mechanism(leg(), CONFIG, power=True).parameters
    x = own.mean.copy()
    x[own.body(0)] += off * own.sigma[own.body(0)]
    link = own.links[0]
    prior, posterior = (0.0, 1.0, -2.0, 2.0), (8.0, 0.1, 7.8, 8.2)
    far = PosteriorParameter(f"{link}.Ixz", "kg m2", group, *prior, *posterior, 0.1, "observed", False)
    near = replace(far, name=f"{link}.Ixy", mean=3.0)
    assert _beyond_prior((near, far), own, x) == (far if said else None)
