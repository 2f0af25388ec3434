# SPDX-License-Identifier: Apache-2.0
"""The statistical estimate: the truth recovered, outliers shrugged off, and 95 % intervals that hold as often."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from shared.bare_arm import LOAD, UR10, bare_arm, loaded, noisy
from shared.noisy_payload import Errors, configuration, measure, point_mass, problem
from shared.payload_problem import Problem, SineMotion

from sysid_nodes.data import Bounds, JointSamples
from sysid_nodes.data.inertia import is_consistent
from sysid_nodes.models.known_robot import KnownRobotConfig, known_box
from sysid_nodes.results import IdentificationResult
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.calibration_runs import Run, run_rows
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.estimate.estimator import StatisticalEstimator, before_any_data, project
from sysid_nodes.systems.interval.estimate.robust_fit import RobustFit, robust_fit
from sysid_nodes.systems.interval.estimate.window_model import WindowModel
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.unknowns import identify_body, identify_payload

Array = npt.NDArray[np.float64]

CERTAIN = KnownRobotConfig(inertia_relative=0.0, friction_relative=0.0, armature_relative=0.0)
BOX = Bounds(np.array([0.0, *[-1.0] * 9]), np.array([6.0, *[1.0] * 9]))

UNSURE = replace(
    UR10,
    noise=replace(UR10.noise, torque_absolute=(20.0, 20.0, 20.0, 8.0, 8.0, 8.0)),
    known_robot=replace(UR10.known_robot, inertia_relative=0.02, friction_relative=0.3),
)
"""An arm whose links are known to 2 % of their size and whose friction to 30 %."""


def weigh(seed: int, error: Array | None = None, config: IntervalIdentifierConfig = UNSURE) -> IdentificationResult:
    """A run of 20 s with LOAD, and correlated errors of the torque unless others are given."""
    rng = np.random.default_rng(seed)
    arm = bare_arm(rng, config)
    samples = loaded(arm, LOAD, SineMotion.random(rng, 6)).samples(np.arange(0.0, 20.0, 0.01))
    return IntervalPipeline(arm.robot, config).identify(
        noisy(samples, correlated(rng, samples.tau.shape) if error is None else error)
    )


def correlated(rng: np.random.Generator, shape: tuple[int, ...], size: float = 1.0) -> Array:
    """Errors (N, n) that stay alike for half a second, as those of real drives do [N m]."""
    keep = np.exp(-0.01 / 0.5)
    error = rng.normal(size=shape)
    for k in range(1, len(error)):
        error[k] = keep * error[k - 1] + np.sqrt(1.0 - keep**2) * error[k]
    return size * error


def test_without_noise_it_is_the_truth() -> None:
    rng = np.random.default_rng(0)
    found = problem(rng, CERTAIN)
    pipeline = IntervalPipeline(found.robot, configuration(found, CERTAIN, Errors(position=1e-9, velocity=1e-9)))
    result = pipeline.identify(measure(found, rng, Errors(0.0, 0.0, 1e-9, 0.0), rate=1000.0, duration=4.0))
    # what the trapezoid leaves at 1 kHz, as in test_sensitivity.py
    np.testing.assert_allclose(result.nominal, found.theta, atol=3e-3)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Errors that stay alike for two windows; as many misses as one in ten is unlikely at 95 %."""
    hits = 0
    for seed in range(8):
        result = weigh(seed)
        found = result.estimate
        assert found is not None
        hits += int(np.sum((found.lower <= LOAD) & (found.upper >= LOAD)))
        assert found.upper[0] - found.lower[0] < 0.5 * (result.upper[0] - result.lower[0])
    assert hits >= stats.binom(80, 0.95).ppf(1e-3)


CURRENTS = replace(
    UNSURE,
    noise=replace(UNSURE.noise, torque_absolute=(60.0, 60.0, 60.0, 20.0, 20.0, 20.0)),
    known_robot=replace(UNSURE.known_robot, inertia_relative=0.05, gain_relative=(0.1,)),
)
"""An arm whose torques are motor currents: constants known to 10 %, links to 5 %."""


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_interval_holds_the_truth_wherever_it_is_in_the_stated_box(sign: float) -> None:
    """Constants are one data sheet's and links one drawing's: their errors may all push the mass the same way."""
    rng = np.random.default_rng(3)
    robot = bare_arm(rng, CURRENTS).robot
    centre, radius = known_box(robot, CURRENTS.known_robot)
    unknowns = identify_payload(6, 5, centre, radius, CURRENTS.prior.bounds)
    belief = before_any_data(unknowns, np.full(6, 0.1)).and_also(Belief.gaussian(np.zeros(10), np.full(10, 3.0)))
    motion = SineMotion.random(rng, 6)

    def run(p: Array) -> JointSamples:
        return loaded(Problem(robot, p, motion), LOAD, motion).samples(np.arange(0.0, 20.0, 0.01))

    rows = run_rows(robot, CURRENTS, Run(run(centre), 0.0, "run"), unknowns)
    fit = robust_fit(WindowModel.of_rows(rows, 5, 0), belief)
    assert fit is not None
    moved = np.sign(fit.inverse[-10, :90] * belief.information.diagonal()[:90])
    samples = run(centre + 0.9 * sign * radius * moved)
    result = IntervalPipeline(robot, CURRENTS).identify(noisy(samples, correlated(rng, samples.tau.shape)))
    found = result.estimate
    assert found is not None
    assert abs(result.nominal[0] - LOAD[0]) > 0.5
    assert ((found.lower <= LOAD) & (found.upper >= LOAD)).all()
    assert found.upper[0] - found.lower[0] < 6.0  # of the prior's 8


def test_an_interval_lies_in_the_proven_one_and_has_the_nominal_in_it() -> None:
    result = weigh(1)
    found = result.estimate
    assert found is not None
    assert (result.lower <= found.lower).all()
    assert (found.upper <= result.upper).all()
    assert ((found.lower <= result.nominal) & (result.nominal <= found.upper)).all()


def test_bounds_that_the_fit_leaves_make_it_no_surer() -> None:
    """Were its own interval cut to what is possible, one that misses all of that would leave a single value."""
    rng = np.random.default_rng(1)
    centre, radius = known_box(arm := bare_arm(rng, UNSURE).robot, UNSURE.known_robot)
    unknowns = identify_payload(6, 5, centre, radius, UNSURE.prior.bounds)
    found = StatisticalEstimator(unknowns, before_any_data(unknowns, np.full(6, 0.1)))
    samples = loaded(bare_arm(rng, UNSURE), LOAD, SineMotion.random(rng, 6)).samples(np.arange(0.0, 8.0, 0.01))
    found.add(run_rows(arm, UNSURE, Run(noisy(samples, correlated(rng, samples.tau.shape)), 0.0, "run"), unknowns))
    inside = found.estimate(UNSURE.prior.bounds)
    assert inside is not None
    width = inside.upper[0] - inside.lower[0]
    lower = UNSURE.prior.bounds.lower.copy()
    lower[0] = inside.upper[0] + width
    beyond = found.estimate(Bounds(lower, UNSURE.prior.bounds.upper))
    assert beyond is not None
    assert beyond.upper[0] - beyond.lower[0] > 0.4 * width


def test_outliers_do_not_move_it() -> None:
    rng = np.random.default_rng(7)
    error = correlated(rng, (2000, 6), 0.3)
    plain = weigh(3, error)
    for start in rng.integers(0, 1900, 6):
        error[start : start + 25] += 0.6 * np.array(UNSURE.noise.torque_absolute) * rng.choice([-1.0, 1.0])
    hit = weigh(3, error)
    assert abs(hit.nominal[0] - LOAD[0]) < 0.08
    assert abs(hit.nominal[0] - plain.nominal[0]) < 0.05


def test_friction_and_offsets_are_estimated_along() -> None:
    rng = np.random.default_rng(2)
    arm = bare_arm(rng, UNSURE)
    found = weigh(2).estimate
    assert found is not None
    centre, _ = known_box(arm.robot, UNSURE.known_robot)
    assert np.abs(centre - arm.p)[60:66].max() > 1.0
    np.testing.assert_allclose(found.coulomb, arm.p[60:66], atol=0.8)
    np.testing.assert_allclose(found.offset, arm.p[78:84], atol=0.8)


def test_with_few_windows_it_claims_no_more_than_is_proven() -> None:
    rng = np.random.default_rng(5)
    arm = bare_arm(rng, UNSURE)
    samples = loaded(arm, LOAD, SineMotion.random(rng, 6)).samples(np.arange(0.0, 2.0, 0.01))
    result = IntervalPipeline(arm.robot, UNSURE).identify(samples)
    assert result.estimate is not None
    np.testing.assert_array_equal(result.estimate.lower, result.lower)
    np.testing.assert_array_equal(result.estimate.upper, result.upper)


def test_a_fit_that_fails_leaves_what_was_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def failing(model: WindowModel, belief: Belief) -> RobustFit | None:
        nonlocal calls
        calls += 1
        return robust_fit(model, belief) if calls <= 6 else None

    monkeypatch.setattr("sysid_nodes.systems.interval.estimate.estimator.robust_fit", failing)
    rng = np.random.default_rng(0)
    arm = bare_arm(rng, UNSURE)
    samples = loaded(arm, LOAD, SineMotion.random(rng, 6)).samples(np.arange(0.0, 4.0, 0.01))
    pipeline = IntervalPipeline(arm.robot, UNSURE)
    for k in range(len(samples)):
        pipeline.push(samples.names, samples.t[k], samples.q[k], samples.qd[k], samples.tau[k])
    assert calls > 7
    np.testing.assert_allclose(pipeline.finish().nominal[0], LOAD[0], atol=0.5)


def test_the_end_of_a_run_fits_every_window_and_leaves_the_stream_as_it_was() -> None:
    rng = np.random.default_rng(0)
    arm = bare_arm(rng, UNSURE)
    samples = loaded(arm, LOAD, SineMotion.random(rng, 6)).samples(np.arange(0.0, 7.0, 0.01))
    asked, unasked = IntervalPipeline(arm.robot, UNSURE), IntervalPipeline(arm.robot, UNSURE)
    for k in range(len(samples)):
        for pipeline in (asked, unasked):
            result = pipeline.push(samples.names, samples.t[k], samples.q[k], samples.qd[k], samples.tau[k])
            if result is not None and pipeline is asked and result.window % 9 == 5:
                asked.finish()
    np.testing.assert_array_equal(asked.result.nominal, unasked.result.nominal)
    np.testing.assert_allclose(asked.finish().nominal[0], LOAD[0], atol=0.15)


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_is_physical_and_inside_whatever_was_observed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta = point_mass(2.0, rng.uniform(-0.2, 0.2, 3))
    bounds = Bounds(theta - rng.uniform(0.01, 0.1, 10), theta + rng.uniform(0.01, 0.1, 10))
    estimate = project(np.eye(10), theta + 0.3 * rng.normal(size=10), bounds)  # far from physical
    assert bounds.contains(estimate)
    assert is_consistent(estimate, tolerance=1e-7)


def test_a_physical_point_is_kept() -> None:
    theta = np.array([2.0, 0.1, -0.1, -0.3, 0.2, 0.01, 0.21, 0.0, 0.01, 0.05])
    np.testing.assert_allclose(project(1e6 * np.eye(10), theta, BOX), theta, atol=1e-5)


def test_a_box_without_a_physical_body_gives_its_middle() -> None:
    impossible = Bounds(np.array([1.0, 1.0, *[-1e-3] * 8]), np.array([1.1, 1.1, *[1e-3] * 8]))
    np.testing.assert_array_equal(project(np.eye(10), np.zeros(10), impossible), impossible.centre)


def test_without_data_it_lies_in_the_box_and_says_nothing_of_its_error() -> None:
    known = Bounds(np.array([2.0, *[-1.0] * 9]), np.array([2.0, *[1.0] * 9]))
    for box in (BOX, known):
        centre, radius = known_box(load_robot("kinova_gen3"), CERTAIN)
        unknowns = identify_body(7, 6, centre, radius, box)
        found = StatisticalEstimator(unknowns, before_any_data(unknowns, np.zeros(7)))
        assert box.contains(found.solve(box))
        assert is_consistent(found.solve(box), tolerance=1e-7)
        assert found.estimate(box) is None


def test_the_jacobian_is_the_residuals_derivative() -> None:
    model, x = windows(np.random.default_rng(4))
    _, jacobian = model.residual(x)
    rng = np.random.default_rng(0)
    for _ in range(5):
        along = rng.normal(size=x.size) * np.maximum(np.abs(x), 0.1)
        step = 1e-6 * along
        slope = (model.residual(x + step)[0] - model.residual(x - step)[0]) / 2e-6
        np.testing.assert_allclose(jacobian @ along, slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max())


def windows(rng: np.random.Generator) -> tuple[WindowModel, Array]:
    """Windows of a loaded arm and the parameters that they come from, a load friction of 5 % included."""
    arm = bare_arm(rng, UNSURE)
    run = Run(loaded(arm, LOAD, SineMotion.random(rng, 6)).samples(np.arange(0.0, 8.0, 0.01)), 0.0, "run")
    centre, radius = known_box(arm.robot, UNSURE.known_robot)
    unknowns = identify_payload(6, arm.robot.body_index(), centre, radius, UNSURE.prior.bounds)
    model = WindowModel.of_rows(run_rows(arm.robot, UNSURE, run, unknowns), arm.robot.body_index(), 0)
    return model, np.concatenate([arm.p, np.full(6, 0.05), LOAD])


def test_what_a_run_leaves_is_what_the_next_one_starts_from() -> None:
    """Two runs fitted one after the other, or as one: the same up to the weights, which each fit finds by itself."""
    model, x = windows(np.random.default_rng(6))
    rng = np.random.default_rng(1)
    readings = np.arange(6)
    model.coefficients[:, readings, 84 + readings] -= 0.5 * rng.normal(size=model.unsure.shape)
    sigma = np.concatenate([0.05 * np.abs(x[:-10]) + 0.01, np.full(10, 2.0)])
    before = Belief.gaussian(np.concatenate([x[:-10], np.zeros(10)]), sigma)
    half = len(model.unsure) // 2
    first = WindowModel(6, 5, model.coefficients[:half], model.unsure[:half], model.load[:half], model.posture[:half])
    second = WindowModel(6, 5, model.coefficients[half:], model.unsure[half:], model.load[half:], model.posture[half:])
    earlier, whole = robust_fit(first, before), robust_fit(model, before)
    assert earlier is not None
    assert whole is not None
    chained = robust_fit(second, earlier.after())
    assert chained is not None
    error = np.sqrt(whole.covariance()[0].diagonal())
    assert (np.abs(chained.point - whole.point) < 0.7 * error + 1e-9).all()
    ratio = np.sqrt(chained.covariance()[0].diagonal()[-10:]) / error[-10:]
    assert ((ratio > 0.5) & (ratio < 2.0)).all()


def test_a_fit_without_numbers_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = windows(np.random.default_rng(6))
    before = Belief.gaussian(x, 0.1 * np.abs(x) + 0.1)
    assert robust_fit(replace(model, unsure=np.full_like(model.unsure, np.nan)), before) is None
    monkeypatch.setattr("sysid_nodes.solvers.block_jackknife._inverse", lambda matrix: np.full_like(matrix, np.nan))
    found = robust_fit(model, before)
    assert found is not None
    assert np.isinf(found.covariance()[0]).all()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_windows_tell_something_however_few_and_far_off_they_are(count: int) -> None:
    """With negative curvature the information would be less than what was known before."""
    model, x = windows(np.random.default_rng(4))
    few = model.select(np.arange(count))
    readings = np.arange(6)
    few.coefficients[:, readings, 84 + readings] += 10.0 * np.random.default_rng(0).normal(size=(count, 6))
    before = Belief.gaussian(x, np.concatenate([1e-3 * np.abs(x[:-10]) + 1e-4, np.full(10, 3.0)]))
    found = robust_fit(few, before)
    assert found is not None
    scale = np.sqrt(before.information.diagonal())
    gained = (found.information - before.information) / np.outer(scale, scale)
    assert np.linalg.eigvalsh(gained)[0] > -1e-9 * np.abs(gained).max()


def test_a_belief_forgets_what_has_moved_and_keeps_the_rest() -> None:
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 4))
    information = root.T @ root
    belief = Belief(np.zeros(4), information, np.zeros(4), 2.0 * information)
    moved = np.array([0.0, 0.0, 3.0, 0.5])
    covariance = np.linalg.inv(information)
    np.testing.assert_allclose(
        np.linalg.inv(belief.drift(moved).information), covariance + np.diag(moved**2), rtol=1e-9, atol=1e-12
    )
    alone = belief.first(2)
    np.testing.assert_allclose(np.linalg.inv(alone.information), covariance[:2, :2], rtol=1e-9)
    np.testing.assert_allclose(alone.score_covariance, 2.0 * alone.information, rtol=1e-9)


def test_a_belief_holds_a_parameter_at_its_point() -> None:
    mixed = Belief(np.array([1.0, 2.0]), np.array([[2.0, 1.0], [1.0, 2.0]]), np.ones(2), np.eye(2))
    held = mixed.hold(np.array([False, True]))
    np.testing.assert_array_equal(held.known, [True, False])
    np.testing.assert_array_equal(held.information, [[2.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(held.score, [1.0, 0.0])


def test_a_short_run_of_slow_errors_claims_no_more_than_it_shows() -> None:
    """Offsets alone are open; their errors stay alike for nearly as long as the blocks of so short a run are."""
    model, x = windows(np.random.default_rng(6))
    model = replace(WindowModel.join([model, model]), unsure=np.zeros((2 * len(model.load), 6)))
    readings, offsets, fall = np.arange(6), slice(78, 84), 0.8
    sigma = np.zeros(len(x))
    sigma[offsets] = 10.0
    off, claimed, inside = [], [], []
    for seed in range(30):
        error = np.random.default_rng(seed).normal(size=model.unsure.shape)
        for k in range(1, len(error)):
            error[k] = fall * error[k - 1] + np.sqrt(1.0 - fall**2) * error[k]
        coefficients = model.coefficients.copy()
        coefficients[:, readings, 84 + readings] -= model.residual(x)[0] + error
        found = robust_fit(replace(model, coefficients=coefficients), Belief.gaussian(x, sigma))
        assert found is not None
        covariance, freedom = found.covariance()
        off.append((found.point - x)[offsets])
        claimed.append(covariance.diagonal()[offsets])
        inside.append(np.abs(off[-1]) <= np.sqrt(claimed[-1]) * stats.t.ppf(0.975, freedom[offsets]))
    assert np.mean(claimed) > 0.8 * np.mean(np.square(off))  # .95; .62 and .47 without either correction
    assert np.mean(inside) > 0.9
