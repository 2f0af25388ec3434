# SPDX-License-Identifier: Apache-2.0
"""Knowledge from calibration runs of simulated arms of which all is known, and how well that predicts torque."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import integrate, stats
from shared.bare_arm import UR10, bare_arm, loaded, noisy
from shared.payload_problem import Problem, SineMotion

from sysid_nodes.cli.interval.samples import read_samples
from sysid_nodes.data.config import load_yaml
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.systems.interval.calibration_runs import Run, run_rows
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.estimate.robot_belief import Bare, predicting_point, statistical_belief
from sysid_nodes.systems.interval.estimate.robust_fit import log_evidence, robust_fit
from sysid_nodes.systems.interval.estimate.window_model import WindowModel
from sysid_nodes.systems.interval.momentum_rows import MomentumRows, select
from sysid_nodes.systems.interval.torque_models import compare_torque, plain_least_squares
from sysid_nodes.systems.interval.unknowns import identify_payload

Array = npt.NDArray[np.float64]


def bare_of(robot: Robot, config: IntervalIdentifierConfig) -> Bare:
    return Bare(robot.n, robot.body_index(), *known_box(robot, config.known_robot), config.prior.bounds)


def rows_of(robot: Robot, config: IntervalIdentifierConfig, samples: JointSamples) -> MomentumRows:
    bare = bare_of(robot, config)
    unknowns = identify_payload(bare.n, bare.body, bare.centre, bare.radius, bare.prior)
    return run_rows(robot, config, Run(samples, 0.0, "run"), unknowns)


def test_what_the_last_link_carries_undescribed_is_not_left_for_the_payload() -> None:
    """A bracket off the axis, of moments far beyond the 2 % that links are known to."""
    config = replace(UR10, known_robot=replace(UR10.known_robot, inertia_relative=0.02))
    bracket = np.array([0.4, 0.02, -0.03, 0.01, 0.004, 0.001, 0.003, 0.0, 0.0005, 0.004])
    rng = np.random.default_rng(0)
    arm = bare_arm(rng, config)
    samples = loaded(arm, bracket, SineMotion.random(rng, arm.robot.n)).samples(np.arange(0.0, 10.0, 0.01))
    belief, _ = statistical_belief(bare_of(arm.robot, config), [rows_of(arm.robot, config, samples)])
    own = 10 * arm.robot.body_index() + np.arange(3)
    np.testing.assert_allclose((belief.point[own] - arm.p[own]) / bracket[:3], 1.0, atol=0.5)


@pytest.mark.parametrize("share", [0.0, 0.08])
def test_load_friction_that_a_run_does_not_show_is_not_made_up(share: float) -> None:
    rng = np.random.default_rng(3)
    arm = bare_arm(rng, UR10)
    samples = arm.samples(np.arange(0.0, 16.0, 0.01))
    friction = arm.p[60:66] * np.sign(samples.qd) + arm.p[66:72] * samples.qd + arm.p[78:84]
    lost = share * np.abs(samples.tau - friction) * np.sign(samples.qd)
    readings = noisy(samples, lost + 0.3 * rng.uniform(-1.0, 1.0, samples.tau.shape))
    belief, _ = statistical_belief(bare_of(arm.robot, UR10), [rows_of(arm.robot, UR10, readings)])
    found = belief.point[90:]
    np.testing.assert_allclose(found[1:3], share, atol=0.01 if share else 0.0)  # the joints that carry the arm
    assert (found >= 0.0).all()
    assert (belief.information.diagonal()[90:] > 0.0).all(), "not seen is not known to be none"


def prediction_errors(arm: Problem, scale: Array, duration: float, noise: float, seed: int) -> Array:
    """(2,) rms torque error in another motion, without noise, by the belief's point and by the predicting one [N m]."""
    rng = np.random.default_rng(seed)
    bare, still = bare_of(arm.robot, UR10), np.zeros(10)
    runs = []
    for seconds, size in ((duration, noise), (10.0, 0.0)):
        samples = loaded(arm, still, SineMotion.random(rng, arm.robot.n)).samples(np.arange(0.0, seconds, 0.01))
        readings = noisy(samples, (1.0 / scale - 1.0) * samples.tau + size * rng.normal(size=samples.tau.shape))
        runs.append(rows_of(arm.robot, UR10, readings))
    belief, _ = statistical_belief(bare, runs[:1])
    models = {"belief": belief.point, "prediction": predicting_point(bare, belief, runs[:1])}
    compared = compare_torque(runs[1], bare.body, models)
    return np.array([np.sqrt((compared.rms(name) ** 2).mean()) for name in models])


def test_scales_of_torque_that_differ_from_joint_to_joint_are_learnt_for_predictions() -> None:
    scale = np.array([1.03, 0.97, 1.04, 0.98, 1.03, 0.96])
    arm = bare_arm(np.random.default_rng(0), UR10)
    errors = np.array([prediction_errors(arm, scale, 16.0, 0.5, seed) for seed in range(3)])
    assert np.log(errors[:, 1] / errors[:, 0]).mean() < np.log(0.8)  # seen: .5


@pytest.mark.parametrize(("off", "most"), [(0.02, 0.8), (1.0, 1.0)])
def test_how_far_links_are_from_their_description_is_learnt_for_predictions(off: float, most: float) -> None:
    """Links within 2 % of the stated errors, and as far off as stated: expecting less costs nothing there."""
    ratios = []
    for seed in range(3):
        arm = bare_arm(np.random.default_rng(seed), UR10)
        centre = bare_of(arm.robot, UR10).centre
        p = arm.p.copy()
        p[:60] = centre[:60] + off * (p[:60] - centre[:60])
        errors = prediction_errors(Problem(arm.robot, p, arm.motion), np.ones(6), 6.0, 3.0, seed)
        ratios.append(errors[1] / errors[0])
    assert np.exp(np.log(ratios).mean()) < most  # seen: .67 and .84


@pytest.mark.parametrize("sigma", [0.05, 0.5, 20.0])
def test_evidence_is_the_integral_over_the_parameter(sigma: float) -> None:
    """One offset of one joint, known to within sigma; against the integral of what the windows say of it."""
    rng = np.random.default_rng(1)
    coefficients = np.zeros((60, 1, 15))
    coefficients[:, 0, 13] = 1.0
    coefficients[:, 0, 14] = -(0.4 + 0.3 * rng.normal(size=60))
    model = WindowModel(1, 0, coefficients, np.zeros((60, 1)), np.full(60, -1), np.zeros((60, 1)))
    point = np.zeros(16)
    point[14] = 1.0
    sigmas = np.zeros(16)
    sigmas[13] = sigma
    fit = robust_fit(model, Belief.gaussian(point, sigmas))
    assert fit is not None
    readings, spread = model.measured[:, 0], float(fit.spread[0])

    def likely(offset: float) -> float:
        return float(
            np.exp(stats.t.logpdf((offset - readings) / spread, 4.0).sum() + stats.norm.logpdf(offset, 0.0, sigma))
        )

    about = fit.point[13] + 8.0 * np.sqrt(fit.inverse[13, 13]) * np.array([-1.0, 1.0])
    exact = np.log(integrate.quad(likely, *about)[0]) - 60.0 * np.log(spread)
    constant = 60.0 * stats.t.logpdf(0.0, 4.0)
    # Laplace's approximation, and a curvature that is the mean of sixty windows': a tenth of what one nat means.
    assert log_evidence(model, fit) == pytest.approx(exact - constant, abs=0.1)


@pytest.mark.real_data
def test_a_real_panda_is_predicted_as_well_as_by_least_squares(shared_data: Path, project_root: Path) -> None:
    """What follows, from what was before; half of the blocks from the others. Joints 2 to 6 in all, 4 in each."""
    config = load_yaml(IntervalIdentifierConfig, project_root / "config" / "panda.yaml")
    robot = load_robot("panda")
    samples = read_samples(robot, config, shared_data / "panda_excitation" / "panda_first70_mcap", "/joint_states")
    bare, rows = bare_of(robot, config), rows_of(robot, config, samples)
    count = len(rows.t)
    odd = np.arange(count) // 6 % 2 == 1
    ratios = []
    for known in (np.arange(count) < count // 2, np.arange(count) < 2 * count // 3, odd, ~odd):
        runs = [select(rows, known)]
        plain = np.concatenate([plain_least_squares(runs, bare.centre[14 * 7 :]), np.zeros(7)])
        belief, _ = statistical_belief(bare, runs)
        models = {"ours": predicting_point(bare, belief, runs), "plain": plain}
        compared = compare_torque(select(rows, ~known), bare.body, models)
        ratios.append(compared.rms("ours") / compared.rms("plain"))
    means = np.exp(np.log(ratios).mean(axis=0))
    assert means.max() < 1.1  # seen: .93, of joint 1
    assert np.max(np.array(ratios)[:, 3]) < 1.05
