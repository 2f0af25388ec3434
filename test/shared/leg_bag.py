# SPDX-License-Identifier: Apache-2.0
"""A short recording of the four-bar leg, and options for an identification that is quick rather than thorough."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sysid_nodes.simulation.fourbar.bag import write_leg_bag
from sysid_nodes.simulation.fourbar.leg import LegTruth, simulate_leg

CONFIG = Path("config/fourbar_bayesian.yaml")

QUICK = [
    f"--set=bayesian.{text}" for text in ("step=0.02", "search.starts=1", "noise.rounds=4", "verdict.samples=2000")
]


def write_leg(path: Path, duration: float, *, power: bool = True) -> LegTruth:
    """Writes the recording and returns what is hidden."""
    rng = np.random.default_rng(5)
    truth = LegTruth.drawn(rng)
    write_leg_bag(path, simulate_leg(truth, duration, rng, rate=200.0), power=power)
    return truth
