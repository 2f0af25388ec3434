# SPDX-License-Identifier: Apache-2.0
"""Streams of several topics, in the order they were recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.sensor_reader import SensorLog
from sysid_nodes.logs.writer import BagWriter
from sysid_nodes.sensors import SOURCES

JOINT_STATE, POSE = "sensor_msgs/msg/JointState", "geometry_msgs/msg/PoseStamped"


def header(stamp: int) -> dict[str, Any]:
    return {"stamp": {"sec": stamp, "nanosec": 0}}


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    """Joint states recorded at 1 and 3 s and a pose between them; an IMU was announced and never spoke."""
    with BagWriter(tmp_path / "bag") as writer:
        writer.add_topic("/joint_states", JOINT_STATE)
        writer.add_topic("/imu/data", "sensor_msgs/msg/Imu")
        writer.add_topic("/mocap/pose", POSE)
        for stamp in (1, 3):
            writer.write("/joint_states", float(stamp), {"header": header(stamp), "name": ["a"], "position": [0.1]})
        writer.write("/mocap/pose", 2.0, {"header": header(2), "pose": {"orientation": {"w": 1.0}}})
    return tmp_path / "bag"


def test_streams_come_merged_and_a_topic_without_messages_is_missing(bag: Path) -> None:
    log = SensorLog(bag, SOURCES[:3])
    assert [readings.stamp for readings in log] == [1.0, 2.0, 3.0]
    assert log.missing == ("/imu/data",)
    assert "mocap_pose" in log.streams and "gyroscope" not in log.streams
    assert log.joint_names(10) == {("a",)}
    assert len(log) == 3


def test_a_topic_by_another_name_and_the_first_that_is_missing(bag: Path) -> None:
    assert SensorLog(bag, SOURCES[:3], {"pose": "elsewhere"}).missing == ("/imu/data", "/elsewhere")
    with pytest.raises(LogError, match="/js"):
        list(SensorLog(bag, SOURCES[:1], {"joints": "/js"}))
