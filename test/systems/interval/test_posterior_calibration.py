# SPDX-License-Identifier: Apache-2.0
"""A posterior as a calibration: what its box and rows hold, and where it excludes a proven one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.bare_arm import UR10_GAIN, bare_arm, unloaded_run
from shared.payload_problem import Problem

from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.results.arm_constants import ArmConstants
from sysid_nodes.systems.interval.calibration_file import Calibration
from sysid_nodes.systems.interval.calibration_runs import Run
from sysid_nodes.systems.interval.posterior_calibration import calibration_of, exclusions, with_estimate

N = 6


@pytest.fixture(scope="module")
def arm() -> Problem:
    return bare_arm(np.random.default_rng(3), UR10_GAIN)


@pytest.fixture(scope="module")
def run(arm: Problem) -> Run:
    return unloaded_run(arm, np.random.default_rng(4), duration=7.0)


def posterior(arm: Problem, errors: float = 0.3) -> ArmConstants:
    """Correlated: some combinations are known a thousand times better than single constants."""
    rng = np.random.default_rng(5)
    truth = np.concatenate([arm.p, np.zeros(N)])
    free = np.flatnonzero(np.arange(16 * N) < 15 * N)
    size = 0.1 * np.maximum(np.abs(truth[free]), 0.1)
    axes = np.linalg.qr(rng.standard_normal((free.size, free.size)))[0]
    root = size[:, None] * axes * np.logspace(-3.0, 0.0, free.size)
    covariance = np.zeros((16 * N, 16 * N))
    covariance[np.ix_(free, free)] = root @ root.T
    mean = truth.copy()
    mean[free] += errors * root @ rng.standard_normal(free.size)
    return ArmConstants(mean, covariance)


@pytest.fixture(scope="module")
def calibration(arm: Problem, run: Run) -> Calibration:
    return calibration_of(arm.robot, UR10_GAIN, [run], posterior(arm))


def test_box_and_rows_hold_the_truth_as_often_as_they_say(arm: Problem, calibration: Calibration) -> None:
    """Draws of the truth from the posterior: all of box and rows together hold 95 % of them, or more."""
    own = posterior(arm)
    draws = np.random.default_rng(6).multivariate_normal(own.mean, own.covariance, 2000, method="eigh")[:, : 15 * N]
    reach = (calibration.upper - own.mean[: 15 * N])[:-N] / own.sigma[: 14 * N]
    np.testing.assert_allclose(reach, reach[0])
    lower = own.mean[: 15 * N] - reach[0] * own.sigma[: 15 * N]  # but what is positive is cut off at zero
    inside = ((draws >= lower) & (draws <= calibration.upper)).all(axis=1)
    inside &= (np.abs(draws @ calibration.rows.T) <= calibration.rows_radius).all(axis=1)
    assert 0.95 <= inside.mean() < 0.999
    assert (calibration.lower[10 * N : 13 * N] >= 0.0).all()
    np.testing.assert_allclose(calibration.rows @ own.mean[: 15 * N], 0.0, atol=1e-9 * np.abs(calibration.rows).max())
    # rows are worth having: on their own the box would let them be several times as wide
    alone = np.abs(calibration.rows) @ (0.5 * (calibration.upper - calibration.lower))
    assert len(calibration.rows) > 50
    assert np.median(calibration.rows_radius / alone) < 0.1


def test_the_belief_is_the_posterior_as_open_as_any_calibration(arm: Problem, calibration: Calibration) -> None:
    """Load friction that nobody asked for is not the payload's."""
    covariance = posterior(arm).covariance
    covariance[15 * N :, 15 * N :] = 0.1**2 * np.eye(N)
    scale = np.sqrt(covariance.diagonal())
    for belief in (calibration.belief, with_estimate(calibration, posterior(arm)).belief):
        information = belief.information * np.outer(scale, scale)
        np.testing.assert_allclose(information @ (covariance / np.outer(scale, scale)), np.eye(16 * N), atol=1e-6)


@pytest.mark.parametrize("part", ["mean", "covariance"])
def test_what_is_not_a_number_is_no_calibration(arm: Problem, run: Run, calibration: Calibration, part: str) -> None:
    own = posterior(arm)
    getattr(own, part)[3] = np.nan
    with pytest.raises(ExcitationError, match="the posterior holds what is not a number"):
        calibration_of(arm.robot, UR10_GAIN, [run], own)
    with pytest.raises(ExcitationError, match="the posterior holds what is not a number"):
        with_estimate(calibration, own)


def test_a_lapack_that_does_not_converge_is_none_of_the_users_business(
    arm: Problem, run: Run, calibration: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np.linalg, "eigh", fail)
    again = calibration_of(arm.robot, UR10_GAIN, [run], posterior(arm))
    scale = np.sqrt(np.outer(*2 * [calibration.belief.information.diagonal()]))
    np.testing.assert_allclose(again.belief.information / scale, calibration.belief.information / scale, atol=1e-6)
    assert len(again.rows) == len(calibration.rows)


def fail(_: object) -> None:
    raise np.linalg.LinAlgError("Eigenvalues did not converge")


def test_the_torque_bound_holds_every_window(arm: Problem, run: Run, calibration: Calibration) -> None:
    """A posterior that is further off leaves more over, and the bound says so."""
    worse = calibration_of(arm.robot, UR10_GAIN, [run], posterior(arm, errors=3.0))
    assert (worse.torque_absolute > calibration.torque_absolute).all()
    assert (calibration.torque_absolute > 0.0).all()


def test_methods_that_agree_exclude_nothing(arm: Problem, calibration: Calibration) -> None:
    assert exclusions(calibration, posterior(arm)) == []
    both = with_estimate(calibration, posterior(arm, errors=0.0))
    np.testing.assert_array_equal(both.lower, calibration.lower)
    np.testing.assert_array_equal(both.rows_radius, calibration.rows_radius)
    assert ((both.lower <= both.estimate) & (both.estimate <= both.upper)).all()
    np.testing.assert_array_equal(both.belief.point[: 15 * N], arm.p)


def test_a_constant_that_is_excluded_is_named_with_both_intervals(arm: Problem, calibration: Calibration) -> None:
    apart = replace(calibration, rows=calibration.rows[:0], rows_radius=calibration.rows_radius[:0])
    k = 11 * N + 2
    lower, upper = apart.lower.copy(), apart.upper.copy()
    lower[k], upper[k] = arm.p[k] + 30.0, arm.p[k] + 31.0
    (found,) = exclusions(replace(apart, lower=lower, upper=upper), posterior(arm))
    assert found.name == "viscous friction of elbow_joint"
    ends = f"[{found.posterior[0]:.4g}, {found.posterior[1]:.4g}]"
    assert str(found).endswith(
        f": the data leave [{lower[k]:.4g}, {upper[k]:.4g}] N m s/rad, the posterior {ends} N m s/rad"
    )


def test_combinations_exclude_each_other_where_no_constant_does(arm: Problem, calibration: Calibration) -> None:
    own = posterior(arm)
    direction = np.zeros(16 * N)
    direction[: 15 * N] = calibration.rows[0]
    direction[14 * N :] = 0.0
    step = 40.0 * calibration.rows_radius[0] / (calibration.rows[0] @ direction[: 15 * N])
    moved = ArmConstants(own.mean + step * direction, own.covariance)
    box = replace(calibration, lower=calibration.lower - 1e3, upper=calibration.upper + 1e3)
    found = exclusions(box, moved)
    assert len(found) == 1
    assert "momentum" in found[0].name
