# SPDX-License-Identifier: Apache-2.0
"""Verdicts on the parameters of a body: told by the data, or not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.legged_log import LeggedLog, simulate

from sysid_nodes.data.inertia import log_cholesky_jacobian, log_cholesky_to_parameters
from sysid_nodes.results.prime import BodyEstimate, PrimeEstimate
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.systems.prime import PrimeConfig, build_model, estimate_motion
from sysid_nodes.systems.prime.config import InertiaConfig
from sysid_nodes.systems.prime.estimate import inertia_covariance
from sysid_nodes.systems.prime.observability import observed_parameters

LEVEL = np.array([[0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0] + [0.0] * 12])


@pytest.fixture(scope="module")
def log() -> LeggedLog:
    """A Go2 that turns on its feet, with 3 kg that nobody knows of."""
    return simulate(LeggedSimulationConfig(load=LoadConfig(mass=3.0)), 1.5, seed=1, skip=0.6)


def solve(log: LeggedLog, gain: float = 1.0, *, torques: bool = True) -> PrimeEstimate:
    samples = dict(log.steps.samples)
    told = samples.pop("joint_torque")
    if torques:
        samples["joint_torque"] = replace(told, values=gain * told.values)
    return estimate_motion(build_model(log.robot, PrimeConfig()), log.steps.times, samples)


@pytest.mark.parametrize("gain", [1.0, 1.05])
def test_drives_that_are_not_what_they_say_are_in_the_sigma(log: LeggedLog, gain: float) -> None:
    """With drives taken at their word, 5 % of gain was 60 sigma of the mass."""
    body = solve(log, gain).bodies[0]
    assert abs(body.mass - log.truth.theta[0]) < 3.0 * body.mass_sigma < 0.2 * body.mass
    assert body.observed[0]


def test_without_torques_no_mass_and_no_force_is_observed(log: LeggedLog) -> None:
    found = solve(log, torques=False)
    (body,) = found.bodies
    assert not body.observed.any()
    assert not body.com_observed.any()
    assert body.unobserved[0] == "m"
    assert np.isnan(found.contacts.force).all() and np.isnan(found.contacts.force_sigma).all()
    assert np.mean(found.contacts.on_ground[1:-1] == (log.force[1:-1, :, 2] > 2.0)) > 0.9, "which feet bear is told"


@pytest.mark.parametrize(
    ("turned", "lost"),
    [
        ((1.0, 1.0, 1.0), ()),
        ((0.0, 0.0, 1.0), ("cz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz")),
        ((0.0, 1.0, 0.0), ("Ixx", "Ixy", "Ixz", "Iyz", "Izz")),
        ((1.0, 0.0, 1.0), ("Ixy", "Iyy", "Iyz")),
        ((0.0, 0.0, 0.0), ("cz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")),
    ],
)
def test_a_body_that_does_not_turn_shows_no_inertia(
    log: LeggedLog, turned: tuple[float, ...], lost: tuple[str, ...]
) -> None:
    config = PrimeConfig()
    parameters = build_model(log.robot, config).parameters
    nominal = parameters.nominal[0]
    body = BodyEstimate("base", nominal, 1e-12 * np.eye(10), nominal)
    seen = observed_parameters(
        parameters, config.inertia, parameters.mean, 0, body, np.array(turned), LEVEL, loaded=True
    )
    assert replace(body, observed=seen[0], com_observed=seen[1]).unobserved == lost


def test_what_is_only_the_prior_is_not_observed(log: LeggedLog) -> None:
    config = PrimeConfig()
    parameters = build_model(log.robot, config).parameters
    slope = parameters.inertia_jacobian(parameters.mean)[0] * parameters.sigma[parameters.columns(0)]
    body = BodyEstimate("base", parameters.nominal[0], slope @ slope.T, parameters.nominal[0])
    seen = observed_parameters(parameters, config.inertia, parameters.mean, 0, body, np.ones(3), LEVEL, loaded=True)
    assert not seen[0].any()


@pytest.mark.parametrize("index", [0, 4, 6, 9])
def test_what_three_sigmas_let_be_negative_though_it_cannot_is_not_observed(log: LeggedLog, index: int) -> None:
    config = PrimeConfig(inertia=InertiaConfig(observed=1e6))
    parameters = build_model(log.robot, config).parameters
    nominal = parameters.nominal[0]
    for share, expected in ((0.33, True), (0.34, False)):
        covariance = 1e-12 * np.eye(10)
        covariance[index, index] = (share * nominal[index]) ** 2
        body = BodyEstimate("base", nominal, covariance, nominal)
        seen = observed_parameters(parameters, config.inertia, parameters.mean, 0, body, np.ones(3), LEVEL, loaded=True)
        assert seen[0][index] == expected


def test_an_inertia_that_is_hardly_observed_has_a_tail() -> None:
    """Against 3000 draws: where logarithms are good to a quarter, Izz errs by 1.3 times what its slope says.

    Mass and first moments, which are known well, keep theirs to a per cent.
    """
    eta = np.array([1.2, -2.5, -2.4, -2.2, 0.0, 0.0, 0.0, 0.01, 0.01, 0.14])
    covariance = np.diag([0.02, 0.25, 0.25, 0.1, 0.02, 0.02, 0.02, 0.005, 0.005, 0.005]) ** 2
    draws = eta + np.random.default_rng(1).normal(size=(3000, 10)) * np.sqrt(np.diag(covariance))
    errors = np.array([log_cholesky_to_parameters(draw) for draw in draws]) - log_cholesky_to_parameters(eta)
    slope = log_cholesky_jacobian(eta)
    found = np.sqrt(np.diag(inertia_covariance(eta, slope, covariance)))
    np.testing.assert_allclose(found, np.sqrt(np.mean(errors**2, axis=0)), rtol=0.12)
    linear = np.sqrt(np.diag(slope @ covariance @ slope.T))
    assert found[9] > 1.2 * linear[9]
    np.testing.assert_allclose(found[:4], linear[:4], rtol=0.01)
