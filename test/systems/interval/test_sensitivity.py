# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from shared.noisy_payload import Errors, configuration, measure, problem
from shared.payload_problem import Problem

from sysid_nodes.data.inertia import is_consistent
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.results import Status
from sysid_nodes.signals.windows import cut
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, SensitivityConfig
from sysid_nodes.systems.interval.momentum_rows import CAUSES, TORQUE_ABSOLUTE, TORQUE_RELATIVE, MomentumRows, select
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.row_builder import RowBuilder
from sysid_nodes.systems.interval.sensitivity import Sensitivity

Array = npt.NDArray[np.float64]

KNOWN = KnownRobotConfig(inertia_relative=0.0, friction_relative=0.0, offset_absolute=(0.2,))
ERRORS = Errors(relative=0.01, absolute=0.02, position=1e-9, velocity=1e-9)


@pytest.fixture(scope="module")
def setting() -> tuple[Problem, IntervalPipeline, MomentumRows]:
    rng = np.random.default_rng(3)
    found = problem(rng, KNOWN, corner=False)
    config = replace(configuration(found, KNOWN, ERRORS), method="sensitivity")
    pipeline = IntervalPipeline(found.robot, config)
    samples = measure(found, rng, Errors(0.0, 0.0, 1e-9, 0.0), rate=500.0, duration=4.0)
    edges, _ = cut(samples, 0.1, 0.03)
    reach = Reach(pipeline.chain, np.zeros(pipeline.chain.n))
    builder = RowBuilder(pipeline.chain, reach, pipeline.noise, pipeline.unknowns)
    return found, pipeline, builder.build(samples, edges)


def estimate(pipeline: IntervalPipeline, rows: MomentumRows) -> Sensitivity:
    method = Sensitivity(pipeline.unknowns, SensitivityConfig(max_rows=100_000))
    method.step(rows)
    return method


def test_the_interval_is_the_sum_of_finite_differences(
    setting: tuple[Problem, IntervalPipeline, MomentumRows],
) -> None:
    """Theorem 13: half-width = sum over measurements of |d theta / d m| times their radius, m = (torque, theta_r)."""
    _, pipeline, rows = setting
    picked = np.random.default_rng(0).random((rows.t.shape[0], 7, 1)) < 0.05  # the others count as exact
    rows = replace(rows, radius=rows.radius * picked)
    method = estimate(pipeline, rows)
    unknowns = pipeline.unknowns
    noise = rows.radius[:, :, [CAUSES.index(TORQUE_RELATIVE), CAUSES.index(TORQUE_ABSOLUTE)]].sum(axis=2)
    gain = unknowns.motor_slice("torque gain").start
    total = np.zeros(10)

    def moved(coefficients: Array, centre: Array) -> Array:
        shifted = replace(unknowns, centre=centre)
        other = Sensitivity(shifted, SensitivityConfig(max_rows=100_000))
        other.step(replace(rows, coefficients=coefficients))
        return other.estimate

    step = 0.02  # of a radius: small enough for first order, large enough for the optimiser's tolerance
    for window, joint in np.argwhere(noise > 0.0):
        ends = []
        for sign in (step, -step):
            coefficients = rows.coefficients.copy()
            coefficients[window, joint, gain + joint] += sign * noise[window, joint]
            ends.append(moved(coefficients, unknowns.centre))
        total += np.abs(ends[0] - ends[1]) / (2.0 * step)
    for column in unknowns.basis[:, 10:].T:
        ends = [moved(rows.coefficients, unknowns.centre + sign * column) for sign in (step, -step)]
        total += np.abs(ends[0] - ends[1]) / (2.0 * step)
    # 2 %: where the estimate lies near the cone's edge the second order is not small
    np.testing.assert_allclose(method.bounds.half_width, total, rtol=0.02)
    np.testing.assert_allclose(sum(method.costs().values()), 2.0 * method.bounds.half_width, rtol=1e-9)


def test_without_errors_the_estimate_is_the_truth() -> None:
    rng = np.random.default_rng(4)
    certain = KnownRobotConfig(inertia_relative=0.0, friction_relative=0.0, armature_relative=0.0)
    found = problem(rng, certain)
    pipeline = IntervalPipeline(found.robot, replace(configuration(found, certain, ERRORS), method="sensitivity"))
    result = pipeline.identify(measure(found, rng, Errors(0.0, 0.0, 1e-9, 0.0), rate=1000.0, duration=4.0))
    assert result.status is Status.ESTIMATED
    assert is_consistent(result.nominal)
    # the trapezoid's error at 1 kHz, which the method takes as zero
    np.testing.assert_allclose(result.nominal, found.theta, atol=3e-3)


def test_it_never_claims_a_proof_or_an_empty_set() -> None:
    rng = np.random.default_rng(5)
    found = problem(rng, KNOWN)
    pipeline = IntervalPipeline(found.robot, replace(configuration(found, KNOWN, ERRORS), method="sensitivity"))
    samples = measure(found, rng, ERRORS)
    result = pipeline.identify(replace(samples, tau=samples.tau + 20.0))
    assert result.status is Status.ESTIMATED and not pipeline._method.certified
    assert any("not proven" in line for line in pipeline.assumptions())


def test_before_the_motion_excites_everything_the_interval_is_open_or_wide() -> None:
    rng = np.random.default_rng(6)
    found = problem(rng, KNOWN)
    config: IntervalIdentifierConfig = replace(configuration(found, KNOWN, ERRORS), method="sensitivity")
    pipeline = IntervalPipeline(found.robot, config)
    result = pipeline.identify(measure(found, rng, ERRORS, duration=0.15))
    assert ((result.upper - result.lower) > 0.1).any()


def test_old_rows_are_dropped(setting: tuple[Problem, IntervalPipeline, MomentumRows]) -> None:
    _, pipeline, rows = setting
    method = Sensitivity(pipeline.unknowns, SensitivityConfig(max_rows=21))
    for window in range(10):
        one = slice(window, window + 1)
        method.step(replace(rows, t=rows.t[one], coefficients=rows.coefficients[one]))
    last = Sensitivity(pipeline.unknowns, SensitivityConfig(max_rows=21))
    keep = slice(7, 10)
    last.step(replace(rows, t=rows.t[keep], coefficients=rows.coefficients[keep]))
    assert method._y.shape == (21, 10)
    np.testing.assert_array_equal(method._y, last._y)


def test_nested_intervals_are_within_the_prior_and_within_one_another(
    setting: tuple[Problem, IntervalPipeline, MomentumRows],
) -> None:
    _, pipeline, rows = setting
    method = Sensitivity(pipeline.unknowns, SensitivityConfig(nested_after=0.6))
    faithful = Sensitivity(pipeline.unknowns, SensitivityConfig())
    lower, upper = pipeline.unknowns.prior.lower, pipeline.unknowns.prior.upper
    for window in range(0, 12, 4):
        part = select(rows, slice(window, window + 4))
        width, _ = method.bounds.half_width, faithful.step(part)
        assert method.step(part) != np.allclose(method.bounds.half_width, width, rtol=1e-3)
        if rows.t[window + 3, 1] - rows.t[0, 0] >= 0.6:
            lower, upper = np.maximum(lower, faithful.bounds.lower), np.minimum(upper, faithful.bounds.upper)
        np.testing.assert_array_equal([method.bounds.lower, method.bounds.upper], [lower, upper])
    assert method.contradiction is None
    heavier = replace(rows, coefficients=rows.coefficients.copy())
    gain = pipeline.unknowns.motor_slice("torque gain").start
    heavier.coefficients[:, np.arange(7), gain + np.arange(7)] *= 3.0
    method.step(heavier)
    assert method.contradiction is not None and "first order" in method.contradiction.sentence()
    np.testing.assert_array_equal(method.bounds.lower, lower)
