# SPDX-License-Identifier: Apache-2.0
"""Voltage and current of a recording, in one message or in two."""

from __future__ import annotations

from pathlib import Path

import pytest

from sysid_nodes.exceptions import ConfigError, LogError
from sysid_nodes.logs.power_reader import BATTERY_STATE, NUMBER, RawPower, has_power, power_topics, read_power
from sysid_nodes.logs.writer import BagWriter


def write_numbers(path: Path, readings: list[tuple[str, float, float]]) -> Path:
    """Topic, time of recording and value of each."""
    with BagWriter(path) as bag:
        for topic in sorted({topic for topic, _, _ in readings}):
            bag.add_topic(topic, NUMBER)
        for topic, t, value in readings:
            bag.write(topic, t, {"data": value})
    return path


def test_a_current_has_the_voltage_before_it(tmp_path: Path) -> None:
    readings = [
        ("/i", 0.9, 7.0),  # of an unknown voltage
        ("/u", 1.0, 48.0),
        ("/i", 1.25, 2.0),
        ("/i", 1.5, -3.0),
        ("/u", 1.75, 50.0),
        ("/i", 2.0, 4.0),
    ]
    found = list(read_power(write_numbers(tmp_path / "bag", readings), "u, i"))
    assert found == [RawPower(1.25, 48.0, -2.0), RawPower(1.5, 48.0, 3.0), RawPower(2.0, 50.0, -4.0)]


def test_a_topic_that_is_missing(tmp_path: Path) -> None:
    path = write_numbers(tmp_path / "bag", [("/u", 1.0, 48.0)])
    assert list(read_power(path, "power")) == []
    assert list(read_power(path, "")) == []
    with pytest.raises(LogError, match="'/i'"):
        list(read_power(path, "u,i"))
    with pytest.raises(LogError, match="Float64"):
        list(read_power(path, "u"))


def test_a_topic_without_a_message_is_as_good_as_missing(tmp_path: Path) -> None:
    """A recorder that subscribed to a meter which never spoke."""
    with BagWriter(tmp_path / "bag") as bag:
        bag.add_topic("/power", BATTERY_STATE)
        bag.add_topic("/other", NUMBER)
        bag.write("/other", 1.0, {"data": 1.0})
    assert not has_power(tmp_path / "bag", "power")
    assert list(read_power(tmp_path / "bag", "power")) == []


@pytest.mark.parametrize("power", ["u,i,p", "u,", ","])
def test_topics_that_are_none_or_too_many(power: str) -> None:
    with pytest.raises(ConfigError, match="'power' names one topic"):
        power_topics(power)
