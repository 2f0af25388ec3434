# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import numpy as np

from benchmarks.actuators_rig_trial import OracleScore, Trial
from benchmarks.peers.bench_model import BenchModel, fit_bench, loss, predict
from sysid_nodes.simulation.actuators.servo_rig import Servo


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
        free_error=0.2,
        sweeps={"weight": {"residual": {0.0: 1e-3, 1e-4: np.float64(2e-3)}}},
    )
    assert Trial.from_record(json.loads(json.dumps(trial.record()))) == trial
