# SPDX-License-Identifier: Apache-2.0
"""Streams that are stamped later than the joints' by an unknown constant: it is found, and the pose with it."""

from __future__ import annotations

import numpy as np
import pytest
from shared.legged_log import LeggedLog, simulate, simulated_config

from sysid_nodes.data.config import from_flat
from sysid_nodes.models.discrete_motion import difference
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.simulation.legged.sensors import LeggedSensorsConfig
from sysid_nodes.systems.prime import HorizonConfig, MovingHorizon, PrimeConfig, build_model, estimate_motion

IMU, MOCAP, TORQUE = 4e-3, 7e-3, 2e-3
"""How late they are [s]."""

KICK = 0.5e-3
"""What the simulation's torques and specific forces are late by themselves [s]: half a step of its integrator, whose
kicks are at the beginning of the step that they are told of."""

LATE = {
    "joint_torque": TORQUE + KICK,
    "gyroscope": IMU,
    "accelerometer": IMU + KICK,
    "imu_orientation": IMU,
    "mocap_pose": MOCAP,
}


@pytest.fixture(scope="module")
def log() -> LeggedLog:
    sensors = from_flat(LeggedSensorsConfig, {"imu.stamp_offset": IMU, "mocap.stamp_offset": MOCAP})
    config = LeggedSimulationConfig(motion="sway", load=LoadConfig(mass=3.0), sensors=sensors)
    early = simulated_config(**{"sensors.joint_torque.delay": -TORQUE})
    return simulate(config, 2.5, seed=1, estimator=early, skip=0.5)


def late_config() -> PrimeConfig:
    """Delays unknown, all else as simulated."""
    return simulated_config(**{f"sensors.{name}.delay_sigma": 4e-3 for name in LATE})


def solve(log: LeggedLog, config: PrimeConfig) -> PrimeEstimate:
    return estimate_motion(build_model(log.robot, config), log.steps.times, log.steps.samples)


def test_delays_are_found(log: LeggedLog) -> None:
    """Within three of their standard deviations, which are far below the priors' but for the orientation's; with exact
    delays the same log has its pose many of them off."""
    exact = simulated_config()
    found = solve(log, late_config())
    sigma = np.sqrt(np.diag(found.parameter_covariance))
    for name, true in LATE.items():
        k = found.parameter_names.index(f"{name}.delay_error[0]")
        assert abs(found.parameters[k] - true) < 3.0 * sigma[k], name
        assert sigma[k] < 1.5e-3, name
    wrong = difference(log.q, found.q)[5:-5, 3:5]
    assert np.sqrt(np.mean(wrong**2)) < 0.5 * np.sqrt(np.mean(difference(log.q, solve(log, exact).q)[5:-5, 3:5] ** 2))


def test_a_moving_window_finds_the_delays_of_the_whole_log(log: LeggedLog) -> None:
    """To less than half of a standard deviation, and of torques to one and a half: stages that left are as constants
    were then. Rates to one side alone, of stages that leave, have their own noise in them, and delays would be one to
    two off."""
    config = late_config()
    whole, horizon = solve(log, config), MovingHorizon(build_model(log.robot, config), HorizonConfig(window=15))
    found = None
    for first in range(0, len(log.q), 4):
        stop = min(first + 4, len(log.q))
        samples = {name: entry.between(first, stop) for name, entry in log.steps.samples.items()}
        horizon.push(AlignedSteps(0, first, log.steps.times[first:stop], samples))
        found = horizon.step() or found
    assert found is not None
    sigma = np.sqrt(np.diag(whole.parameter_covariance))
    for name, most in (("joint_torque", 1.5), ("imu_orientation", 0.5), ("mocap_pose", 0.5)):
        k = found.parameter_names.index(f"{name}.delay_error[0]")
        assert abs(found.parameters[k] - whole.parameters[k]) < most * sigma[k], name
