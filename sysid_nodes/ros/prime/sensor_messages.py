"""Sensor messages as a motion session takes them; nothing is judged here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState

from sysid_nodes.ros.conversions import to_seconds
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.sessions.prime.update import PrimeUpdate

Feed = Callable[[PrimeSession], "PrimeUpdate | None"]
"""Gives a session what a message holds."""


def from_joint_state(message: JointState) -> Feed:
    """Readings of a JointState, in its own order of joints."""
    stamp = to_seconds(message.header.stamp)
    names, position, velocity, effort = message.name, message.position, message.velocity, message.effort
    return lambda session: session.joints(stamp, names, np.array(position), np.array(velocity), np.array(effort))


def from_imu(message: Imu) -> Feed:
    """Readings of an Imu; one that gives no orientation says so by a covariance of -1."""
    stamp = to_seconds(message.header.stamp)
    turn, gyro, specific = message.orientation, message.angular_velocity, message.linear_acceleration
    orientation = None if message.orientation_covariance[0] == -1.0 else np.array([turn.x, turn.y, turn.z, turn.w])
    return lambda session: session.imu(
        stamp, orientation, np.array([gyro.x, gyro.y, gyro.z]), np.array([specific.x, specific.y, specific.z])
    )


def from_pose(message: PoseStamped) -> Feed:
    """Reading of a motion capture pose."""
    stamp = to_seconds(message.header.stamp)
    place, turn = message.pose.position, message.pose.orientation
    return lambda session: session.pose(
        stamp, np.array([place.x, place.y, place.z]), np.array([turn.x, turn.y, turn.z, turn.w])
    )


def from_odometry(message: Odometry) -> Feed:
    """Linear velocity of an Odometry; its pose is not used."""
    return _velocity(message.header.stamp, message.twist.twist.linear)


def from_twist(message: TwistStamped) -> Feed:
    """Linear velocity of a TwistStamped."""
    return _velocity(message.header.stamp, message.twist.linear)


def _velocity(stamp: Time, linear: Vector3) -> Feed:
    seconds, values = to_seconds(stamp), np.array([linear.x, linear.y, linear.z])
    return lambda session: session.velocity(seconds, values)
