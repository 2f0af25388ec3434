# SPDX-License-Identifier: Apache-2.0
"""Reads a power meter of a recording: the supply's voltage and current.

Either sensor_msgs/BatteryState has both, or each comes as std_msgs/Float64, which has no stamp: such readings count
from when the current was recorded, or heard, with the voltage that came before it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.logs.reader import TopicLog, read_topics
from sysid_nodes.logs.storage import absolute
from sysid_nodes.signals.stream import seconds

BATTERY_STATE, NUMBER = "sensor_msgs/msg/BatteryState", "std_msgs/msg/Float64"


class RawPower(NamedTuple):
    """A reading: stamp [s], voltage [V], current [A], negative while power is drawn."""

    stamp: float
    voltage: float
    current: float


def from_battery_state(message: Any) -> RawPower:
    """ROS's message, or a decoded one."""
    stamp = message.header.stamp
    return RawPower(seconds(stamp.sec, stamp.nanosec), float(message.voltage), float(message.current))


def power_topics(power: str) -> tuple[str, ...]:
    """None, that of a BatteryState, or those of voltage and current, of the option "power".

    Raises:
        ConfigError: it names more, or one of two is empty.
    """
    topics = tuple(topic.strip() for topic in power.split(",")) if power else ()
    if len(topics) > 2 or not all(topics):
        raise ConfigError(f"'power' names one topic (BatteryState), or two (Float64: voltage, current): '{power}'")
    return topics


class PowerPair:
    """Puts voltage and current together that come one by one."""

    def __init__(self) -> None:
        self._voltage: float | None = None

    def take_voltage(self, voltage: float) -> None:
        """[V]."""
        self._voltage = voltage

    def take_current(self, stamp: float, current: float) -> RawPower | None:
        """The reading with a current [A], positive while power is drawn; None before there was a voltage."""
        return None if self._voltage is None else RawPower(stamp, self._voltage, -current)


def has_power(path: str | Path, power: str) -> bool:
    """Whether a recording has any reading of the topics that the option "power" names.

    Raises:
        ConfigError: see `power_topics`.
        LogError: the recording cannot be read.
    """
    topics = power_topics(power)
    recorded = {found.name for found in read_topics(path) if found.count}
    return bool(recorded & {absolute(topic) for topic in topics})


def read_power(path: str | Path, power: str) -> Iterable[RawPower]:
    """All readings of the topics that the option "power" names; none where the recording has none of them.

    Raises:
        ConfigError: see `power_topics`.
        LogError: the recording cannot be read, a topic is of another type, or one of two is missing.
    """
    if not has_power(path, power):
        return ()
    topics = power_topics(power)
    if len(topics) == 1:
        return TopicLog(path, topics[0], BATTERY_STATE, lambda _, message: from_battery_state(message))
    return _read_pair(path, topics)


def _read_pair(path: str | Path, topics: tuple[str, ...]) -> Iterator[RawPower]:
    voltage, current = (TopicLog(path, topic, NUMBER, lambda at, message: (at, message.data)) for topic in topics)
    both = [((at, 0, value) for at, value in voltage), ((at, 1, value) for at, value in current)]
    pair = PowerPair()
    for at, which, value in heapq.merge(*both):
        if which == 0:
            pair.take_voltage(float(value))
        elif (reading := pair.take_current(1e-9 * at, float(value))) is not None:
            yield reading
