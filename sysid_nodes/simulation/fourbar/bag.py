# SPDX-License-Identifier: Apache-2.0
"""Readings of a simulated leg as a recording: joint states of the motors, and a power meter."""

from __future__ import annotations

from pathlib import Path

from sysid_nodes.logs.writer import BagWriter, stamp_fields
from sysid_nodes.simulation.fourbar.leg import MOTORS, LegRecord

START = 1000.0
"""Stamp of the first reading [s]."""


def write_leg_bag(path: Path, record: LegRecord, *, power: bool = True) -> None:
    """Writes /joint_states and /power, a battery whose current is negative as it gives power.

    Raises:
        LogError: the path holds something else, or cannot be written.
    """
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
