"""Chi-square checks of residuals: false alarms at the stated rate, wrong but plausible sensors found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sysid_nodes.exceptions import InputError
from sysid_nodes.sensors.consistency import (
    ConsistencyConfig,
    ConsistencyMonitor,
    Verdict,
    chi_square_limit,
    normalised_square,
)

ROWS = {"gyroscope": 3, "joint_position": 12}


def test_squares_are_mahalanobis_distances_with_the_prediction_s_uncertainty() -> None:
    rng = np.random.default_rng(0)
    residual = rng.normal(size=(5, 3))
    root = rng.normal(size=(5, 3, 3))
    prediction = root @ root.swapaxes(1, 2)
    expected = [r @ np.linalg.inv(np.eye(3) + c) @ r for r, c in zip(residual, prediction, strict=True)]
    np.testing.assert_allclose(normalised_square(residual, prediction), expected, rtol=1e-10)
    np.testing.assert_allclose(normalised_square(residual), np.sum(residual**2, axis=1))


@pytest.mark.parametrize("rows", [1, 3, 12])
def test_limit_is_the_quantile(rows: int) -> None:
    assert chi_square_limit(rows, 1e-3) == pytest.approx(stats.chi2.isf(1e-3, rows))


def test_gate_turns_away_the_stated_share_of_good_readings() -> None:
    rng = np.random.default_rng(1)
    monitor = ConsistencyMonitor(ROWS, ConsistencyConfig(gate=0.01))
    passed = monitor.add("gyroscope", rng.normal(size=(40_000, 3)))
    # Binomial with mean 400 and standard deviation 20: five of those.
    assert abs((~passed).sum() - 400) < 100


def test_good_sensors_raise_no_alarm_and_the_ratio_is_one() -> None:
    rng = np.random.default_rng(2)
    monitor = ConsistencyMonitor(ROWS)
    assert monitor.verdict("gyroscope") is Verdict.TOO_FEW
    assert np.isnan(monitor.ratio("gyroscope"))
    for _ in range(200):
        for name, rows in ROWS.items():
            monitor.add(name, rng.normal(size=(10, rows)))
            assert monitor.verdict(name) is Verdict.CONSISTENT
    assert monitor.ratio("joint_position") == pytest.approx(1.0, abs=0.1)  # 1200 numbers: 0.02
    assert monitor.findings(1.0) == []


@pytest.mark.parametrize(
    ("bias", "scale"), [(4.0, 1.0), (0.0, 3.0)], ids=["one component off by four sigma", "noise thrice as large"]
)
def test_plausible_but_wrong_is_found(bias: float, scale: float) -> None:
    rng = np.random.default_rng(3)
    monitor = ConsistencyMonitor(ROWS)
    monitor.add("joint_position", rng.normal(size=(100, 12)))
    residual = scale * rng.normal(size=(100, 3)) + np.array([0.0, bias, 0.0])
    monitor.add("gyroscope", residual)
    (finding,) = monitor.findings(7.5)
    assert (finding.joint, finding.t, finding.assumption) == ("gyroscope", 7.5, "consistency")
    assert finding.message.startswith("residuals of 'gyroscope' are ")
    assert ("component 1 is off by" in finding.message) == (bias > 0.0)
    assert monitor.verdict("joint_position") is Verdict.CONSISTENT
    monitor.reset()
    assert monitor.findings(8.0) == []


def test_a_lone_outlier_is_gated_and_forgiven_many_are_not() -> None:
    rng = np.random.default_rng(4)
    monitor = ConsistencyMonitor(ROWS)
    residual = rng.normal(size=(100, 3))
    residual[50] = 1e6
    residual[60] = np.nan
    passed = monitor.add("gyroscope", residual)
    assert np.flatnonzero(~passed).tolist() == [50, 60]
    assert monitor.verdict("gyroscope") is Verdict.CONSISTENT
    residual[::2] = np.inf
    monitor.add("gyroscope", residual)
    assert monitor.verdict("gyroscope") is Verdict.INCONSISTENT


def test_memory_is_bounded_and_what_is_long_past_is_forgiven() -> None:
    rng = np.random.default_rng(5)
    monitor = ConsistencyMonitor(ROWS, ConsistencyConfig(memory=50))
    monitor.add("gyroscope", 10.0 * rng.normal(size=(500, 3)))
    assert monitor.verdict("gyroscope") is Verdict.INCONSISTENT
    monitor.add("gyroscope", rng.normal(size=(50, 3)))
    assert monitor.verdict("gyroscope") is Verdict.CONSISTENT


@pytest.mark.parametrize(("name", "shape"), [("gyro", (2, 3)), ("gyroscope", (2, 4))])
def test_unknown_sensor_or_wrong_length(name: str, shape: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=f"no sensor '{name}' with residuals of shape"):
        ConsistencyMonitor(ROWS).add(name, np.zeros(shape))
