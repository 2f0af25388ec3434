# SPDX-License-Identifier: Apache-2.0
"""First guesses of a motion, where motion capture does not see all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.legged_log import LeggedLog, simulate, simulated_config

from sysid_nodes.data.config import from_flat
from sysid_nodes.results.prime import EstimateStatus
from sysid_nodes.signals.samples import Samples
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.systems.prime import build_model, estimate_motion
from sysid_nodes.systems.prime.initialisation import initial_configurations


@pytest.fixture(scope="module")
def drop() -> LeggedLog:
    """A fall of 15 cm onto stiff ground, of a robot that carries 3 kg; feet touch at stage 18."""
    flat = {"motion": "stand", "drop": 0.15, "load.mass": 3.0}
    return simulate(from_flat(LeggedSimulationConfig, flat), 0.8, seed=5)


def between(mocap: Samples, first: int, last: int) -> Samples:
    kept = (mocap.steps >= first) & (mocap.steps <= last)
    return Samples(mocap.steps[kept], mocap.values[kept], mocap.weights[kept])


def guess(log: LeggedLog, mocap: Samples) -> np.ndarray:
    samples = {**log.steps.samples, "mocap_pose": mocap}
    return initial_configurations(build_model(log.robot, simulated_config()), samples, len(log.q))


def test_a_robot_in_the_air_is_there_a_stage_before_the_mocap_sees_it(drop: LeggedLog) -> None:
    """To the noise of joints and pose and a thirtieth of the height above the ground, 5 mm each."""
    mocap = drop.steps.samples["mocap_pose"]
    assert mocap.steps[0] == 1
    assert abs(guess(drop, mocap)[0, 2] - drop.q[0, 2]) < 0.015


def test_a_robot_lands_where_no_mocap_sees_it(drop: LeggedLog) -> None:
    """All of the fall by the accelerometer and the feet's touchdown; to what the feet sink in and its noise, 5 mm each.

    On the ground from the first stage on it would be 110 mm off.
    """
    wrong = guess(drop, between(drop.steps.samples["mocap_pose"], 30, 80))[:, 2] - drop.q[:, 2]
    assert np.all(np.abs(wrong) < 0.015)


@pytest.mark.parametrize("stages", [3, 10, 14])
def test_orientations_of_motion_capture_alone_begin_a_short_window(drop: LeggedLog, stages: int) -> None:
    """Without an IMU's; to the noise of a pose, 0.02 rad. A window shorter than the smoothing's kernel was an error."""
    steps = drop.steps.samples
    samples = {name: one for name, one in steps.items() if name not in ("imu_orientation", "accelerometer")}
    samples = {name: between(one, 0, stages - 1) for name, one in samples.items()}
    found = initial_configurations(build_model(drop.robot, simulated_config()), samples, stages)
    assert found.shape == (stages, drop.q.shape[1])
    turned = 2.0 * np.arccos(np.clip(np.abs(np.sum(found[:, 3:7] * drop.q[:stages, 3:7], axis=1)), 0.0, 1.0))
    assert np.all(turned < 0.04)


def test_without_accelerometer_a_robot_is_let_down(drop: LeggedLog) -> None:
    """From where the mocap saw it last in the air, not at once, to where it stood later on."""
    samples = {name: one for name, one in drop.steps.samples.items() if name != "accelerometer"}
    mocap = samples["mocap_pose"]
    kept = (mocap.steps <= 8) | (mocap.steps >= 50)
    samples["mocap_pose"] = Samples(mocap.steps[kept], mocap.values[kept], mocap.weights[kept])
    found = initial_configurations(build_model(drop.robot, simulated_config()), samples, len(drop.q))[:, 2]
    wrong = np.abs(found - drop.q[:, 2])
    assert np.all(wrong[:9] < 0.015)
    assert found[10] > found[50] + 0.05
    assert np.all(wrong[30:] < 0.015)


def test_a_swapped_marker_is_not_believed_where_nothing_flew(drop: LeggedLog) -> None:
    """30 cm at the last reading lift the first guess by a tenth of that, and by nothing a third of a second later."""
    mocap = between(drop.steps.samples["mocap_pose"], 0, 40)
    mocap.values[-1, 2] += 0.3
    wrong = guess(drop, mocap)[:, 2] - drop.q[:, 2]
    assert np.max(np.abs(wrong)) < 0.04
    assert np.all(np.abs(wrong[71:]) < 0.01)  # readings of the joints and of the height


@pytest.mark.parametrize("first", [0, 8, 18, 30])
def test_a_log_that_starts_in_the_air_is_found_from_few_iterations(drop: LeggedLog, first: int) -> None:
    """A first stage put on the ground has no reading that calls it back: the fall before it was 50 mm off.

    Mass and forces by the bounds of test_robust_logs.py, the height that no reading tells within 4 of its sigmas.
    """
    samples = {**drop.steps.samples, "mocap_pose": between(drop.steps.samples["mocap_pose"], first, len(drop.q))}
    config = simulated_config()
    config = replace(config, iteration=replace(config.iteration, most=20))
    found = estimate_motion(build_model(drop.robot, config), drop.steps.times, samples)
    assert found.status is EstimateStatus.CONVERGED
    assert found.iterations < 15
    assert abs(found.bodies[0].mass / drop.truth.theta[0] - 1.0) < 0.01
    sigma = np.sqrt(found.q_covariance[: first + 1, 2, 2])
    assert np.all(np.abs(found.q[: first + 1, 2] - drop.q[: first + 1, 2]) < 4.0 * sigma)
