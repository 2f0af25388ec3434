# SPDX-License-Identifier: Apache-2.0
"""The linear system of a calibration and its fits, piece by piece."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.bare_arm import LOAD, UR10_GAIN, bare_arm, loaded, unloaded_run
from shared.payload_problem import Problem, SineMotion

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.systems.interval.calibration_fit import correlation_time, estimate, held_out_excess, partial_fits
from sysid_nodes.systems.interval.calibration_runs import run_rows
from sysid_nodes.systems.interval.calibration_system import CalibrationSystem
from sysid_nodes.systems.interval.unknowns import identify_payload

N = 6
BOX = np.array([0.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


@pytest.fixture(scope="module")
def arm() -> Problem:
    return bare_arm(np.random.default_rng(11), UR10_GAIN)


@pytest.fixture(scope="module")
def system(arm: Problem) -> CalibrationSystem:
    """A run without and one with a payload of known mass, free of noise."""
    rng = np.random.default_rng(12)
    mass = np.zeros(10)
    mass[0] = LOAD[0]
    loads = [Bounds(np.zeros(10), np.zeros(10)), Bounds(mass - BOX, mass + BOX)]
    runs = [unloaded_run(arm, rng, noise=0.0), unloaded_run(loaded(arm, LOAD, SineMotion.random(rng, N)), rng, noise=0)]
    centre, radius = known_box(arm.robot, UR10_GAIN.known_robot)
    rows = [
        run_rows(arm.robot, UR10_GAIN, run, identify_payload(N, N - 1, centre, radius, load))
        for run, load in zip(runs, loads, strict=True)
    ]
    return CalibrationSystem.assemble(N, N - 1, centre, radius, loads, rows)


@pytest.fixture(scope="module")
def truth(arm: Problem, system: CalibrationSystem) -> np.ndarray:
    """(d,) the unknowns that are true."""
    robot = (arm.p - system.centre)[system.robot_columns] / system.scale[: system.robot_size]
    half = np.where(BOX > 0.0, BOX, 1.0)
    mass = np.zeros(10)
    mass[0] = LOAD[0]
    return np.concatenate([robot, np.zeros(10), (LOAD - mass) / half])


def test_the_true_unknowns_leave_nothing_over(system: CalibrationSystem, truth: np.ndarray, arm: Problem) -> None:
    np.testing.assert_allclose(system.parameters(truth), arm.p, rtol=1e-12)
    # trapezoid rule at 100 Hz, and torque steps between samples where friction flips
    moving = system.allowed_residual(truth) < 1e-3
    assert moving.mean() > 0.5
    assert np.abs(system.residual(truth)[moving]).max() < 0.05
    assert np.abs(system.residual(np.zeros(system.size))[moving]).max() > 1.0


def test_the_fits_linearisation_is_that_of_the_residual(system: CalibrationSystem) -> None:
    rng = np.random.default_rng(0)
    xi = rng.uniform(-0.5, 0.5, system.size)
    rows, offset = system._per_reading(xi)
    np.testing.assert_allclose(((rows @ xi + offset) / system.duration).reshape(-1, N), system.residual(xi), atol=1e-9)
    step = 1e-6 * rng.normal(size=system.size)
    difference = (system.residual(xi + step) - system.residual(xi - step)) / 2.0
    np.testing.assert_allclose(((rows @ step) / system.duration).reshape(-1, N), difference, atol=1e-12)


def test_a_residual_is_in_readings_so_that_a_small_gain_does_not_shrink_it(
    system: CalibrationSystem, truth: np.ndarray
) -> None:
    lowest = truth.copy()
    lowest[system.gains] = -1.0  # 0.8 on every joint
    imbalance = (system.rows @ lowest + system.offset) / system.duration
    np.testing.assert_allclose(system.residual(lowest), imbalance.reshape(-1, N) / 0.8, rtol=1e-12)
    np.testing.assert_allclose(system.allowed_residual(lowest), (system.radius / system.duration).reshape(-1, N) / 0.8)


def test_the_torque_error_counts_at_the_largest_gain(system: CalibrationSystem) -> None:
    error = np.linspace(0.5, 3.0, N)
    added = (system.add_torque_error(error).radius - system.radius) / system.duration
    np.testing.assert_allclose(added.reshape(-1, N), np.broadcast_to(1.2 * error, (system.windows, N)))


def test_the_estimate_finds_the_truth_where_there_is_no_noise(
    system: CalibrationSystem, truth: np.ndarray, arm: Problem
) -> None:
    found = estimate(system)
    np.testing.assert_allclose(system.parameters(found)[84:], arm.p[84:], atol=0.01)
    np.testing.assert_allclose(system.parameters(found)[60:66], arm.p[60:66], atol=0.2)


def test_held_unknowns_stay(system: CalibrationSystem) -> None:
    start = np.full(system.size, 0.25)
    x = system.fit(np.ones((system.windows, N)), start, system.gains)
    np.testing.assert_allclose(x[system.gains], 0.25, atol=1e-6)
    assert np.abs(x[~system.gains] - 0.25).max() > 0.1


def test_windows_left_out_are_judged_by_a_fit_of_the_others(system: CalibrationSystem) -> None:
    """A fault in one window of the run: its own fit bends towards it, that of the others does not."""
    spoilt = 20
    offset = system.offset.copy()
    offset[N * spoilt : N * spoilt + N] += 5.0 * system.duration[N * spoilt]
    faulty = replace(system, offset=offset)
    xi = estimate(faulty)
    told: list[tuple[int, int]] = []
    half = system.windows // 2
    runs = [np.arange(half), np.arange(half, system.windows)]
    fits = partial_fits(faulty, xi, runs, lambda done, total: told.append((done, total)))
    worst = held_out_excess(faulty, xi, fits, np.arange(system.windows)[:, None])
    inside = np.maximum(np.abs(faulty.residual(xi)) - faulty.allowed_residual(xi), 0.0)
    assert (worst >= inside).all()
    assert (worst[spoilt] > inside[spoilt]).any()
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_residual_over_several_windows_is_their_mean(system: CalibrationSystem) -> None:
    xi = np.random.default_rng(1).uniform(-0.5, 0.5, system.size)
    blocks = np.array([[0, 1, 2, 3], [5, 6, 7, 8]])
    sums = system.sum_up(blocks)
    weight = system.duration.reshape(-1, N)[blocks]
    for name in ("residual", "allowed_residual"):
        mean = (getattr(system, name)(xi)[blocks] * weight).sum(axis=1) / weight.sum(axis=1)
        np.testing.assert_allclose(getattr(sums, name)(xi), mean, rtol=1e-9, atol=1e-12)
    both = system.join(sums)
    np.testing.assert_array_equal(both.residual(xi)[-2:], sums.residual(xi))
    assert both.unloaded.sum() == system.unloaded.sum() + 2 * N


def test_correlation_time_of_known_series() -> None:
    rng = np.random.default_rng(1)
    white = rng.normal(size=4000)
    series = np.zeros(4000)
    for k in range(1, 4000):
        series[k] = 0.8 * series[k - 1] + white[k]
    time = correlation_time(np.column_stack([white, series]))
    # 1 for independent values, (1 + 0.8) / (1 - 0.8) = 9 for this one; the sample's own spread is 20 %
    assert time[0] < 1.2
    assert 7.0 < time[1] < 12.0
    np.testing.assert_array_equal(correlation_time(np.zeros((30, 2))), 1.0)
