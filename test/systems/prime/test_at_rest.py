# SPDX-License-Identifier: Apache-2.0
"""What a robot that stands still tells, and what it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shared.legged_log import simulate

from sysid_nodes.models.discrete_motion import difference
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.rollouts.legged_model import GroundConfig
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.solvers.trajectory_least_squares import GaussianPrior
from sysid_nodes.systems.prime import (
    HorizonConfig,
    MovingHorizon,
    PrimeConfig,
    build_model,
    estimate_motion,
    full_information,
    moving_horizon,
)
from sysid_nodes.systems.prime.at_rest import base_rests, forget_untold, is_at_rest, open_covariance
from sysid_nodes.systems.prime.carried import Carried
from sysid_nodes.systems.prime.problem import Arrival
from sysid_nodes.systems.prime.score import Score
from sysid_nodes.systems.prime.untold_watch import UntoldWatch

_GO2 = simulate(LeggedSimulationConfig(motion="stand"), 0.1, seed=0).robot
_PARAMETERS = build_model(_GO2, PrimeConfig()).parameters


def test_an_arrival_forgets_what_is_untold_and_nothing_else() -> None:
    """What is told if the rest were known, its mean and the noise in it stay; of the rest alone nothing is known."""
    rng = np.random.default_rng(3)
    n, p = 5, _PARAMETERS.count
    count, theta = 2 * n + p, _PARAMETERS.mean
    root, offset = rng.normal(size=(count, count)) + 5.0 * np.eye(count), rng.normal(size=count)
    score = Score(root.T * rng.uniform(0.5, 2.0, count) @ root, root.T @ offset)
    arrival = Arrival(GaussianPrior(root, offset, n, p), np.zeros((2, n + 1)), theta, score, Carried.nothing(count))
    after = forget_untold(_PARAMETERS, arrival)
    slope = np.eye(count)
    slope[-p:, -p:] = _PARAMETERS.linear_jacobian(theta)
    untold = np.concatenate([np.zeros(2 * n, dtype=bool), _PARAMETERS.is_untold_at_rest])
    before, now = root @ slope, after.prior.root @ slope
    first, then = before[:, ~untold], now[:, ~untold]
    # In theta, with the untold at any value h: the same mean of x, information and noise.
    scale = np.linalg.norm(first, axis=0)
    score, after_score = score.change_unknowns(slope), after.score.change_unknowns(slope)
    told = np.ix_(~untold, ~untold)
    pairs = (
        (then.T @ then / scale, first.T @ first / scale),
        (then.T @ now[:, untold], first.T @ before[:, untold]),
        ((then.T @ after.prior.offset)[:, None], (first.T @ offset)[:, None]),
        (after_score.covariance[told] / scale, score.covariance[told] / scale),
        (after_score.pull[~untold, None], score.pull[~untold, None]),
    )
    for found, wanted in pairs:  # of columns of length one: rounding of two factorisations
        np.testing.assert_allclose(found / scale[:, None], wanted / scale[:, None], rtol=1e-6, atol=1e-6)
    assert np.linalg.matrix_rank(now) == np.count_nonzero(~untold)


def test_covariances_have_the_prior_of_what_was_held() -> None:
    """Of the untold the prior's; of the others, were they known, what it was."""
    rng = np.random.default_rng(4)
    untold = _PARAMETERS.is_untold_at_rest
    root = rng.normal(size=(_PARAMETERS.count,) * 2)
    covariance = root @ root.T * np.outer(_PARAMETERS.sigma, _PARAMETERS.sigma)
    opened = open_covariance(_PARAMETERS, covariance)
    prior = np.diag(_PARAMETERS.sigma[untold] ** 2)
    np.testing.assert_allclose(opened[np.ix_(untold, untold)], prior, rtol=1e-6, atol=1e-6 * prior.max())

    def given(c: np.ndarray) -> np.ndarray:
        cross = c[np.ix_(~untold, untold)]
        left = c[np.ix_(~untold, ~untold)] - cross @ np.linalg.solve(c[np.ix_(untold, untold)], cross.T)
        return left / np.outer(_PARAMETERS.sigma[~untold], _PARAMETERS.sigma[~untold])

    np.testing.assert_allclose(given(opened), given(covariance), rtol=1e-5, atol=1e-5)


def _known_share(horizon: MovingHorizon) -> np.ndarray:
    """(p,) standard deviations of what is kept of the constants, over the prior's."""
    theta, arrival = horizon.knowledge.theta, horizon.knowledge.arrival
    assert arrival is not None
    root = arrival.prior.root[:, -len(theta) :] @ _PARAMETERS.linear_jacobian(theta) * _PARAMETERS.sigma
    return np.asarray(np.sqrt(np.diag(np.linalg.inv(root.T @ root + np.eye(len(theta))))))


@pytest.mark.parametrize("whole", [True, False], ids=["log", "horizon"])
def test_a_stand_of_feet_and_joints_that_are_not_as_described(whole: bool) -> None:
    """Attitude, mass and centre of mass within three sigmas, and the arrival goes on agreeing with the window.

    Were feet and encoders held at their prior's means, roll and pitch would be 5 to 13 sigma off and the arrival's
    residual grow to 3. How high the mass is, drives and links keep their priors: on a slope a height that noise told
    put the centre 5 sigma off.
    """
    config = LeggedSimulationConfig(motion="stand", load=LoadConfig(mass=3.0), ground=GroundConfig(friction=0.7))
    log = simulate(config, 2.0, seed=5, skip=1.0)
    rng = np.random.default_rng(6)
    contacts = (replace(c, position=c.position + 2e-3 * rng.choice([-1.0, 1.0], 3)) for c in log.robot.contacts)
    offset = rng.uniform(-0.02, 0.02, log.robot.n)
    samples = dict(log.steps.samples)
    joints = samples["joint_position"]
    samples["joint_position"] = replace(joints, values=joints.values + offset)
    model = build_model(replace(log.robot, contacts=tuple(contacts)), PrimeConfig())
    found: PrimeEstimate | None = None
    if whole:
        found = estimate_motion(model, log.steps.times, samples)
    else:
        horizon = MovingHorizon(model, HorizonConfig())
        for k in range(0, len(log.steps), 4):
            now = {name: entry.between(k, k + 4) for name, entry in samples.items()}
            horizon.push(AlignedSteps(0, k, log.steps.times[k : k + 4], now))
            found = horizon.step() or found
        assert found is not None and found.fit["arrival"].rms < 1.5
        horizon.restart()
        kept = _known_share(horizon)[model.parameters.is_untold_at_rest]
        assert np.all(kept > 0.5)  # the others' priors tell a little: 0.61 at least, 0.24 were it not forgotten
    assert found is not None
    truth = log.q[np.searchsorted(log.steps.times, found.t - 1e-6)]
    tilt = difference(truth, found.q)[2:-2, 3:5].mean(axis=0)
    sigma = np.sqrt(np.diagonal(found.q_covariance, axis1=1, axis2=2)[-3, 3:5])
    assert np.all(np.abs(tilt) < 3.0 * sigma)
    body = found.bodies[0]
    true = log.truth.parameters[log.robot.body_index(body.link)]
    error = body.com - true[1:4] / true[0]
    assert np.all(np.abs(error[:2]) < 3.0 * body.com_sigma[:2]) and not body.com_observed[2]
    assert abs(body.mass - true[0]) < 3.0 * body.mass_sigma
    untold = model.parameters.is_untold_at_rest
    sigmas = np.sqrt(np.diag(found.parameter_covariance))
    np.testing.assert_allclose(sigmas[untold], model.parameters.sigma[untold], rtol=1e-6)  # of a linear solve


def test_arms_that_wave_are_no_rest_and_name_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A G1 whose base does not turn: constants are free, as its arms tell of them, in either mode.

    Held at their priors they contradicted the motion. What is left out is not looked for: a gyroscope that reads next
    to nothing was named for a scale of 0.6.
    """
    log = simulate(LeggedSimulationConfig(robot="g1", motion="stand"), 0.8, seed=8, skip=1.0)
    config = PrimeConfig()
    assert base_rests(log.steps.samples, config)
    assert not is_at_rest(log.steps.samples, config)
    looked: list[bool] = []
    effects = UntoldWatch.effects

    def spy(watch: UntoldWatch, *args: Any, fits: bool) -> Any:
        looked.append(fits)
        return effects(watch, *args, fits=fits)

    monkeypatch.setattr(UntoldWatch, "effects", spy)
    monkeypatch.setattr(full_information, "untold_effect", lambda *_: pytest.fail("looked for"))
    model = build_model(log.robot, config)
    horizon = MovingHorizon(model, HorizonConfig())
    for k in range(0, len(log.steps), 8):
        if k > 0.7 * len(log.steps):  # arms that come to rest are known by how they moved
            monkeypatch.setattr(moving_horizon, "is_at_rest", lambda *_: True)
        now = {name: entry.between(k, k + 8) for name, entry in log.steps.samples.items()}
        horizon.push(AlignedSteps(0, k, log.steps.times[k : k + 8], now))
        horizon.step()
    assert looked and not any(looked)
    assert not horizon._rests
    whole = estimate_motion(model, log.steps.times, log.steps.samples)
    held = model.parameters.is_untold_at_rest
    sigmas = np.sqrt(np.diag(whole.parameter_covariance))
    assert (sigmas[held] < 0.99 * model.parameters.sigma[held]).any()
    still = simulate(LeggedSimulationConfig(motion="stand"), 0.8, seed=8, skip=1.0)
    assert is_at_rest(still.steps.samples, config)
