# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.actuators_rig import ORDER, PAPER
from benchmarks.actuators_rig_trial import TRAINED, OracleScore, Trial
from benchmarks.actuators_rig_weights import WeightedProblem, fit_weighted
from benchmarks.peers.bench_model import BenchModel, fit_bench, loss, predict
from sysid_nodes.simulation.actuators.servo_rig import Servo, bar, fourier_command, run_servo
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.fit import fit_joint, known_law
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare


def test_the_bench_models_derivative_is_that_of_differences() -> None:
    rng = np.random.default_rng(1)
    weights, inputs, wanted = rng.standard_normal(8705), rng.standard_normal((20, 2)), rng.standard_normal(20)
    slope = loss(weights, inputs, wanted)[1]
    for direction in rng.standard_normal((3, len(weights))):
        ends = [loss(weights + sign * 1e-7 * direction, inputs, wanted)[0] for sign in (1.0, -1.0)]
        assert np.isclose(slope @ direction, (ends[0] - ends[1]) / 2e-7, rtol=1e-5)


def test_the_bench_model_is_the_stands_torque_where_it_was_measured() -> None:
    rng = np.random.default_rng(2)
    servo = Servo.draw(rng)
    model: BenchModel = fit_bench(servo, rng)
    duty, speed = rng.uniform(-0.9, 0.9, 500), rng.uniform(1.0, 4.0, 500)
    torque = servo.stand_torque(duty, speed)
    off = predict(model, np.stack([duty, speed], axis=1)) - torque
    assert np.sqrt(np.mean(off**2)) < 0.05 * np.std(torque)


def test_a_servo_of_the_rig_is_the_same_when_read_from_its_record() -> None:
    trial = Trial(
        errors={"network": {"inside": 1e-3}},
        ratios={"network": {"inside": 1.0}},
        gave_way={"network": True},
        oracle=OracleScore(0.03, 0.04, 0.95),
        free={0.002: 1e-3},
        free_segments={0.002: 5e-4},
        free_error=0.2,
        sweeps={"weight": {"residual": {0.0: 1e-3, 1e-4: np.float64(2e-3)}}},
    )
    assert Trial.from_record(json.loads(json.dumps(trial.record()))) == trial


@pytest.fixture(scope="module")
def servo_motion() -> JointMotion:
    rng = np.random.default_rng(3)
    run = run_servo(Servo.draw(rng), *fourier_command(5.0, rng, **TRAINED), rng=rng)
    return prepare(run.log, bar(), ActuatorConfig())[0]


def test_velocities_that_weigh_nothing_leave_the_rigs_fit_as_it_is(servo_motion: JointMotion) -> None:
    config = ActuatorConfig()
    plain = fit_joint(servo_motion, known_law(config, 0), config, config.fitted.names).law
    np.testing.assert_allclose(fit_weighted(servo_motion, config, 0.0), plain, rtol=1e-9)


def test_each_weight_of_the_velocity_is_a_fit_of_its_own(servo_motion: JointMotion) -> None:
    config = ActuatorConfig()
    laws = [fit_weighted(servo_motion, config, weight) for weight in (0.0, 1e-4, 1e-2)]
    # Encoder noise, which differences raise, moves a fit by far more than rounding does.
    assert not any(np.allclose(a, b, rtol=1e-5, atol=0.0) for a, b in pairwise(laws))


def test_residuals_of_velocity_have_the_derivatives_of_differences(servo_motion: JointMotion) -> None:
    config, first = ActuatorConfig(), np.arange(0, 2500, 50)
    problem = WeightedProblem(servo_motion, config, known_law(config, 0), config.fitted.names, 1e-3)
    values = np.array([0.02, 0.004, 0.01, 0.2, 0.05, 0.01])[: len(config.fitted.names)]
    start = problem.start(first)[0]
    found = problem.rollout(values, first, start)
    assert found.residual.shape[1] == 2
    assert not found.residual[first, 1].any()  # the sample before belongs to another segment
    for k, step in enumerate(1e-6 * np.eye(len(values))):
        ends = [problem.rollout(values + sign * step, first, start).residual for sign in (1.0, -1.0)]
        slope = (ends[0] - ends[1]) / 2e-6
        # Within a step friction turns over, which differences see as a corner; they are off by parts in a thousand.
        assert np.abs(found.by_parameters[:, :, k] - slope).max() < 1e-2 * np.abs(slope).max()


def test_the_rigs_order_speaks_of_models_that_the_paper_has() -> None:
    assert {name for worse, better, _ in ORDER for name in (worse, better)} == set(PAPER)
