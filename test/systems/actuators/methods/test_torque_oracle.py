# SPDX-License-Identifier: Apache-2.0
"""The torque oracle against the torque that a simulated servo truly passes on, and the paper's free oracle."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.servo_rig import RigRun, Servo, bar, fourier_command, run_servo
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.systems.actuators.config import ActuatorConfig, FittedConfig
from sysid_nodes.systems.actuators.fit import fit_joint, known_law
from sysid_nodes.systems.actuators.methods import SmoothedJoint, smooth_joint
from sysid_nodes.systems.actuators.methods.apply import METHODS
from sysid_nodes.systems.actuators.methods.oracle import Segments
from sysid_nodes.systems.actuators.preparation import prepare
from sysid_nodes.systems.actuators.replay import replay_error

CONFIG = ActuatorConfig(fitted=FittedConfig(gain=True, position_friction=False))


@cache
def smoothed() -> tuple[RigRun, SmoothedJoint]:
    rng = np.random.default_rng(1)
    run = run_servo(Servo.draw(rng), *fourier_command(8.0, rng), rng=rng)
    motion = prepare(run.log, bar(), CONFIG)[0]
    law = fit_joint(motion, known_law(CONFIG, 0), CONFIG, CONFIG.fitted.names).law
    return run, smooth_joint(motion, law, CONFIG)


def test_torque_and_band_are_those_of_the_truth() -> None:
    run, found = smoothed()
    error = found.torque - run.torque
    assert np.sqrt(np.mean(error**2)) < 0.05 * np.sqrt(np.mean(run.torque**2))
    assert 0.9 < np.mean(np.abs(error) < 1.96 * found.sigma) < 0.99
    assert found.noise == pytest.approx(2e-4, rel=0.1)


def test_one_rollout_of_the_oracle_follows_the_log_and_the_free_one_runs_away() -> None:
    _, found = smoothed()
    good = METHODS["oracle"](found, np.zeros(12), CONFIG).replay(found.motion)
    np.testing.assert_allclose(good.position, found.position, atol=1e-9)
    assert replay_error(found.motion, good.position).rmse < 1.2 * found.noise
    short = replace(CONFIG, oracle=replace(CONFIG.oracle, free_horizon=2e-3, free_iterations=50))
    free = METHODS["free_oracle"](found, np.zeros(12), short).replay(found.motion)
    assert replay_error(found.motion, free.position).mae > 0.1


def test_an_oracle_drives_no_other_log() -> None:
    _, found = smoothed()
    model = METHODS["oracle"](found, np.zeros(12), CONFIG)
    with pytest.raises(ConfigError, match="drives no other"):
        model.replay(replace(found.motion))


def test_the_free_oracles_slope_is_the_derivative_of_its_cost() -> None:
    _, found = smoothed()
    rng, first = np.random.default_rng(4), np.array([0, 50, 120, 900])
    motion = found.motion
    parts = Segments.of(found, first)
    start = np.stack([motion.q, motion.velocity], axis=1)[first]
    values = found.torque + 0.1 * rng.standard_normal(len(found.torque))
    slope = parts.slope(values, start, 0.3)
    for k in (0, 1, 49, 50, 51, 119, 120, 899, 900, 2000, len(values) - 1):
        moved = np.zeros_like(values)
        moved[k] = 1e-2
        ends = [parts.cost(values + sign * moved, start, 0.3) for sign in (1.0, -1.0)]
        assert slope[k] == pytest.approx((ends[0] - ends[1]) / 2e-2, rel=1e-4, abs=1e-9)
