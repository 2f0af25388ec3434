# SPDX-License-Identifier: Apache-2.0
"""Readings of a simulated Go2, recorded once and spoilt as a test wants; and an estimator that costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from shared.legged_log import KNOWN

from sysid_nodes.data.config import from_flat
from sysid_nodes.data.readings import Readings
from sysid_nodes.models.rotations import quaternion_exp, quaternion_product
from sysid_nodes.results.prime import BodyEstimate, ContactEstimate, EstimateStatus, Fit, PrimeEstimate
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.horizon import Horizon, make_horizon
from sysid_nodes.sessions.prime.session import PrimeSession, prime_robot
from sysid_nodes.sessions.prime.update import PrimeUpdate
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.simulation.legged import (
    Fault,
    ImuReading,
    JointReading,
    LeggedRobotSim,
    LeggedSimulationConfig,
    PoseReading,
    Reading,
    VelocityReading,
)
from sysid_nodes.simulation.legged.faults import FaultInjector
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.simulation.legged.sensors import LeggedSensorsConfig, VelocitySensorConfig
from sysid_nodes.solvers.trajectory_least_squares.timer import Timer
from sysid_nodes.systems.prime import Knowledge

START = 100.0
"""Stamp of the first reading [s]: not zero, as no real clock is."""

PAYLOAD = 3.0
"""[kg]"""

FAST = {
    "pacing.hop": 10,
    "pacing.most_hop": 10,
    "pacing.shortest": 15,
    "pacing.load": 1.0,
    "pacing.max_lag": 1e3,
    "horizon.window": 15,
    "horizon.iterations": 3,
    **{f"prime.{name}": value for name, value in KNOWN.items()},
}
"""A known robot; few solves on short windows, at a pace that does not depend on the machine."""


@cache
def record(duration: float = 3.0, motion: str = "sway", *, velocity: bool = False) -> tuple[tuple[Reading, ...], float]:
    """Readings of a Go2 in order of arrival, and the true mass of its base [kg]."""
    sensors = LeggedSensorsConfig(velocity=VelocitySensorConfig(enabled=velocity))
    config = LeggedSimulationConfig(motion=motion, load=LoadConfig(mass=PAYLOAD), sensors=sensors)
    sim = LeggedRobotSim(config, np.random.default_rng(3), start=START)
    return tuple(sim.run(duration)), float(sim.truth.theta[0])


def spoilt(readings: Sequence[Reading], *faults: Fault) -> list[Reading]:
    """The readings with faults, in order of arrival."""
    inject = FaultInjector(faults, np.random.default_rng(5))
    sent = (inject(reading) for reading in readings)
    return sorted((reading for reading in sent if reading is not None), key=lambda reading: reading.arrival)


def leaning(readings: Sequence[Reading], lean: Callable[[float], float]) -> list[Reading]:
    """Readings whose orientations lean about x by what that says of the time since the first [rad]."""

    def tip(reading: ImuReading | PoseReading) -> Reading:
        by = quaternion_exp(np.array([[lean(reading.stamp - START), 0.0, 0.0]]))
        return replace(reading, orientation=quaternion_product(by, reading.orientation[None])[0])

    return [tip(reading) if isinstance(reading, ImuReading | PoseReading) else reading for reading in readings]


class StillHorizon:
    """Says that the robot stands still at the origin, in as many stages as it was given; costs nothing."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self.restart()

    @property
    def knowledge(self) -> Knowledge:
        return Knowledge(np.zeros(0), None)

    def restart(self) -> None:
        self._times = np.zeros(0)

    def recall(self, _: Knowledge | None) -> None:
        self.restart()

    def push(self, steps: AlignedSteps) -> None:
        self._times = np.concatenate([self._times, steps.times])

    def step(self, window: int, _: Timer) -> PrimeEstimate | None:
        self._times = self._times[-window:]
        return still(self._robot, self._times) if len(self._times) >= 3 else None


def still(robot: Robot, times: np.ndarray, status: EstimateStatus = EstimateStatus.CONVERGED) -> PrimeEstimate:
    """An estimate of a robot at the origin, its first foot on the ground with 50 N, the others in the air."""
    stages, nc, nv = len(times), len(robot.contacts), robot.model.nv
    q = np.zeros((stages, robot.model.nq))
    q[:, 6] = 1.0
    force = np.zeros((stages, nc, 3))
    force[:, 0] = [5.0, 0.0, 50.0]
    force[[0, -1]] = np.nan
    position = np.zeros((stages, nc, 3))
    position[:, :, 0] = np.arange(nc)
    theta = robot.inertial_parameters()[0]
    spread = np.broadcast_to(np.diag(np.full(nv, 1e-6)), (stages, nv, nv))
    return PrimeEstimate(
        status=status,
        t=times,
        q=q,
        q_covariance=spread,
        v=np.zeros((stages, nv)),
        v_covariance=spread,
        contacts=ContactEstimate(
            tuple(point.name for point in robot.contacts),
            position,
            np.where(np.arange(nc) == 0, 0.0, 0.05) * np.ones((stages, nc)),
            force,
            np.broadcast_to(np.diag([1.0, 4.0, 9.0]), (stages, nc, 3, 3)),
            np.broadcast_to(np.arange(nc) == 0, (stages, nc)),
            0.8,
        ),
        bodies=(BodyEstimate("base", theta, np.diag(np.full(10, 1e-4)), theta),),
        parameter_names=(),
        parameter_units=(),
        parameters=np.zeros(0),
        parameter_covariance=np.zeros((0, 0)),
        fit={"joint_position": Fit(10, 1.0)},
        cost=0.0,
        iterations=1,
        solve_time=0.0,
    )


def make_session(*, real: bool = False, **options: object) -> PrimeSession:
    """A session with the real estimator or the one that costs nothing; dots of options as two underscores."""
    given = {name.replace("__", "."): value for name, value in options.items()}
    config = from_flat(PrimeSessionConfig, {**FAST, **given})
    robot = prime_robot(config)
    make: Callable[[], Horizon] = lambda: make_horizon(robot, config) if real else StillHorizon(robot)  # noqa: E731
    return PrimeSession(robot, config, make)


def feed(session: PrimeSession, reading: Reading) -> PrimeUpdate | None:
    """Gives a session one reading."""
    return session.take(readings_of(reading))


def readings_of(reading: Reading) -> Readings:
    """Content that the message of a reading's driver would have."""
    if isinstance(reading, JointReading):
        joints = {"position": reading.position, "velocity": reading.velocity, "torque": reading.effort}
        values = {f"joint_{name}": value for name, value in joints.items()}
        return Readings(reading.stamp, values, tuple(reading.names))
    if isinstance(reading, ImuReading):
        values = {"gyroscope": reading.gyro, "accelerometer": reading.accelerometer}
        if reading.orientation is not None:
            values["imu_orientation"] = reading.orientation
        return Readings(reading.stamp, values)
    if isinstance(reading, VelocityReading):
        return Readings(reading.stamp, {"base_velocity": reading.linear})
    return Readings(reading.stamp, {"mocap_pose": np.concatenate([reading.position, reading.orientation])})


def feed_all(session: PrimeSession, readings: Iterable[Reading]) -> list[PrimeUpdate]:
    """Gives a session all readings; what it publishes."""
    return [update for reading in readings if (update := feed(session, reading)) is not None]
