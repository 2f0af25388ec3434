# SPDX-License-Identifier: Apache-2.0
"""Joints that stand are where their readings say, whatever would explain the torques of others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import true_mechanism
from sysid_nodes.systems.bayesian import MechanismLog
from sysid_nodes.systems.bayesian.descent import fit
from sysid_nodes.systems.bayesian.mechanism import Motion
from sysid_nodes.systems.bayesian.noise import shown_noise
from sysid_nodes.systems.bayesian.standing import smoothed_stretches, standing_stages, stretches

Array = npt.NDArray[np.float64]

STEP, COUNT, NOISE = 0.01, 300, 3e-4


def test_stretches_of_flags() -> None:
    assert stretches(np.array([1, 1, 0, 1, 0, 0, 1], dtype=np.bool_)) == [(0, 2), (3, 4), (6, 7)]
    assert stretches(np.zeros(3, dtype=np.bool_)) == []


def test_a_joint_that_turns_does_not_stand() -> None:
    """Nine stages are a turn and ten a stand; a position has to be of three torques that tell nothing."""
    untold = np.zeros((98, 2), dtype=np.bool_)
    untold[20:29, 0] = untold[20:30, 1] = True
    untold[90:, 1] = True
    untold[:12, 1] = True
    stands = standing_stages(untold)
    assert not stands[:, 0].any()
    assert np.flatnonzero(stands[:, 1]).tolist() == [*range(12), *range(22, 30)]


def test_readings_of_a_joint_that_stands_are_smoothed() -> None:
    """It sags by a milliradian. A sixteenth of white noise's differences of second order is left at most: a joint that
    is seen for two seconds shakes by less than a hundredth; ends count as well. One outlier is not followed."""
    rng, t = np.random.default_rng(0), STEP * np.arange(COUNT)
    true = 0.4 + 1e-3 * np.exp(-t)
    read = true + NOISE * rng.standard_normal(COUNT)
    read[120] += 0.05
    read[130] = np.nan
    stands = np.zeros(COUNT, dtype=np.bool_)
    stands[50:250] = True
    found = smoothed_stretches(read, stands, STEP)
    np.testing.assert_array_equal(found[~stands], read[~stands])
    assert np.std(np.diff(found[stands], 2)) < np.sqrt(6.0) * NOISE / 16.0
    assert np.abs(found - true)[stands].max() < NOISE
    short = np.zeros(COUNT, dtype=np.bool_)
    short[:12] = True  # with five beside, too few to tell
    np.testing.assert_array_equal(smoothed_stretches(read, short, STEP), read)
    flat = np.full(COUNT, 0.3)
    np.testing.assert_array_equal(smoothed_stretches(flat, stands, STEP), flat)


def test_a_joint_that_stands_does_not_explain_noise_of_another() -> None:
    """Torques of joint 1 are noisy, and joint 2 would only have to shake for them to be explained: by its readings it
    might, by a tenth of them it must not. It moves in the second half of the log, where it is as free as any."""
    own, rng = bench_robot("pendulum"), np.random.default_rng(1)
    own = replace(own, config=replace(own.config, step=STEP))
    mechanism = true_mechanism(own)
    t, rate = STEP * np.arange(COUNT), np.array([3.0, 5.0])
    phase = rate * t[:, None] - [0.0, rate[1] * t[COUNT // 2]]
    reach = np.stack([np.ones(COUNT), t > t[COUNT // 2]], axis=1)
    q = own.rest + reach * np.array([1.0, 0.5]) * (np.sin(phase) - [0.0, 1.0] * phase * np.exp(-phase))
    v, a = np.gradient(q, STEP, axis=0), np.gradient(np.gradient(q, STEP, axis=0), STEP, axis=0)
    torque = mechanism.torque(Motion(q, v, a, np.zeros((COUNT, 0))), mechanism.parameters.mean)
    read = q + NOISE * rng.standard_normal(q.shape)
    torque += 0.03 * rng.standard_normal(q.shape)
    log = MechanismLog(0.0, STEP, read, torque, np.full(COUNT, np.nan))
    fitted = fit(mechanism, log, own.config, None)
    found = fitted.problem.motion(fitted.found.best.point.point).a[:, 1]
    white = np.sqrt(6.0) * NOISE / STEP**2
    assert np.std(found[5 : COUNT // 2 - 15]) < 0.1 * white
    assert fitted.problem.noise.position[1] == np.clip(fitted.problem.noise.position[1], 0.7 * NOISE, 1.3 * NOISE)


def test_what_torques_miss_is_no_noise_of_positions() -> None:
    """A ripple over the positions, seven periods a radian, might as well be motion, were encoders bad: they are not.

    Nor may a reading be farther off than its own scatter and what stages are off, were it to explain anything.
    """
    own, rng = bench_robot("pendulum"), np.random.default_rng(1)
    mechanism = true_mechanism(own)
    rate = np.array([3.0, 5.0])
    phase = rate * STEP * np.arange(COUNT)[:, None] + [0.3, 1.1]
    q = own.rest + np.sin(phase)
    motion = Motion(q, rate * np.cos(phase), -(rate**2) * np.sin(phase), np.zeros((COUNT, 0)))
    torque = mechanism.torque(motion, mechanism.parameters.mean)
    torque += 0.2 * torque.std(axis=0) * np.sin(14.0 * np.pi * q) + 1e-3 * rng.standard_normal(q.shape)
    log = MechanismLog(0.0, STEP, q + 2e-5 * rng.standard_normal(q.shape), torque, np.full(COUNT, np.nan))
    fitted = fit(mechanism, log, replace(own.config, step=STEP), None)
    most = np.hypot(log.most_noise, log.stage_error)
    assert np.all(fitted.problem.noise.position <= most)
    assert log.most_noise[0] < 2e-5 * (1.0 + 5.4 / np.sqrt(COUNT - 4)) * 1.1
    assert fitted.problem.noise.torque[0] > 0.1 * torque.std(axis=0)[0]
    at = fitted.found.best.point
    off = replace(at, point=replace(at.point, q=at.point.q + 0.01))
    shown = shown_noise(fitted.problem, off, own.config.noise)
    assert shown is not None
    assert shown.noise.position[1] == pytest.approx(most[1])  # of joint 0, torques tell all but readings


def test_stages_are_off_their_readings_where_a_joint_is_quick() -> None:
    """Positions whose second differences are the acceleration at the stages, against means over a stage of readings."""
    step, rate, fine = 0.03, 5.0, 200
    t = step * np.arange(COUNT)
    q, a = np.sin(rate * t), -(rate**2) * np.sin(rate * t)
    best = q - step**2 / 12.0 * a
    np.testing.assert_allclose(np.diff(best, 2) / step**2, a[1:-1], atol=1e-4 * rate**2)  # q alone: 2e-3
    around = step * ((np.arange(fine) + 0.5) / fine - 0.5)
    read = np.sin(rate * (t[:, None] + around)).mean(axis=1)
    log = MechanismLog(
        0.0, step, np.stack([read, np.zeros(COUNT)], axis=1), np.zeros((COUNT, 2)), np.full(COUNT, np.nan)
    )
    assert log.stage_error[0] == pytest.approx(np.sqrt(np.mean((best - read)[1:-1] ** 2)), rel=5e-3)
    assert log.stage_error[1] == 0.0
