# SPDX-License-Identifier: Apache-2.0
"""Readings out of standard messages, ROS's own or decoded from a recording; nothing is judged here."""

from __future__ import annotations

from typing import Any

import numpy as np

from sysid_nodes.data.readings import Readings
from sysid_nodes.sensors.sensor import Array
from sysid_nodes.signals.stream import seconds

_ABSENT = -1.0  # first entry of a covariance that says that there is no such reading (sensor_msgs/Imu)


def stamp(message: Any) -> float:
    """The header's stamp [s]."""
    return seconds(message.header.stamp.sec, message.header.stamp.nanosec)


def numbers(value: Any, names: str) -> Array:
    """Fields of one letter each as an array."""
    return np.array([getattr(value, name) for name in names], dtype=np.float64)


def read_joint_state(message: Any) -> Readings:
    """Positions, velocities and torques of a JointState, in its own order of joints."""
    values = {
        "joint_position": np.array(message.position, dtype=np.float64),
        "joint_velocity": np.array(message.velocity, dtype=np.float64),
        "joint_torque": np.array(message.effort, dtype=np.float64),
    }
    return Readings(stamp(message), values, tuple(message.name))


def read_imu(message: Any) -> Readings:
    """Angular velocity, specific force and, where the Imu gives one, orientation (x, y, z, w)."""
    values = {
        "gyroscope": numbers(message.angular_velocity, "xyz"),
        "accelerometer": numbers(message.linear_acceleration, "xyz"),
    }
    if float(message.orientation_covariance[0]) != _ABSENT:
        values["imu_orientation"] = numbers(message.orientation, "xyzw")
    return Readings(stamp(message), values)


def read_pose(message: Any) -> Readings:
    """A motion capture pose from a PoseStamped: position [m], orientation (x, y, z, w)."""
    place, turn = message.pose.position, message.pose.orientation
    pose = np.concatenate([numbers(place, "xyz"), numbers(turn, "xyzw")])
    return Readings(stamp(message), {"mocap_pose": pose}, frame=message.header.frame_id)


def read_odometry(message: Any) -> Readings:
    """Linear velocity [m/s] of an Odometry; its pose is not used."""
    return Readings(stamp(message), {"base_velocity": numbers(message.twist.twist.linear, "xyz")})


def read_twist(message: Any) -> Readings:
    """Linear velocity [m/s] of a TwistStamped."""
    return Readings(stamp(message), {"base_velocity": numbers(message.twist.linear, "xyz")})
