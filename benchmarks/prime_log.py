# SPDX-License-Identifier: Apache-2.0
"""Logs of simulated legged robots for the PRIME benchmarks: one run's readings, aligned as each method wants them.

The helpers of test/shared/legged_log.py do the rest; this is where these benchmarks reach into test/.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sysid_nodes.robots import Robot
from sysid_nodes.rollouts.legged_model import GroundConfig
from sysid_nodes.sensors import build_sensors, channel_specs
from sysid_nodes.signals.alignment import Aligner, GridConfig
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.simulation.legged import (
    LeggedRobotSim,
    LeggedSimulationConfig,
    LeggedTruth,
    Reading,
    TruthSeries,
)
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.systems.prime import PrimeConfig

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
from shared.legged_log import average_forces, push
from shared.legged_log import simulated_config as known_config

__all__ = ["SCENARIOS", "AlignedLog", "Log", "Scenario", "known_config", "record", "simulated_config"]

Array = npt.NDArray[np.float64]

START = 100.0
"""Stamp of simulated time zero [s]."""


def simulated_config() -> PrimeConfig:
    """The estimator's defaults."""
    return PrimeConfig()


@dataclass(frozen=True)
class Scenario:
    """A run of the comparison.

    Attributes:
        title: for tables.
        config: of the simulation.
        duration: [s].
    """

    title: str
    config: LeggedSimulationConfig
    duration: float


GROUND = GroundConfig(friction=0.7)
"""Less than the 0.8 that the estimators assume: friction is unknown to them, as is the ground's compliance."""

SCENARIOS = {
    "go2_3kg": Scenario("Go2, +3 kg", LeggedSimulationConfig(load=LoadConfig(mass=3.0), ground=GROUND), 10.0),
    "go2_com": Scenario(
        "Go2, CoM 0.1 m lower", LeggedSimulationConfig(load=LoadConfig(com_shift=(0.0, 0.0, -0.1)), ground=GROUND), 10.0
    ),
    "go2_4.6kg": Scenario(
        "Go2, +4.6 kg below",
        LeggedSimulationConfig(
            load=LoadConfig(mass=4.6, position=(0.0, 0.0, -0.09), size=(0.2, 0.2, 0.06)), ground=GROUND
        ),
        10.0,
    ),
    "g1_2.9kg": Scenario(
        "G1, +2.9 kg",
        LeggedSimulationConfig(
            robot="g1", load=LoadConfig(mass=2.914, position=(0.0, 0.0, 0.2), size=(0.1, 0.15, 0.2)), ground=GROUND
        ),
        15.0,
    ),
}
"""The paper's Go2 experiments, and its G1 with the battery that the nominal model lacks."""


@dataclass(frozen=True)
class AlignedLog:
    """A log on a grid with the truth there.

    Attributes:
        robot: nominal.
        steps: readings.
        truth: what stays the same.
        q, v: (N, nq), (N, nv) true states at the steps.
        around: (N, nc, 3) true forces, means about each step with triangle weights; NaN at the ends.
        after: (N, nc, 3) means over the step that begins there; NaN at the end.
    """

    robot: Robot
    steps: AlignedSteps
    truth: LeggedTruth
    q: Array
    v: Array
    around: Array
    after: Array

    @property
    def mass(self) -> float:
        """True mass of the loaded body [kg]."""
        return float(self.truth.theta[0])

    @property
    def com(self) -> Array:
        """(3,) true centre of mass of the loaded body [m]."""
        return np.asarray(self.truth.theta[1:4] / self.mass)


@dataclass(frozen=True)
class Log:
    """Readings of one run in the order of arrival, and its truth tick by tick."""

    robot: Robot
    readings: tuple[Reading, ...]
    truth: LeggedTruth
    series: TruthSeries

    def aligned(self, config: PrimeConfig, steps: int | None = None) -> AlignedLog:
        """On the estimator's grid, with the windows its sensors are configured to take; at most `steps` of it."""
        sensors = build_sensors(self.robot, config.sensors)
        aligner = Aligner(channel_specs(sensors, config.sensors), GridConfig(dt=config.step))
        for reading in self.readings:
            push(aligner, self.robot, reading)
        aligner.flush()
        found = aligner.take()[0]
        count = len(found) if steps is None else min(steps, len(found))
        samples = {name: entry.between(0, count) for name, entry in found.samples.items()}
        found = replace(found, times=found.times[:count], samples=samples)
        series, times = self.series, found.times - START
        at = np.clip(np.round((times - series.time[0]) / series.duration).astype(int), 0, len(series.time) - 1)
        around = average_forces(series, times, config.step)
        after = _after(series, times, config.step)
        return AlignedLog(self.robot, found, self.truth, series.q[at], series.v[at], around, after)


def record(scenario: Scenario, seed: int, *, skip: float = 0.0) -> Log:
    """Runs a scenario; the first `skip` seconds of readings are dropped."""
    sim = LeggedRobotSim(scenario.config, np.random.default_rng(seed), start=START)
    readings = tuple(reading for reading in sim.run(skip + scenario.duration) if reading.stamp >= START + skip)
    return Log(sim.robot, readings, sim.truth, sim.series())


def _after(truth: TruthSeries, times: Array, dt: float) -> Array:
    """(N, nc, 3) means of the true forces over [t, t + dt]."""
    impulse = np.concatenate([np.zeros((1, *truth.force_mean.shape[1:])), np.cumsum(truth.force_mean, axis=0)])
    impulse *= truth.duration
    grid = truth.time[0] + truth.duration * np.arange(len(impulse))
    flat = impulse.reshape(len(grid), -1)
    out = np.full((len(times), *truth.force_mean.shape[1:]), np.nan)
    inside = (times >= grid[0] - 1e-9) & (times + dt <= grid[-1] + 1e-9)
    both = [np.array([np.interp(times[inside] + shift, grid, column) for column in flat.T]).T for shift in (0.0, dt)]
    out[inside] = ((both[1] - both[0]) / dt).reshape(-1, *truth.force_mean.shape[1:])
    return out
