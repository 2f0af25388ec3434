# SPDX-License-Identifier: Apache-2.0
"""A simulated walk whose truth is hidden in another simulation than the identification's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sysid_nodes.data.config import from_flat
from sysid_nodes.data.inertia import parameters_to_com
from sysid_nodes.data.readings import Readings
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.sessions.sampling.session import SamplingSession
from sysid_nodes.simulation.legged import ImuReading, JointReading, LeggedRobotSim, LeggedSimulationConfig, PoseReading
from sysid_nodes.simulation.legged.faults import Fault
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves

START = 100.0

TRUTH: Mapping[str, Any] = {
    "motion": "show",
    "load.mass": 4.7,
    "load.position": (-0.12, 0.0, 0.06),
    "drive.enabled": True,
    "drive.strength": (22.5, 25.0, 23.5),
    "drive.coulomb": 0.1,
    "timestep": 5e-4,
    "ground.time_constant": 0.012,
}
"""A Go2 with 4.7 kg at the rear: a quarter of the identification's step, softer ground, MuJoCo's own dry friction."""


def simulated_session(
    duration: float,
    seed: int = 0,
    config: SamplingSessionConfig | None = None,
    *,
    curves: CommandCurves | None = None,
    faults: Sequence[Fault] = (),
    **options: Any,
) -> tuple[SamplingSession, LeggedRobotSim]:
    """A session that has heard a walk, and the simulation with its truth.

    Args:
        duration: of the walk [s].
        seed: of noise and biases.
        config: of the session.
        curves: commands that a robot whose motion is `commanded` follows from the first half second on.
        faults: of the sensors' streams; stamps begin at `START`.
        options: of the simulation, beside `TRUTH`.
    """
    simulation = from_flat(LeggedSimulationConfig, {**TRUTH, **options})
    sim = LeggedRobotSim(simulation, np.random.default_rng(seed), start=START, faults=faults)
    if curves is not None and sim.commanded is not None:
        sim.commanded.follow(curves, 0.5)
    session = SamplingSession(sim.robot, config or SamplingSessionConfig(robot=sim.robot.name))
    hear(session, sim, duration)
    return session, sim


def hear(session: SamplingSession, sim: LeggedRobotSim, duration: float) -> None:
    """A session listens to what a robot does next, for a duration [s]."""
    told = len(sim.set_points)
    for reading in sim.run(duration):
        if isinstance(reading, JointReading):
            values = {
                "joint_position": reading.position,
                "joint_velocity": reading.velocity,
                "joint_torque": reading.effort,
            }
            session.take(Readings(reading.stamp, values, reading.names))
        elif isinstance(reading, ImuReading):
            session.take(Readings(reading.stamp, {"gyroscope": reading.gyro, "imu_orientation": reading.orientation}))
        elif isinstance(reading, PoseReading):
            pose = np.concatenate([reading.position, reading.orientation])
            session.take(Readings(reading.stamp, {"mocap_pose": pose}))
    for stamp, target in sim.set_points[told:]:
        session.take_set_point(stamp, sim.robot.joint_names, target)


def true_values(sim: LeggedRobotSim) -> dict[str, float]:
    """True values of parameters by the names that results have for them."""
    mass, centre, inertia = parameters_to_com(sim.truth.theta)
    found = {"mass": mass} | {f"centre_{axis}": float(x) for axis, x in zip("xyz", centre, strict=True)}
    for name, i, j in (("Ixx", 0, 0), ("Iyy", 1, 1), ("Izz", 2, 2), ("Ixy", 0, 1), ("Ixz", 0, 2), ("Iyz", 1, 2)):
        found[name] = float(inertia[i, j])
    strengths = zip(("hip", "thigh", "calf"), TRUTH["drive.strength"], strict=True)
    return found | {f"strength.{kind}": float(k) for kind, k in strengths}
