# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.oscillator import TRUTH, Oscillator, measurement

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.results.least_squares import SolveStatus
from sysid_nodes.solvers.shooting import Gaussian, Rollout, ShootingConfig, block_jackknife, shoot
from sysid_nodes.solvers.shooting.problem import segments

WIDE = np.array([0.1, 0.0]), np.array([1000.0, 30.0])
CONFIG = ShootingConfig(horizons=(8, 40, 200))
SIGMA = 0.01


def problem(seed: int = 0, samples: int = 400) -> Oscillator:
    return Oscillator(measurement(samples, SIGMA, np.random.default_rng(seed)), SIGMA)


@pytest.mark.parametrize("guess", [[1.0, 0.0], [100.0, 10.0], [0.1, 30.0]])
def test_the_truth_is_recovered_from_far_and_from_bounds(guess: list[float]) -> None:
    found = shoot(problem(), np.array(guess), *WIDE, CONFIG)
    assert found.status.converged
    sigma = block_jackknife(found.equations, found.free, 20).sigma
    assert (np.abs(found.parameters - TRUTH) < 4.0 * sigma).all()
    assert sigma[0] < 0.02 * TRUTH[0]


def test_a_rollouts_own_derivatives_are_right() -> None:
    """The checks above rest on them."""
    own, first = problem(samples=60), np.array([0, 25])
    start, p, e = np.array([[0.1, 0.2], [-0.3, 0.1]]), np.array([7.0, 1.0]), 1e-6
    found = own.rollout(p, first, start)
    for k in range(2):
        change = e * np.eye(2)[k]
        by_p = (own.rollout(p + change, first, start).residual - own.rollout(p - change, first, start).residual) / 2e-6
        by_s = (own.rollout(p, first, start + change).residual - own.rollout(p, first, start - change).residual) / 2e-6
        np.testing.assert_allclose(found.by_parameters[..., k], by_p, atol=1e-5)
        np.testing.assert_allclose(found.by_start[..., k], by_s, atol=1e-5)


def test_a_parameter_stays_at_a_bound_that_the_data_push_it_against() -> None:
    found = shoot(problem(), np.array([5.0, 2.0]), np.array([0.1, 1.5]), WIDE[1], CONFIG)
    assert found.status.converged
    assert found.parameters[1] == 1.5
    assert found.lower.tolist() == [False, True]
    assert not found.upper.any()
    # The other one is at its best given that: its gradient vanishes to the tolerance.
    gradient, hessian = found.equations.reduced_gradient, found.equations.reduced_hessian
    misfit = np.sqrt(np.mean(found.residual**2))
    assert abs(gradient[0]) / np.sqrt(hessian[0, 0]) < 0.1 * misfit


def test_a_prior_pulls_by_its_information() -> None:
    own = problem()
    prior = Gaussian(np.array([0.0, 2.0]), np.array([0.0, 1e8]))
    found = shoot(own, np.array([5.0, 1.0]), *WIDE, CONFIG, prior=prior)
    assert found.parameters[1] == pytest.approx(2.0, abs=0.01)


def test_a_hole_in_the_measurement_is_bridged_by_a_break() -> None:
    own = problem()
    spoilt = own.measured.copy()
    spoilt[150:200] = np.nan
    found = shoot(replace(own, measured=spoilt, breaks=(200,)), np.array([5.0, 1.0]), *WIDE, CONFIG)
    np.testing.assert_allclose(found.parameters, TRUTH, rtol=0.05)


def test_a_robust_loss_bounds_what_outliers_do() -> None:
    own, rng = problem(), np.random.default_rng(7)
    spoilt = own.measured.copy()
    spoilt[rng.choice(400, 20, replace=False)] += 0.5
    plain = shoot(replace(own, measured=spoilt), np.array([5.0, 1.0]), *WIDE, CONFIG)
    robust = shoot(replace(own, measured=spoilt), np.array([5.0, 1.0]), *WIDE, replace(CONFIG, robust=3.0))
    assert abs(robust.parameters - TRUTH).max() < 0.3 * abs(plain.parameters - TRUTH).max()


class Sticking(Oscillator):
    """The first start's velocity is held by a cusp, past which every step of it shoots."""

    def rollout(self, parameters: np.ndarray, first: np.ndarray, start: np.ndarray) -> Rollout:
        found = super().rollout(parameters, first, start)
        residual, by_start = np.zeros((self.samples, 1)), np.zeros((self.samples, 1, 2))
        off = start[0, 1] - 0.3
        residual[0], by_start[0, 0, 1] = 1e3 * abs(off) ** 0.4, 4e2 * abs(off) ** -0.6 * np.sign(off)
        return Rollout(
            np.concatenate([found.residual, residual], axis=1),
            np.concatenate([found.by_parameters, np.zeros((self.samples, 1, 2))], axis=1),
            np.concatenate([found.by_start, by_start], axis=1),
        )


def test_a_start_that_will_not_settle_does_not_keep_the_parameters_from_it() -> None:
    own = problem()
    found = shoot(Sticking(own.measured, own.sigma), np.array([5.0, 1.0]), *WIDE, CONFIG)
    assert found.status.converged
    assert found.iterations < 13  # 15 where the start moves on with the parameters
    np.testing.assert_allclose(found.parameters, TRUTH, rtol=0.05)


def test_what_is_not_finite_at_the_start_is_said() -> None:
    found = shoot(problem(), np.array([1e200, 0.0]), WIDE[0], np.array([np.inf, 50.0]), CONFIG)
    assert found.status is SolveStatus.NOT_FINITE


@pytest.mark.parametrize(
    ("lower", "horizons", "message"),
    [([0.0, 60.0], (8,), "bounds of parameter 1 cross"), ([0.0, 0.0], (), "needs a horizon")],
)
def test_a_question_without_sense_is_refused(lower: list[float], horizons: tuple[int, ...], message: str) -> None:
    with pytest.raises(SamplesError, match=message):
        shoot(problem(), TRUTH, np.array(lower), WIDE[1], ShootingConfig(horizons))


@pytest.mark.parametrize(
    ("samples", "length", "breaks", "first"),
    [
        (10, 4, (), [0, 4]),
        (12, 4, (), [0, 4, 8]),
        (10, 20, (), [0]),
        (20, 4, (7,), [0, 7, 11, 15]),
        (5, 1, (), [0, 1, 2, 3, 4]),
    ],
)
def test_segments_cover_everything_once(samples: int, length: int, breaks: tuple[int, ...], first: list[int]) -> None:
    assert segments(samples, length, breaks).tolist() == first


class Edge:
    """One parameter, best at 1; beyond 0.9 something sticks, and that costs a little."""

    samples, breaks = 3, ()

    def start(self, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((len(first), 1)), np.ones(1)

    def rollout(self, parameters: np.ndarray, _first: np.ndarray, _start: np.ndarray) -> Rollout:
        p, limit = float(parameters[0]), 0.9
        residual = np.array([p - 1.0, 0.105 if p > limit else 0.0, 4.0])
        slopes = np.array([1.0, 0.0, 0.0])
        return Rollout(residual[:, None], slopes[:, None, None], np.zeros((3, 1, 1)))


def test_a_jump_of_the_cost_is_left_upwards() -> None:
    """From 0.9 every step towards the minimum leads up at first, however small it is."""
    found = shoot(Edge(), np.array([0.9]), np.array([0.0]), np.array([2.0]), ShootingConfig((3,), tolerance=1e-6))
    assert found.status.converged
    assert found.parameters[0] == pytest.approx(1.0, abs=1e-3)
