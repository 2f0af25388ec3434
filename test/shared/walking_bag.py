# SPDX-License-Identifier: Apache-2.0
"""Recordings of a simulated walking robot whose motors follow set-points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from shared.legged_bag import TOPICS, message

from benchmarks.sampling_log import START, TRUTH
from sysid_nodes.data.config import from_flat
from sysid_nodes.logs import BagWriter
from sysid_nodes.logs.reader import JOINT_STATE
from sysid_nodes.messages.geometry import header
from sysid_nodes.messages.markers import ARRAY_TYPE
from sysid_nodes.messages.sampling.plan import MARKERS as PLANNED
from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig, VelocityReading

COMMANDS = "/joint_commands"


def write_walk(path: Path, duration: float, seed: int = 0, **options: Any) -> LeggedRobotSim:
    """Simulates and records a walk, with the markers of a plan; returns the simulation, with its truth."""
    config = from_flat(LeggedSimulationConfig, {**TRUTH, **options})
    sim = LeggedRobotSim(config, np.random.default_rng(seed), start=START)
    readings = [reading for reading in sim.run(duration) if not isinstance(reading, VelocityReading)]
    names = list(sim.robot.joint_names)
    rows = [(reading.arrival, *message(reading)) for reading in readings]
    rows += [
        (stamp, COMMANDS, {"header": header(stamp), "name": names, "position": target.tolist()})
        for stamp, target in sim.set_points
    ]
    now = 0
    with BagWriter(path) as bag:
        for topic, kind in {**TOPICS, COMMANDS: JOINT_STATE}.items():
            bag.add_topic(topic, kind)
        bag.add_topic(PLANNED, ARRAY_TYPE, latched=True)
        for time, topic, fields in sorted(rows, key=lambda row: row[0]):
            now = max(now + 1, round(1e9 * time))
            bag.write(topic, now, fields)
        bag.write(PLANNED, now + 1, {"markers": [{"header": {"frame_id": "world"}, "ns": "exploration_path"}]})
    return sim
