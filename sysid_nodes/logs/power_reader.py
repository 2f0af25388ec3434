# SPDX-License-Identifier: Apache-2.0
"""Reads a power meter of a recording: the supply's voltage and current, as sensor_msgs/BatteryState has them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sysid_nodes.logs.reader import TopicLog, read_topics
from sysid_nodes.logs.storage import absolute
from sysid_nodes.signals.stream import seconds

BATTERY_STATE = "sensor_msgs/msg/BatteryState"


class RawPower(NamedTuple):
    """A reading: stamp [s], voltage [V], current [A], negative while power is drawn."""

    stamp: float
    voltage: float
    current: float


def from_battery_state(message: Any) -> RawPower:
    """ROS's message, or a decoded one."""
    stamp = message.header.stamp
    return RawPower(seconds(stamp.sec, stamp.nanosec), float(message.voltage), float(message.current))


def read_power(path: str | Path, topic: str) -> Iterable[RawPower]:
    """All readings of a topic; none where the recording does not have it.

    Raises:
        LogError: the recording cannot be read, or the topic is of another type.
    """
    if not any(found.name == absolute(topic) and found.count for found in read_topics(path)):
        return ()
    return TopicLog(path, topic, BATTERY_STATE, lambda _, message: from_battery_state(message))
