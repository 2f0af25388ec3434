# SPDX-License-Identifier: Apache-2.0
"""Live messages come as bytes: they are read as rclpy's own messages are."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from rclpy.serialization import serialize_message

from sysid_nodes.logs.messages import standard_decoder
from sysid_nodes.ros.conversions import message_type
from sysid_nodes.sensors import SOURCES

pytestmark = pytest.mark.ros


@pytest.mark.parametrize("kind", sorted({kind for source in SOURCES for kind in source.types}))
def test_bytes_are_read_as_rclpy_s_message(kind: str) -> None:
    message, rng = message_type(kind)(), np.random.default_rng(1)
    if kind == "sensor_msgs/msg/JointState":
        message.name = ["hip", "knee"]
        message.position, message.velocity, message.effort = rng.normal(size=(3, 2)).tolist()
    if kind == "sensor_msgs/msg/Imu":
        gyro, specific = message.angular_velocity, message.linear_acceleration
        gyro.x, gyro.y, gyro.z, specific.x, specific.y, specific.z = rng.normal(size=6).tolist()
    message.header.stamp.sec, message.header.stamp.nanosec, message.header.frame_id = 100, 250000001, "world"
    read = next(source.types[kind] for source in SOURCES if kind in source.types)
    found, wanted = read(standard_decoder(kind)(serialize_message(message))), read(message)
    assert (found.stamp, found.joints, found.frame) == (wanted.stamp, wanted.joints, wanted.frame)
    assert {name: own.tolist() for name, own in found.values.items()} == {
        name: own.tolist() for name, own in wanted.values.items()
    }
