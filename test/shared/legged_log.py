# SPDX-License-Identifier: Apache-2.0
"""A simulated legged robot's log on an estimator's grid, with the truth averaged as the estimator's forces are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import from_flat
from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.robots import Robot
from sysid_nodes.sensors import SensorsConfig, build_sensors, channel_specs, sensor_configs
from sysid_nodes.signals.alignment import Aligner, GridConfig
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.simulation.legged import (
    Fault,
    ImuReading,
    JointReading,
    LeggedRobotSim,
    LeggedSimulationConfig,
    PoseReading,
    Reading,
)
from sysid_nodes.simulation.legged.truth import LeggedTruth, TruthSeries
from sysid_nodes.systems.prime import PrimeConfig

Array = npt.NDArray[np.float64]


KNOWN = {
    "sensors.joint_torque.gain_sigma": 0.0,
    "sensors.joint_position.offset_sigma": 0.0,
    "contact.foot_sigma": 0.0,
    "contact.tilt_sigma": 0.0,
    "contact.compliance_sigma": 0.0,
    "inertia.links_sigma": 0.0,
    "process.coulomb": 0.0,
    "process.viscous": 0.0,
    "process.armature": 0.0,
    **{
        f"sensors.{name}.delay_sigma": 0.0
        for name in sensor_configs(SensorsConfig())
        if name not in ("joint_position", "joint_velocity")
    },
}
"""Options for a robot, a ground and clocks that are as described. What they cost otherwise: benchmarks.prime_world."""


@dataclass(frozen=True)
class LeggedLog:
    """One run: what was measured, and what was true.

    Attributes:
        robot: nominal.
        steps: readings on the grid.
        truth: what stays the same.
        q: (N, nq) true configurations at the steps.
        v: (N, nv) true velocities.
        force: (N, nc, 3) true contact forces averaged about each step with triangle weights; NaN at the ends.
    """

    robot: Robot
    steps: AlignedSteps
    truth: LeggedTruth
    q: Array
    v: Array
    force: Array


def simulated_config(**options: float) -> PrimeConfig:
    """Defaults, for a robot whose drives, joints and links are known: the simulated one is as described; and options by
    dotted name."""
    return from_flat(PrimeConfig, KNOWN | options)


def push(aligner: Aligner, robot: Robot, reading: Reading) -> None:
    """Puts a simulated reading into the streams of the sensors."""
    if isinstance(reading, JointReading):
        order = JointOrder(robot.joint_names).columns(reading.names)
        aligner.push("joint_position", reading.stamp, reading.position[order])
        aligner.push("joint_velocity", reading.stamp, reading.velocity[order])
        aligner.push("joint_torque", reading.stamp, reading.effort[order])
    elif isinstance(reading, ImuReading):
        aligner.push("gyroscope", reading.stamp, reading.gyro)
        aligner.push("accelerometer", reading.stamp, reading.accelerometer)
        aligner.push("imu_orientation", reading.stamp, reading.orientation)
    elif isinstance(reading, PoseReading):
        aligner.push("mocap_pose", reading.stamp, np.concatenate([reading.position, reading.orientation]))


def simulate(
    config: LeggedSimulationConfig,
    duration: float,
    seed: int,
    estimator: PrimeConfig | None = None,
    *,
    skip: float = 0.0,
    faults: Sequence[Fault] = (),
) -> LeggedLog:
    """Runs a robot and aligns its streams; the first `skip` seconds are not used. Stamps of faults are simulated time
    plus 100 s."""
    estimator = estimator or simulated_config()
    sim = LeggedRobotSim(config, np.random.default_rng(seed), start=_START, faults=faults)
    sensors = build_sensors(sim.robot, estimator.sensors)
    aligner = Aligner(channel_specs(sensors, estimator.sensors), GridConfig(dt=estimator.step))
    for reading in sim.run(skip + duration):
        if reading.stamp < _START + skip:
            continue
        push(aligner, sim.robot, reading)
    aligner.flush()
    (steps,) = aligner.take()
    series = sim.series()
    at = np.clip(
        np.round((steps.times - _START - series.time[0]) / series.duration).astype(int), 0, len(series.time) - 1
    )
    force = average_forces(series, steps.times - _START, estimator.step)
    return LeggedLog(sim.robot, steps, sim.truth, series.q[at], series.v[at], force)


def average_forces(truth: TruthSeries, times: Array, dt: float) -> Array:
    """(N, nc, 3) tick means of the contact forces, weighted by a triangle from t - dt to t + dt."""
    fine = 10  # parts of a tick within which the weight counts as constant
    inside = (np.arange(fine) + 0.5) / fine * truth.duration
    out = np.full((len(times), *truth.force_mean.shape[1:]), np.nan)
    for k, time in enumerate(times):
        first = int(np.floor((time - dt - truth.time[0]) / truth.duration + 1e-6))
        last = int(np.ceil((time + dt - truth.time[0]) / truth.duration - 1e-6))
        if first < 0 or last > len(truth.time):
            continue
        stamps = truth.time[first:last, None] + inside
        weight = np.maximum(1.0 - np.abs(stamps - time) / dt, 0.0).sum(axis=1)
        out[k] = np.tensordot(weight / weight.sum(), truth.force_mean[first:last], axes=1)
    return out


_START = 100.0
"""Stamp of simulated time zero [s]: not zero, as no real clock is."""
