# SPDX-License-Identifier: Apache-2.0
"""Agreement of runs: how often it cries wolf, what it finds, and that intervals are compared without a probability."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.agreement import compare_estimates, compare_intervals, fit_slope

LEVEL = 0.05
TRIALS = 150
# Three standard deviations of a share of .05 in 150 trials.
SHARE = LEVEL + 3.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / TRIALS)


def _runs(rng: np.random.Generator, count: int, scatter: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    sigmas = rng.uniform(0.5, 2.0, count)
    return 3.0 + scatter * rng.standard_normal(count) + sigmas * rng.standard_normal(count), sigmas


def test_runs_of_one_value_are_seldom_said_to_disagree() -> None:
    rng = np.random.default_rng(1)
    found = [compare_estimates(*_runs(rng, 6), LEVEL) for _ in range(TRIALS)]
    assert np.mean([one.p < LEVEL for one in found]) < SHARE
    assert np.mean([bool(one.outliers) for one in found]) < SHARE


def test_the_common_interval_holds_the_value_whether_runs_scatter_or_not() -> None:
    rng = np.random.default_rng(2)
    for scatter in (0.0, 3.0):
        found = [compare_estimates(*_runs(rng, 6, scatter), LEVEL) for _ in range(TRIALS)]
        assert np.mean([one.lower <= 3.0 <= one.upper for one in found]) > 1.0 - SHARE


def test_a_run_out_of_line_is_named_and_no_other() -> None:
    estimates, sigmas = np.array([1.0, 1.1, 0.9, 1.05, 9.0]), np.full(5, 0.1)
    found = compare_estimates(estimates, sigmas, 0.01)
    assert not found.agree
    assert found.outliers == (4,)


def test_of_two_runs_that_disagree_neither_is_the_outlier() -> None:
    found = compare_estimates(np.array([1.0, 2.0]), np.array([0.1, 0.1]), 0.01)
    assert not found.agree
    assert found.outliers == ()


def test_a_slope_is_seldom_seen_where_there_is_none_and_found_where_there_is() -> None:
    rng = np.random.default_rng(3)
    day = np.arange(8.0)
    flat = [fit_slope(day, *_runs(rng, 8, scatter=1.0)) for _ in range(TRIALS)]
    assert np.mean([one.p < LEVEL for one in flat if one]) < SHARE
    estimates, sigmas = _runs(rng, 8)
    drift = fit_slope(day, estimates + 5.0 * day, sigmas)
    assert drift is not None
    assert abs(drift.slope - 5.0) < 4.0 * drift.sigma
    assert drift.p < 1e-4


def test_a_slope_without_scatter_is_that_of_weighted_least_squares() -> None:
    x, y, s = np.array([0.0, 1.0, 2.0, 4.0, 7.0]), np.array([1.0, 3.1, 4.9, 9.0, 15.0]), np.full(5, 1.0)
    found = fit_slope(x, y, s)
    assert found is not None
    slope, _ = np.polyfit(x, y, 1, w=1.0 / s)
    assert found.slope == pytest.approx(slope, rel=1e-12)
    assert found.sigma == pytest.approx(1.0 / np.sqrt(((x - x.mean()) ** 2).sum()), rel=1e-12)


def test_where_runs_scatter_far_more_than_their_sigmas_each_counts_the_same_for_a_slope() -> None:
    x, y = np.arange(6.0), np.array([5.0, -4.0, 3.0, 9.0, -2.0, 7.0])
    found = fit_slope(x, y, np.array([0.001, 0.01, 0.001, 0.01, 0.001, 0.01]))
    assert found is not None
    # The scatter is 5, the sigmas differ by 1e-2 at most: weights agree to 1e-5.
    assert found.slope == pytest.approx(np.polyfit(x, y, 1)[0], rel=1e-4)


@pytest.mark.parametrize("x", [np.zeros(6), np.arange(3.0)], ids=["one abscissa", "three runs"])
def test_too_little_for_a_slope_gives_none(x: np.ndarray) -> None:
    assert fit_slope(x, np.arange(float(len(x))), np.ones(len(x))) is None


def test_one_run_agrees_with_nothing() -> None:
    with pytest.raises(SamplesError, match="two runs"):
        compare_estimates(np.ones(1), np.ones(1), LEVEL)


@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(0, 5)), min_size=2, max_size=8))
def test_intervals_agree_if_and_only_if_a_point_lies_in_all(drawn: list[tuple[float, float]]) -> None:
    lower = np.array([low for low, _ in drawn])
    upper = lower + np.array([width for _, width in drawn])
    found = compare_intervals(lower, upper)
    holds = [int(((lower <= point) & (point <= upper)).sum()) for point in (*lower, *upper)]
    assert found.agree == (max(holds) == len(drawn))
    assert len(drawn) - len(found.outliers) == max(holds)
    kept = np.delete(np.arange(len(drawn)), list(found.outliers))
    assert found.lower == lower[kept].max()
    assert found.upper == upper[kept].min()
    assert found.lower <= found.upper
