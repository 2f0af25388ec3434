# SPDX-License-Identifier: Apache-2.0
"""Constants of logs whose errors last, against the exact posterior and on logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import bayesian_coverage
from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_run
from benchmarks.bayesian_real_arms import gen3_arm, gen3_run
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.systems.bayesian import identify
from sysid_nodes.systems.bayesian.config import InertiaPriorConfig, SearchConfig, VerdictConfig
from sysid_nodes.systems.bayesian.correlated_errors import estimate_with_correlated_errors
from sysid_nodes.systems.bayesian.estimate import LogInformation
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.parameters import Parameters

QUICK = replace(CONFIG, step=0.02, held_out=0.0, search=SearchConfig(starts=1), verdict=VerdictConfig(samples=500))
KEEPS = 0.95


def friction_alone() -> Parameters:
    """Constants in which torques are linear, without bounds."""
    own = build_mechanism(leg(), replace(QUICK, inertia=InertiaPriorConfig(bodies="none")), power=False).parameters
    return replace(own, lower=np.full_like(own.lower, -np.inf))


@pytest.mark.parametrize("rank", [2, 100])
def test_constants_are_those_of_the_exact_posterior(rank: int) -> None:
    """Of theta given the gradient s of covariance H + G, by conditioning; H may be singular."""
    own, rng = friction_alone(), np.random.default_rng(0)
    sigma = own.sigma[own.free]
    p = len(sigma)
    root = 3.0 * rng.standard_normal((min(rank, p), p)) / sigma
    half = rng.standard_normal((p, p)) @ root.T @ root  # errors that last turn up where the log tells something
    truth, lasting = own.mean[own.free] + sigma * rng.standard_normal(p), 0.1 * half.T @ half
    told = LogInformation(root, root @ truth + rng.standard_normal(len(root)))
    found = estimate_with_correlated_errors(own, told, lasting, own.mean)
    assert found is not None
    gain, prior = root.T @ root, np.diag(sigma**2)
    score = root.T @ told.target - gain @ own.mean[own.free]
    back = prior @ gain @ np.linalg.pinv(gain @ prior @ gain + gain + lasting, rcond=1e-11, hermitian=True)
    # The pseudo-inverse of a matrix of condition 1e7 and more leaves half of the digits.
    np.testing.assert_allclose((found[0] - own.mean)[own.free] / sigma, back @ score / sigma, atol=1e-5)
    np.testing.assert_allclose(
        found[1].covariance / np.outer(sigma, sigma), (prior - back @ gain @ prior) / np.outer(sigma, sigma), atol=1e-5
    )


def test_errors_that_last_do_not_count_as_many() -> None:
    """Nothing that a leg's torques tell little of may get wider than its prior, and the truth stays within reach."""
    truth, record = leg_run(11, 3.0)
    log, rng = leg_log(record, 0.02, power=False), np.random.default_rng(0)
    error = rng.standard_normal(log.torque.shape)
    for k in range(1, len(error)):
        error[k] = KEEPS * error[k - 1] + np.sqrt(1.0 - KEEPS**2) * error[k]
    result = identify(replace(log, torque=log.torque + 0.5 * error), leg(), QUICK)
    assert result.status.trusted and any("errors of the model last" in text for text in result.findings)
    own = build_mechanism(leg(), QUICK, power=False).parameters
    wider = np.sqrt(np.diag(result.covariance)) / own.sigma[own.free]
    assert wider.max() < 1.0 + 1e-9, "the weighing adds information and takes none away"
    values = truth.values()
    far = [abs(row.mean - values[row.name]) / row.sigma for row in result.parameters if row.name in values]
    assert np.mean(np.array(far) < 2.5) > 0.9


@pytest.mark.real_data
@pytest.mark.slow
def test_a_short_log_of_a_real_arm_does_not_contradict_its_description(shared_data: Path) -> None:
    """10 s of a Gen3 whose wrist errs the same way for a second: its moments were up to 13 prior sigmas off."""
    arm = gen3_arm()
    result = arm.identify([gen3_run(arm.robot, shared_data / "kinova_gen3_real", 2)])
    assert result.status is BayesianStatus.FOUND
    assert max(abs(row.mean - row.prior_mean) / row.prior_sigma for row in result.parameters) < 3.0


def test_a_long_valley_is_followed_to_its_end() -> None:
    """Of this leg 340 iterations lead to the constants; of a search that ended after 200 nothing was claimed."""
    assert bayesian_coverage.trial(523, "torque and power", 4.0)["status"] == "FOUND"
