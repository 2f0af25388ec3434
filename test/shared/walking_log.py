# SPDX-License-Identifier: Apache-2.0
"""Readings of a simulated walking robot as the identification by rollouts takes them, without a bag between."""

from __future__ import annotations

from typing import Any

import numpy as np
from shared.walking_bag import START, TRUTH

from sysid_nodes.data.config import from_flat
from sysid_nodes.data.readings import Readings as SensorReadings
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.sessions.sampling.session import SamplingSession
from sysid_nodes.simulation.legged import ImuReading, JointReading, LeggedRobotSim, LeggedSimulationConfig, PoseReading
from sysid_nodes.systems.sampling.log import Readings


def walking_session(
    duration: float, seed: int = 0, config: SamplingSessionConfig | None = None, **options: Any
) -> tuple[SamplingSession, LeggedRobotSim]:
    """A session that has heard a walk, and the simulation."""
    simulation = from_flat(LeggedSimulationConfig, {**TRUTH, **options})
    sim = LeggedRobotSim(simulation, np.random.default_rng(seed), start=START)
    session = SamplingSession(sim.robot, config or SamplingSessionConfig())
    for reading in sim.run(duration):
        if isinstance(reading, JointReading):
            values = {
                "joint_position": reading.position,
                "joint_velocity": reading.velocity,
                "joint_torque": reading.effort,
            }
            session.take(SensorReadings(reading.stamp, values, reading.names))
        elif isinstance(reading, ImuReading):
            imu = {"gyroscope": reading.gyro, "imu_orientation": reading.orientation}
            session.take(SensorReadings(reading.stamp, imu))
        elif isinstance(reading, PoseReading):
            pose = np.concatenate([reading.position, reading.orientation])
            session.take(SensorReadings(reading.stamp, {"mocap_pose": pose}))
    for stamp, target in sim.set_points:
        session.take_set_point(stamp, sim.robot.joint_names, target)
    return session, sim


def walking_readings(duration: float, seed: int = 0, **options: Any) -> tuple[Readings, LeggedRobotSim]:
    """Streams of a walk."""
    session, sim = walking_session(duration, seed, **options)
    return session.readings(), sim
