# SPDX-License-Identifier: Apache-2.0
"""A short recording of the four-bar leg, and options for an identification that is quick rather than thorough."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from sysid_nodes.logs.writer import BagWriter, stamp_fields
from sysid_nodes.simulation.fourbar.leg import MOTORS, LegRecord, LegTruth, simulate_leg

CONFIG = Path("config/fourbar_bayesian.yaml")

START = 1000.0
"""Stamp of the first reading [s]."""

VALUES = {
    "bayesian.step": 0.02,
    "bayesian.search.starts": 1,
    "bayesian.noise.rounds": 4,
    "bayesian.verdict.samples": 2000,
    "bayesian.online.samples": 500,
}
QUICK = [f"--set={name}={value}" for name, value in VALUES.items()]


@cache
def leg_record(duration: float) -> tuple[LegTruth, LegRecord]:
    """A hidden leg and its readings at 200 Hz."""
    rng = np.random.default_rng(5)
    truth = LegTruth.draw(rng)
    return truth, simulate_leg(truth, duration, rng, rate=200.0)


def write_leg(path: Path, duration: float, *, power: bool = True) -> LegTruth:
    """Writes the recording and returns what is hidden."""
    truth, record = leg_record(duration)
    write_leg_bag(path, record, power=power)
    return truth


def write_leg_bag(path: Path, record: LegRecord, *, power: bool = True) -> None:
    """Writes /joint_states and /power, a battery whose current is negative as it gives power."""
    with BagWriter(path) as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
        if power:
            bag.add_topic("/power", "sensor_msgs/msg/BatteryState")
        for k, t in enumerate(record.t.tolist()):
            header = {"stamp": stamp_fields(START + t)}
            state = {"name": MOTORS, "position": record.position[k].tolist(), "effort": record.torque[k].tolist()}
            bag.write("/joint_states", START + t, {"header": header, **state})
            if power:
                supply = {"voltage": float(record.voltage[k]), "current": -float(record.current[k])}
                bag.write("/power", START + t, {"header": header, **supply, "present": True})
