# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the simulated legged robots, made once and looked at by many tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig, Reading, TruthSeries


@dataclass(frozen=True)
class Run:
    sim: LeggedRobotSim
    readings: list[Reading]
    truth: TruthSeries

    def stream(self, name: str) -> list[Any]:
        return [reading for reading in self.readings if reading.stream == name]


def make_run(duration: float, seed: int = 0, faults: Any = (), **options: Any) -> Run:
    """A run with dotted options written with double underscores."""
    config = from_flat(LeggedSimulationConfig, {key.replace("__", "."): value for key, value in options.items()})
    sim = LeggedRobotSim(config, np.random.default_rng(seed), faults=faults)
    readings = list(sim.run(duration))
    return Run(sim, readings, sim.series())


@pytest.fixture(scope="session")
def run() -> Any:
    return make_run


@pytest.fixture(scope="session")
def go2_show() -> Run:
    return make_run(10.0, load__mass=3.0, load__position=(0.03, 0.02, 0.08))


@pytest.fixture(scope="session")
def g1_show() -> Run:
    return make_run(15.0, robot="g1", load__mass=2.9, load__position=(0.02, 0.0, 0.15))
