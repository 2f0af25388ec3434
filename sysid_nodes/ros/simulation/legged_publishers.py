# SPDX-License-Identifier: Apache-2.0
"""Readings of a simulated legged robot as the messages its drivers would publish."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TransformStamped
from nav_msgs.msg import Odometry
from online_sysid.msg import ContactForces
from rclpy.node import Node
from sensor_msgs.msg import Imu, JointState

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.geometry import header, quaternion, vector
from sysid_nodes.messages.unitree.low_state import TOPIC, fill_low_state, low_state_type
from sysid_nodes.robots import Robot
from sysid_nodes.robots.links import base_link
from sysid_nodes.robots.robot import Array
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_stamp
from sysid_nodes.simulation.legged import ImuReading, JointReading, PoseReading, Reading, TruthSample, VelocityReading

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # not among the PyPI wheels
    TFMessage = None

JOINTS, IMU, POSE, VELOCITY = "joint_states", "imu/data", "mocap/pose", "velocity"
"""Topics, relative to the node's namespace."""

_DEPTH = 1000
_WORLD = "world"


class LeggedPublishers:
    """Publishes each reading as it arrives, stamped by the sensors' clock.

    Args:
        node: owner of the publishers.
        robot: names the IMU's link and the vendor's order of motors.
        low_state: publish Unitree's LowState instead of JointState and Imu.
        velocity: publish velocities too.
        commands: topic of the set-points; empty: they are not published.
        reliability: best_effort, as drivers publish, or reliable.
        tf: publish the base's transform with every pose, where tf2_msgs is installed.
        prefix: goes before the names of the robot's frames.

    Attributes:
        start: stamp of simulated time zero [s].
        published: messages by topic.

    Raises:
        ConfigError: LowState is wanted and its message package is not installed.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        *,
        low_state: bool,
        velocity: bool = False,
        commands: str = "",
        reliability: str = "best_effort",
        tf: bool = False,
        prefix: str = "",
    ) -> None:
        profile = qos.stream(reliability, _DEPTH)
        self.start = 0.0
        self.published: dict[str, int] = {}
        self._low_state: Any = low_state_type(robot) if low_state else None
        self._pose = node.create_publisher(PoseStamped, POSE, profile)
        self._publishers: list[Any] = [self._pose]
        if self._low_state is not None:
            self._motors = node.create_publisher(self._low_state, TOPIC, profile)
            self._publishers.append(self._motors)
            self._inertial: ImuReading | None = None
            self._order = JointOrder(robot.motor_order)
        else:
            self._joints = node.create_publisher(JointState, JOINTS, profile)
            self._imu = node.create_publisher(Imu, IMU, profile)
            self._publishers += [self._joints, self._imu]
        self._names = robot.joint_names
        self._commands = node.create_publisher(JointState, commands, profile) if commands else None
        if self._commands is not None:
            self._publishers.append(self._commands)
        self._velocity = node.create_publisher(Odometry, VELOCITY, profile) if velocity else None
        self._base_link = prefix + base_link(robot)
        self._tf = node.create_publisher(TFMessage, "/tf", 100) if tf and TFMessage is not None else None
        if self._velocity is not None:
            self._publishers.append(self._velocity)
        self._joint_message, self._imu_message, self._pose_message = JointState(), Imu(), PoseStamped()
        self._imu_message.header.frame_id = prefix + robot.imu
        self._pose_message.header.frame_id = _WORLD

    @property
    def listeners(self) -> int:
        """Subscriptions of the stream that has the fewest."""
        return min(int(publisher.get_subscription_count()) for publisher in self._publishers)

    def publish(self, reading: Reading) -> None:
        """Publishes one reading."""
        if isinstance(reading, PoseReading):
            self._send(self._pose, self._fill_pose(reading))
            if self._tf is not None:
                self._tf.publish(TFMessage(transforms=[self._transform(reading)]))
        elif isinstance(reading, VelocityReading):
            head = header(self.start + reading.stamp, _WORLD)
            twist = {"twist": {"linear": vector(reading.linear)}}
            fields = {"header": head, "child_frame_id": self._base_link, "twist": twist}
            self._send(self._velocity, to_message(Odometry, fields))
        elif self._low_state is not None:
            self._publish_low_state(reading)
        elif isinstance(reading, JointReading):
            message = self._joint_message
            message.header.stamp = to_stamp(self.start + reading.stamp)
            message.name = list(reading.names)
            message.position = array("d", reading.position)
            message.velocity = array("d", reading.velocity)
            message.effort = array("d", reading.effort)
            self._send(self._joints, message)
        else:
            self._send(self._imu, self._fill_imu(reading))

    def command(self, stamp: float, target: Array) -> None:
        """Publishes set-points (n,) [rad] at a time of the sensors' clock [s]."""
        if self._commands is not None:
            head = header(self.start + stamp)
            fields = {"header": head, "name": list(self._names), "position": target.tolist()}
            self._send(self._commands, to_message(JointState, fields))

    def _fill_imu(self, reading: ImuReading) -> Imu:
        message = self._imu_message
        message.header.stamp = to_stamp(self.start + reading.stamp)
        turn, gyro, specific = message.orientation, message.angular_velocity, message.linear_acceleration
        turn.x, turn.y, turn.z, turn.w = reading.orientation.tolist()
        gyro.x, gyro.y, gyro.z = reading.gyro.tolist()
        specific.x, specific.y, specific.z = reading.accelerometer.tolist()
        return message

    def _fill_pose(self, reading: PoseReading) -> PoseStamped:
        message = self._pose_message
        message.header.stamp = to_stamp(self.start + reading.stamp)
        place, turn = message.pose.position, message.pose.orientation
        place.x, place.y, place.z = reading.position.tolist()
        turn.x, turn.y, turn.z, turn.w = reading.orientation.tolist()
        return message

    def _transform(self, reading: PoseReading) -> TransformStamped:
        fields = {
            "header": header(self.start + reading.stamp, _WORLD),
            "child_frame_id": self._base_link,
            "transform": {
                "translation": vector(reading.position),
                "rotation": quaternion(reading.orientation),
            },
        }
        message: TransformStamped = to_message(TransformStamped, fields)
        return message

    def _publish_low_state(self, reading: Reading) -> None:
        """One message a joint reading, with the newest inertial reading."""
        if isinstance(reading, ImuReading):
            self._inertial = reading
        elif isinstance(reading, JointReading) and self._inertial is not None:
            order = self._order.columns(reading.names)
            message = self._low_state()
            fill_low_state(
                message,
                tick=round(1e3 * reading.stamp),
                position=reading.position[order],
                velocity=reading.velocity[order],
                effort=reading.effort[order],
                orientation=self._inertial.orientation,
                gyro=self._inertial.gyro,
                accelerometer=self._inertial.accelerometer,
            )
            self._send(self._motors, message)

    def _send(self, publisher: Any, message: Any) -> None:
        publisher.publish(message)
        self.published[publisher.topic_name] = self.published.get(publisher.topic_name, 0) + 1


class TruthPublishers:
    """Publishes the hidden truth below /truth, for a person who compares; no estimator listens there.

    Args:
        node: owner of the publishers.
    """

    def __init__(self, node: Node, robot: Robot) -> None:
        self._forces = node.create_publisher(ContactForces, "truth/contact_forces", 10)
        self._odometry = node.create_publisher(Odometry, "truth/odom", 10)
        self._names = tuple(point.name for point in robot.contacts)

    def publish(self, start: float, samples: Sequence[TruthSample]) -> None:
        """Publishes the mean forces of some ticks, stamped in their midst, and the pose at the last.

        Args:
            start: stamp of the simulation's beginning [s].
            samples: of consecutive ticks.
        """
        last = samples[-1]
        midst = start + 0.5 * (samples[0].time + last.time + last.duration)
        force = np.mean([sample.force_mean for sample in samples], axis=0)
        touch = np.mean([sample.contact for sample in samples], axis=0)
        contacts = [
            {
                "frame": name,
                "position": vector(last.position[k]),
                "force": vector(force[k]),
                "gap": float(last.gap[k]),
                "in_contact": bool(touch[k] >= 0.5),
            }
            for k, name in enumerate(self._names)
        ]
        told = {"header": header(midst, _WORLD), "contacts": contacts}
        self._forces.publish(to_message(ContactForces, told))
        head = header(start + last.time, _WORLD)
        pose = {"pose": {"position": vector(last.q[:3]), "orientation": quaternion(last.q[3:7])}}
        twist = {"twist": {"linear": vector(last.v[:3]), "angular": vector(last.v[3:6])}}
        self._odometry.publish(to_message(Odometry, {"header": head, "pose": pose, "twist": twist}))
