# SPDX-License-Identifier: Apache-2.0
"""Covariances follow the noise that there is, not the one that was stated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from shared.legged_log import LeggedLog, simulate, simulated_config

from sysid_nodes.results.least_squares import SolveResult
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.signals.samples import Samples
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.solvers.trajectory_least_squares import Blocks, Posterior, assemble
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.influence import leverages
from sysid_nodes.solvers.trajectory_least_squares.posterior import covariances
from sysid_nodes.solvers.trajectory_least_squares.variance_components import correlation_time
from sysid_nodes.systems.prime import PrimeConfig, build_model, log_weights, noise_variances, observed_noise
from sysid_nodes.systems.prime.estimate import motion_estimate
from sysid_nodes.systems.prime.full_information import estimate_motion, solve_by_continuation
from sysid_nodes.systems.prime.initialisation import initial_configurations
from sysid_nodes.systems.prime.log_weights import weigh_readings
from sysid_nodes.systems.prime.noise_variances import ObservedVariances, near_contact_change, observed_variances
from sysid_nodes.systems.prime.observed_noise import noisy_covariance, observed_covariances
from sysid_nodes.systems.prime.problem import PrimeProblem, build_problem, first_arrival
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Trot:
    """A solved log of 0.8 s."""

    log: LeggedLog
    solved: SolveResult[Trajectory]

    def problem(self, config: PrimeConfig) -> PrimeProblem:
        model, steps = build_model(self.log.robot, config), self.log.steps
        q = initial_configurations(model, steps.samples, len(steps.times))
        return build_problem(model, steps.samples, len(steps.times), first_arrival(model, q[0]))

    def covariances(self, config: PrimeConfig) -> Posterior:
        problem = self.problem(config)
        found = observed_covariances(problem, problem.linearise(self.solved.point), self.solved.point)
        assert found is not None
        return found

    def residuals(self) -> tuple[PrimeProblem, Sequence[Blocks], list[Array], BoolArray]:
        """The problem, its blocks and their leverages at the solution, and which stages are about a change."""
        problem = self.problem(simulated_config())
        blocks = problem.linearise(self.solved.point)
        factor = factorise(assemble(blocks, problem.layout), 0.0)
        assert factor is not None
        found = covariances(factor)
        assert found is not None
        return problem, blocks, leverages(blocks, factor, found), near_contact_change(problem, self.solved.point)

    def estimate(self) -> PrimeEstimate:
        config, point = simulated_config(), self.solved.point
        problem, times = self.problem(config), self.log.steps.times
        residuals, found = problem.residuals(point), self.covariances(config)
        return motion_estimate(problem, self.solved, residuals, found, times, iterations=1, solve_time=0.0)


@pytest.fixture(scope="module")
def trot() -> Trot:
    log = simulate(LeggedSimulationConfig(motion="trot", load=LoadConfig(mass=2.0)), 0.8, seed=4, skip=1.0)
    model = build_model(log.robot, simulated_config())
    q = initial_configurations(model, log.steps.samples, len(log.steps.times))
    problem = build_problem(model, log.steps.samples, len(log.steps.times), first_arrival(model, q[0]))
    return Trot(log, solve_by_continuation(problem, q, model.parameters.mean)[1])


def stated(share: float) -> PrimeConfig:
    """Encoders and motion capture with so much times their noise."""
    config = simulated_config()
    sensors = config.sensors
    encoders = replace(sensors.joint_position, sigma=share * sensors.joint_position.sigma)
    mocap = replace(sensors.mocap_pose, position_sigma=share * sensors.mocap_pose.position_sigma)
    return replace(config, sensors=replace(sensors, joint_position=encoders, mocap_pose=mocap))


def test_sigmas_do_not_follow_what_is_stated(trot: Trot) -> None:
    """Noise stated at 0.7 of what it is weighs the encoders more, but does not make them better.

    By the stated noise the sigmas of joints and place would be nearly those times 0.7. Other weights make a slightly
    worse estimator, so that equality is to a tenth.
    """
    right, wrong = trot.covariances(stated(1.0)), trot.covariances(stated(0.7))
    inner = slice(3, -3)

    def sigma(found: Posterior, columns: slice) -> float:
        variances = np.diagonal(found.stage[inner], axis1=1, axis2=2)[:, columns]
        return float(np.sqrt(variances.mean()))

    assert sigma(wrong, slice(6, None)) == pytest.approx(sigma(right, slice(6, None)), rel=0.1)
    assert sigma(wrong, slice(0, 3)) == pytest.approx(sigma(right, slice(0, 3)), rel=0.1)


def test_noise_in_common_with_neighbours_moves_the_base(trot: Trot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place integrates accelerations twice: it errs by more than by noise of each stage alone.

    In walks of 4 s by 7 % along the ground and 15 % in height; in the 0.8 s here poses alone know it nearly as well.
    """
    model, steps = build_model(trot.log.robot, PrimeConfig()), trot.log.steps
    found = estimate_motion(model, steps.times, steps.samples)
    monkeypatch.setattr(observed_noise, "TRIANGLE", 0.0)
    alone = estimate_motion(model, steps.times, steps.samples)
    middle = len(found.q) // 2
    more = np.sqrt(np.diag(found.q_covariance[middle]) / np.diag(alone.q_covariance[middle]))
    assert 1.02 < more[2] < 1.25
    assert np.all(more > 1.0 - 1e-9)


def test_truth_is_within_what_is_claimed(trot: Trot) -> None:
    """The benchmark has the figures, from 50 runs; here a blunder shows: the joints are 800 nearly normal errors."""
    found, log = trot.estimate(), trot.log
    inner = slice(3, -3)
    sigma = np.sqrt(np.diagonal(found.q_covariance[inner, 6:, 6:], axis1=1, axis2=2))
    z = (found.q[inner, 7:] - log.q[inner, 7:]) / sigma
    assert 0.6 < np.mean(np.abs(z) < 1.0) < 0.76
    velocity = (log.q[4:-2, 7:] - log.q[2:-4, 7:]) / (2.0 * simulated_config().step)
    spread = np.sqrt(np.diagonal(found.v_covariance[inner, 6:, 6:], axis1=1, axis2=2))
    z = (found.v[inner, 6:] - velocity) / spread
    assert 0.55 < np.mean(np.abs(z) < 1.0) < 0.8
    (body,) = found.bodies
    assert np.all(np.linalg.eigvalsh(body.covariance) > 0.0)
    assert np.all(np.abs(body.parameters - log.truth.theta) < 5.0 * np.sqrt(np.diag(body.covariance)))


@pytest.mark.parametrize(
    ("sensor", "true", "times"),
    [
        ("gyroscope", 0.01, 3.0),
        ("joint_position", 1e-3, 3.0),
        ("accelerometer", 0.1, 3.0),
        ("joint_velocity", 0.05, 1.0),
        ("gyroscope", 0.01, 0.3),
    ],
)
def test_readings_are_weighed_by_the_noise_that_they_show(trot: Trot, sensor: str, true: float, times: float) -> None:
    """A sigma stated too large is found to a fourth or so, which the simulation knows; one too small stays.

    Differences of the accelerometer's means over triangles have three quarters of the variance, and the base's
    disturbances, of which there are none, take another part of it.
    """
    config = simulated_config()
    own = replace(getattr(config.sensors, sensor), sigma=times * true)
    problem = trot.problem(replace(config, sensors=replace(config.sensors, **{sensor: own})))
    weighed, _ = weigh_readings(problem, trot.solved.point)
    k = problem.groups.index(sensor) - 2
    factor = weighed.readings[k].samples.weights / problem.readings[k].samples.weights
    assert np.ptp(factor) < 1e-9
    found = float(times * true / factor[0])
    assert found == pytest.approx(true * min(times, 1.0), rel=0.3 if times >= 1.0 else 1e-9)


@pytest.mark.parametrize("times", [1.0, 30.0])
def test_base_is_weighed_by_the_disturbances_that_it_shows(trot: Trot, times: float) -> None:
    """The simulated robot is rigid: nothing disturbs it. What is stated larger is taken for less, by each row's own.

    A force from outside is an unknown of its own and stays as stated.
    """
    config = simulated_config()
    own = replace(config.process, force=times * config.process.force, moment=times * config.process.moment)
    for asked in (False, True):
        process = replace(own, outside_force=1.0, outside_moment=0.1) if asked else own
        problem = trot.problem(replace(config, process=process))
        weighed, _ = weigh_readings(problem, trot.solved.point)
        factor = weighed.inner.dynamics.scale[:, :6] / problem.inner.dynamics.scale[:, :6]
        np.testing.assert_allclose(factor, np.broadcast_to(weighed.weights["dynamics"][:6], factor.shape), rtol=1e-12)
        assert np.all(factor == 1.0) if asked else np.all(factor > 1.1)


def test_weights_are_those_of_the_residuals_that_they_lead_to(trot: Trot, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rounds change no weight by more than 8 %; after the first, one is 14 % off.

    Rows that the motion follows leave little in their residuals, of the waist of a G1 a twentieth: its torque's
    variance was taken for three times what it is, and moments of inertia came out too small by as much as they paid.
    """
    problem, factors = trot.problem(simulated_config()), []
    for rounds in (log_weights.ROUNDS, 8, 1):
        monkeypatch.setattr(log_weights, "ROUNDS", rounds)
        factors.append(weigh_readings(problem, trot.solved.point)[0].weights["dynamics"])
    chosen, last, first = factors
    np.testing.assert_allclose(chosen, last, rtol=0.08)
    assert np.abs(first / last - 1.0).max() > 0.1


def test_sections_give_a_long_logs_weights_but_for_the_last_round(trot: Trot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds by part of the stages and one by all are nearer to where rounds lead than one round by all is.

    A third as far off, root mean square: the log of 100 stages is shorter than any that is cut.
    """
    problem, found = trot.problem(simulated_config()), []
    for rounds, period in ((8, 10**6), (1, 10**6), (3, 49)):
        monkeypatch.setattr(log_weights, "ROUNDS", rounds)
        monkeypatch.setattr(log_weights, "_PERIOD", period)
        monkeypatch.setattr(log_weights, "_SECTION", 30)
        found.append(np.log(weigh_readings(problem, trot.solved.point)[0].weights["dynamics"]))
    many, once, by_sections = found
    assert 0.0 < np.linalg.norm(by_sections - many) < 0.5 * np.linalg.norm(once - many)


def test_stages_without_torques_tell_nothing_of_their_noise(trot: Trot) -> None:
    """Of four stages one has torques: they count as much as where all have, and their variance is as large."""
    model, steps, point = build_model(trot.log.robot, simulated_config()), trot.log.steps, trot.solved.point
    torques = steps.samples["joint_torque"]
    sizes = []
    for samples in (steps.samples, {**steps.samples, "joint_torque": thinned(torques, 4)}):
        problem = build_problem(model, samples, len(steps.times), first_arrival(model, point.q[0]))
        before, after = (own.inner.dynamics.scale[:, 6:] for own in (problem, weigh_readings(problem, point)[0]))
        sizes.append(np.median((after / before)[problem.inner.dynamics.read]))
    assert sizes[1] == pytest.approx(sizes[0], rel=0.25)


def thinned(samples: Samples, every: int) -> Samples:
    kept = samples.steps % every == 0
    return Samples(samples.steps[kept], samples.values[kept], samples.weights[kept])


def test_a_foot_in_the_air_may_push_either_way(trot: Trot) -> None:
    """The smoothing's force at a distance has no direction to rely on: as much along the ground as friction allows."""
    found = trot.estimate()
    inner = slice(3, -3)
    air = found.contacts.gap[inner] > 0.03
    assert air.any()
    normal = found.contacts.force[inner, :, 2][air]
    sigma = found.contacts.force_sigma[inner][air]
    assert np.all(sigma[:, 2] >= 0.9 * normal)
    assert np.all(sigma[:, :2] >= 0.9 * found.contacts.friction * normal[:, None])


def test_a_step_that_is_left_is_an_error(trot: Trot) -> None:
    """An iteration that stopped 2 % of the mass away, some ten sigmas, says so: alpha is half the mass's logarithm."""
    problem, point = trot.problem(simulated_config()), trot.solved.point
    away = replace(point, theta=point.theta + 0.01 * np.eye(len(point.theta))[0])
    there = observed_covariances(problem, problem.linearise(point), point)
    short = observed_covariances(problem, problem.linearise(away), away)
    assert there is not None
    assert short is not None
    assert np.sqrt(there.parameter[0, 0]) < 0.003
    assert np.sqrt(short.parameter[0, 0]) == pytest.approx(0.01, rel=0.3)


def test_a_long_stand_says_nothing_of_the_errors_of_a_trot(trot: Trot) -> None:
    """A minute at a tenth of the noise, then five seconds of trot: the trot's variances are its own, within a fifth."""
    problem, blocks, leverage, changing = trot.residuals()
    quiet = [replace(group, residual=0.1 * group.residual) for group in blocks]
    mixed, alone, whole = ObservedVariances(), ObservedVariances(), slice(len(changing))
    for _ in range(75):
        mixed.add(problem, quiet, leverage, changing, whole)
    for _ in range(6):
        mixed.add(problem, blocks, leverage, changing, whole)
        alone.add(problem, blocks, leverage, changing, whole)
    pairs = zip(mixed.of(problem, blocks, changing), alone.of(problem, blocks, changing), strict=True)
    ratios = [np.sqrt(found / wanted) for found, wanted in pairs]
    assert min(ratio.min() for ratio in ratios) > 0.8
    assert max(ratio.max() for ratio in ratios) < 1.2


def test_sliding_that_lasts_counts_more_in_a_window(trot: Trot) -> None:
    """Feet that creep one way together, stage after stage, are one error and not hundreds; of no other rows."""
    problem, blocks, leverage, changing = trot.residuals()
    contact, whole = blocks[1], slice(len(changing))
    along = slice(1, contact.residual.shape[1] // 2, 3)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], contact.residual[:, along].shape)
    found = []
    for sliding in (signs, np.ones_like(signs)):
        residual = contact.residual.copy()
        residual[:, along] = 0.3 * sliding
        groups = [blocks[0], replace(contact, residual=residual), *blocks[2:]]
        observed = ObservedVariances()
        observed.add(problem, groups, leverage, changing, whole)
        usual = observed.of(problem, groups, changing)
        found.append((usual[1], observed.with_lasting_sliding(usual, groups)[1]))
    np.testing.assert_allclose(found[1][0], found[0][0])  # not of parameters
    ratio = found[1][1] / found[0][1]
    assert ratio[:, along].min() > 10.0
    ratio[:, along] = 1.0
    np.testing.assert_allclose(ratio, 1.0)


def test_parameters_and_stages_by_variances_of_their_own(trot: Trot) -> None:
    """One pass over the rows gives what two give, each by its own."""
    problem, blocks, _, _ = trot.residuals()
    factor, point = factorise(assemble(blocks, problem.layout), 0.0), trot.solved.point
    assert factor is not None
    found = covariances(factor)
    assert found is not None
    alone, count = (found.stage_parameter, found.parameter), len(found.parameter)
    stage = factor.covariances_with(problem.stages // 2)
    both = tuple(np.concatenate(pair, axis=-1) for pair in zip(alone, stage, strict=True))
    ones, more = ([np.full(group.residual.shape, by) for group in blocks] for by in (1.0, 2.0))

    def noisy(known: tuple[Array, ...], variances: Sequence[Array], whole: int) -> tuple[Array, Array]:
        return noisy_covariance(problem, blocks, point, factor, known, variances, whole=whole)

    parameter, spread = noisy_covariance(problem, blocks, point, factor, both, ones, whole=count, lasting=more)
    # To rounding of products of another width.
    np.testing.assert_allclose(parameter, noisy(alone, ones, count)[0], rtol=1e-9, atol=1e-12 * np.abs(parameter).max())
    np.testing.assert_allclose(spread, noisy(stage, more, 0)[1], rtol=1e-9)
    assert (spread > 1.1 * noisy(stage, ones, 0)[1]).all()


def test_noise_in_a_log_is_that_of_the_time(trot: Trot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log whose first half has a tenth of the noise: far from the middle neither half knows of the other."""
    problem, blocks, leverage, changing = trot.residuals()
    monkeypatch.setattr(noise_variances, "MEMORY", 15)
    middle, stages = len(changing) // 2, len(changing)
    quiet = [
        replace(group, residual=np.where((group.first < middle)[:, None], 0.1, 1.0) * group.residual)
        for group in blocks
    ]
    found = observed_variances(problem, quiet, leverage, changing)
    usual = observed_variances(problem, blocks, leverage, changing)
    joints = problem.groups.index("joint_position")
    ratio = np.sqrt(found[joints] / usual[joints]).mean(axis=1)
    stage = blocks[joints].first
    assert ratio[stage < middle - 15].max() < 0.6  # the belief in what is stated counts as two readings
    np.testing.assert_allclose(ratio[(stage > middle + 15) & (stage < stages)], 1.0)


def test_correlation_time_of_white_and_of_slow_noise() -> None:
    """(1 + rho) / (1 - rho) of a first-order process: 3 for 0.5; from 20 000 samples good to 5 % or so."""
    white = np.random.default_rng(1).normal(size=(20_000, 3))
    slow = np.zeros_like(white)
    for k in range(1, len(white)):
        slow[k] = 0.5 * slow[k - 1] + white[k]
    assert correlation_time(white) == pytest.approx(np.ones(3), abs=0.2)
    assert correlation_time(slow) == pytest.approx(np.full(3, 3.0), rel=0.2)


def test_correlation_time_of_little() -> None:
    assert np.array_equal(correlation_time(np.ones((5, 2))), [1.0, 1.0])
    assert np.array_equal(correlation_time(np.zeros((50, 2))), [1.0, 1.0])
