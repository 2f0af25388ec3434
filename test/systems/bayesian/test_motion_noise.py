# SPDX-License-Identifier: Apache-2.0
"""Logs whose motion is hardly larger than the noise of their positions: nothing false is told of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from shared.quick_and_slow import mark_slow

from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_of, leg_record, prior_constants
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import linear_model
from sysid_nodes.solvers.trajectory_least_squares.parameter_posterior import ParameterPosterior
from sysid_nodes.systems.bayesian import MechanismLog, identify
from sysid_nodes.systems.bayesian.config import SearchConfig, VerdictConfig
from sysid_nodes.systems.bayesian.descent import fit
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.motion_noise import counted_noise

Array = npt.NDArray[np.float64]

OWN = replace(CONFIG, held_out=0.0, search=SearchConfig(starts=1), verdict=VerdictConfig(samples=500))
ROTOR = "crank_motor.armature"


def drawn(seed: int, seconds: float) -> tuple[float, MechanismLog]:
    """The true rotor of a leg of the prior that begins softly, and the first of its readings."""
    mechanism = build_mechanism(leg(), OWN, power=True)
    x = prior_constants(mechanism, np.random.default_rng([seed, 1]))
    record = leg_record(leg_of(mechanism, x), seconds, np.random.default_rng([seed, 3]))
    joint = mechanism.parameters.joints.index("crank_motor")
    return float(mechanism.parameters.constants(x, "armature")[joint]), leg_log(record, OWN.step)


@pytest.mark.parametrize("seed", mark_slow([7, 11], but=[11]))
def test_noise_does_not_tell_a_rotor(seed: int) -> None:
    """It was told 32 and 10 sigmas too small: linearised where there is none, and with all that noise seems to tell."""
    truth, log = drawn(seed, 0.5)
    result = identify(log, leg(), OWN)
    assert result.status is BayesianStatus.FOUND
    (row,) = (row for row in result.parameters if row.name == ROTOR)
    assert abs(row.mean - truth) < 3.0 * row.sigma


def test_noise_counts_where_there_is_hardly_any_motion() -> None:
    """Of a rotor's information without all else, an eighth at the very beginning, and nearly none later."""
    shares = []
    for seconds in (0.3, 2.0):
        _, log = drawn(1, seconds)
        fitted = fit(build_mechanism(leg(), OWN, power=True), log, OWN, None)
        problem, at = fitted.problem, fitted.found.best.point
        own, model = problem.mechanism.parameters, linear_model(problem, at)
        assert model.factor is not None
        k = np.flatnonzero(own.free == own.joint("armature").start + own.joints.index("crank_motor"))[0]
        told = (model.factor.corner @ model.factor.corner.T)[k, k] - own.prior_information[k, k]
        shares.append(counted_noise(problem, at, model)[k, k] / told)
    assert shares[0] > 0.05
    assert 0.0 <= shares[1] < 0.005


def test_the_mean_of_a_posterior_at_a_bound_is_off_it() -> None:
    """Half a normal distribution, of mean sqrt(2 / pi); what is correlated goes with it."""
    covariance = np.array([[1.0, 0.5], [0.5, 2.0]])
    posterior = ParameterPosterior(np.zeros(2), covariance, np.array([0.0, -np.inf]), np.full(2, np.inf))
    mean = posterior.expectation(4000, np.random.default_rng(0))
    assert mean[0] == pytest.approx(np.sqrt(2.0 / np.pi), abs=4.0 * 0.6 / np.sqrt(4000))  # 0.6: of its deviation
    assert mean[1] == pytest.approx(0.5 * mean[0], rel=1e-9)
