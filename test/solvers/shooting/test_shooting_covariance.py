# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import signal, stats
from shared.oscillator import TRUTH, Oscillator, measurement

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.shooting import ShootingConfig, block_jackknife, bounded_interval, combine_runs, shoot

CONFIG = ShootingConfig(horizons=(200,), tolerance=1e-2)
WIDE = np.array([0.1, 0.0]), np.array([1000.0, 50.0])
RUNS = 60


def estimates(correlated: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors over sigma, plain sigmas over sigmas, and half-widths of 95 % over sigma, of many runs."""
    z, ratio, width = [], [], []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        measured = measurement(400, 0.0, rng)
        noise = rng.standard_normal(440)
        if correlated:  # over some five samples; blocks have 25
            noise = signal.lfilter([0.6], [1.0, -0.8], noise)
        problem = Oscillator(measured + 0.01 * noise[40:], 0.01)
        found = shoot(problem, TRUTH, *WIDE, CONFIG)
        covariance = block_jackknife(found.equations, found.free, 25)
        z.append((found.parameters - TRUTH) / covariance.sigma)
        ratio.append(np.sqrt(np.diag(covariance.plain)) / covariance.sigma)
        width.append(stats.t.ppf(0.975, covariance.freedom))
    return np.array(z), np.array(ratio), np.array(width)


@pytest.mark.parametrize("correlated", [pytest.param(False, marks=pytest.mark.slow), True])
def test_intervals_cover_the_truth(correlated: bool) -> None:
    """120 intervals of 95 %: fewer than 107 hits have a chance of 0.5 %, were they independent."""
    z, ratio, width = estimates(correlated)
    hits = (np.abs(z) < width).sum()
    assert hits >= 107
    # Not by being far too wide: errors fill their sigmas.
    assert 0.6 < np.sqrt(np.mean(z**2)) < 1.4
    if correlated:
        assert np.median(ratio) < 0.75, "white noise's sigmas should be too small here"
    else:
        assert 0.75 < np.median(ratio) < 1.25


def test_a_parameter_at_a_bound_counts_as_known_for_the_other() -> None:
    problem = Oscillator(measurement(400, 0.01, np.random.default_rng(1)), 0.01)
    held = shoot(problem, TRUTH, np.array([0.1, 1.5]), WIDE[1], CONFIG)
    covariance = block_jackknife(held.equations, held.free, 25)
    assert covariance.sigma[1] == 0.0
    assert covariance.sigma[0] > 0.0
    known = 1.0 / held.equations.reduced_hessian[0, 0]
    assert covariance.plain[0, 0] == pytest.approx(known)


def test_too_few_blocks_are_refused() -> None:
    found = shoot(Oscillator(measurement(60, 0.01, np.random.default_rng(1)), 0.01), TRUTH, *WIDE, CONFIG)
    with pytest.raises(SamplesError, match="2 blocks of 25"):
        block_jackknife(found.equations, found.free, 25)


@pytest.mark.parametrize(
    ("mean", "lower", "upper"), [(0.0, -np.inf, np.inf), (0.5, 0.0, np.inf), (-1.0, 0.0, np.inf), (3.0, -1.0, 1.0)]
)
def test_an_interval_holds_the_share_that_is_asked_for(mean: float, lower: float, upper: float) -> None:
    low, high = bounded_interval(mean, 0.7, 9.0, lower, upper, level=0.9)
    known = stats.t(9.0, mean, 0.7)
    inside = known.cdf(high) - known.cdf(low)
    assert inside / (known.cdf(upper) - known.cdf(lower)) == pytest.approx(0.9, abs=1e-6)
    assert lower <= low < high <= upper
    # The likeliest value is in it, at a bound too, and where no bound cuts it, it is symmetric.
    assert low <= np.clip(mean, lower, upper) <= high
    if np.isinf(lower):
        assert high - mean == pytest.approx(mean - low)


@pytest.mark.parametrize("mirrored", [False, True])
def test_no_interval_of_the_same_share_is_shorter(mirrored: bool) -> None:
    """Near a bound a symmetric one would go beyond it, and a central one leave it out."""
    low, high = (
        bounded_interval(-0.4, 0.7, 9.0, -1.0, np.inf) if mirrored else bounded_interval(0.4, 0.7, 9.0, -np.inf, 1.0)
    )
    known, (a, b) = stats.t(9.0, -0.4 if mirrored else 0.4, 0.7), (-1.0, np.inf) if mirrored else (-np.inf, 1.0)
    first, last = known.cdf(a), known.cdf(b)
    shares = np.linspace(0.0, 0.05, 51)
    ends = known.ppf(first + np.array([shares, shares + 0.95]) * (last - first))
    assert high - low == pytest.approx(np.min(ends[1] - ends[0]), rel=1e-3)


def test_an_interval_that_a_bound_cuts_holds_the_bound_to_the_last_bit() -> None:
    """A joint without friction has none at all: one rounding above zero would leave the truth out."""
    rng = np.random.default_rng(0)
    for mean, sigma in zip(rng.uniform(-1.0, 1.0, 200), rng.uniform(0.5, 2.0, 200), strict=True):
        assert bounded_interval(mean, sigma, 9.0, 0.0, np.inf)[0] == 0.0
        assert bounded_interval(mean + 0.7, sigma, 9.0, -np.inf, 0.7)[1] == 0.7


@pytest.mark.parametrize(("mean", "bound"), [(-50.0, 0.0), (50.0, 1.0)])
def test_far_outside_its_bounds_an_interval_is_the_bound(mean: float, bound: float) -> None:
    assert bounded_interval(mean, 0.1, 1e6, 0.0, 1.0) == (bound, bound)
    # Student's tails are long: with few degrees of freedom it is not.
    low, high = bounded_interval(mean, 0.1, 3.0, 0.0, 1.0)
    assert 0.0 <= low < high <= 1.0


def test_without_a_sigma_an_interval_is_a_point_or_everything() -> None:
    assert bounded_interval(2.0, 0.0, 5.0, 0.0, 1.0) == (1.0, 1.0)
    assert bounded_interval(0.5, np.inf, 5.0, 0.0, 1.0) == (0.0, 1.0)


def test_scatter_between_runs_is_found_and_counted() -> None:
    """Runs of sigma 0.1: one parameter is the same in all, the other changes from run to run by 1."""
    rng = np.random.default_rng(3)
    true = np.stack([np.full(12, 5.0), 5.0 + rng.standard_normal(12)], axis=1)
    found = combine_runs(true + 0.1 * rng.standard_normal(true.shape), np.full(true.shape, 0.1))
    assert found.scatter[0] < 0.15
    assert 0.6 < found.scatter[1] < 1.6
    assert found.sigma[0] < 0.06
    assert 0.2 < found.sigma[1] < 0.5
    assert found.predictive[1] > found.scatter[1]
    assert found.freedom == 11.0


def test_between_runs_intervals_cover() -> None:
    """200 draws of four runs each: 95 % intervals of the mean miss at most 8 %."""
    rng, missed = np.random.default_rng(4), 0
    for _ in range(200):
        sigma = rng.uniform(0.1, 1.0, (4, 1))
        found = combine_runs(rng.standard_normal((4, 1)) * np.sqrt(sigma**2 + 0.25), sigma)
        missed += int(abs(found.mean[0]) > stats.t.ppf(0.975, found.freedom) * found.sigma[0])
    assert missed <= 16


@pytest.mark.parametrize("runs", [np.ones((1, 2)), np.ones(3)])
def test_one_run_says_nothing_of_scatter(runs: np.ndarray) -> None:
    with pytest.raises(SamplesError, match="needs two runs"):
        combine_runs(runs, runs)


def test_a_run_without_sigma_is_refused() -> None:
    with pytest.raises(SamplesError, match="positive sigma"):
        combine_runs(np.ones((2, 1)), np.array([[1.0], [0.0]]))


def test_a_robust_fit_keeps_its_coverage_in_scale() -> None:
    """A loss that only cuts tails leaves the sigmas of normal noise nearly as they are."""
    problem = Oscillator(measurement(400, 0.01, np.random.default_rng(5)), 0.01)
    plain = shoot(problem, TRUTH, *WIDE, CONFIG)
    robust = shoot(problem, TRUTH, *WIDE, replace(CONFIG, robust=4.0))
    ratio = (
        block_jackknife(robust.equations, robust.free, 25).sigma
        / block_jackknife(plain.equations, plain.free, 25).sigma
    )
    np.testing.assert_allclose(ratio, 1.0, atol=0.05)
