# SPDX-License-Identifier: Apache-2.0
"""The topics of a motion estimate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped, WrenchStamped
from nav_msgs.msg import Odometry
from online_sysid.msg import ContactForces, InertialEstimate
from rclpy.node import Node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.geometry import header, quaternion, vector
from sysid_nodes.messages.prime.contact_markers import contact_marker_fields
from sysid_nodes.messages.prime.estimate import (
    BASE_WRENCH,
    BASE_WRENCH_SIGMA,
    CONTACT_FORCES,
    INERTIA,
    MARKERS,
    ODOMETRY,
    SMOOTHED,
)
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.robots import Robot
from sysid_nodes.robots.links import base_link
from sysid_nodes.ros import qos
from sysid_nodes.ros.prime.messages import (
    to_contact_forces,
    to_inertial_estimate,
    to_joint_state,
    to_odometry,
    to_wrenches,
)
from sysid_nodes.sessions.prime.update import PrimeUpdate

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # not among the PyPI wheels
    TFMessage = None


class PrimePublishers:
    """Publishes updates: motion and forces with every one, markers and parameters more rarely.

    Args:
        node: owner of the publishers.
        robot: what is estimated.
        normal: of the ground in the world.
        marker_period: time between two messages of markers [s].
        inertia_period: time between two messages of parameters [s].
        tf: publish the base's transform where tf2_msgs is installed.
        outside: publish the force on the base from outside, which then is estimated.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        normal: tuple[float, ...],
        *,
        marker_period: float,
        inertia_period: float,
        tf: bool,
        outside: bool,
    ) -> None:
        self._node, self._robot, self._base = node, robot, base_link(robot)
        self._normal = np.array(normal)
        self._periods = {MARKERS: marker_period, INERTIA: inertia_period}
        self._last: dict[str, float] = {}
        self._status = PrimeStatus.STARTING
        self._forces = node.create_publisher(ContactForces, CONTACT_FORCES, 10)
        self._odometry = node.create_publisher(Odometry, ODOMETRY, 10)
        self._joints = node.create_publisher(JointState, SMOOTHED, 10)
        self._markers = node.create_publisher(MarkerArray, MARKERS, 10)
        self._inertia = node.create_publisher(InertialEstimate, INERTIA, qos.LATCHED)
        self._all: list[Any] = [self._forces, self._odometry, self._joints, self._markers, self._inertia]
        topics = (BASE_WRENCH, BASE_WRENCH_SIGMA) if outside else ()
        self._wrenches = {topic: node.create_publisher(WrenchStamped, topic, 10) for topic in topics}
        self._all.extend(self._wrenches.values())
        self._tf = None
        if tf and TFMessage is not None:
            self._tf = node.create_publisher(TFMessage, "/tf", 100)
            self._all.append(self._tf)

    def publish(self, update: PrimeUpdate) -> None:
        """Publishes one update."""
        for k in update.stages:
            self._forces.publish(to_contact_forces(update, k))
            self._odometry.publish(to_odometry(update, k, self._base))
            self._joints.publish(to_joint_state(update, k, self._robot.joint_names))
            for topic, message in to_wrenches(update, k, self._base).items():
                self._wrenches[topic].publish(message)
        changed = update.judgement.status is not self._status
        self._status = update.judgement.status
        if self._markers.get_subscription_count() and self._due(MARKERS, update.t, now=changed):
            self._markers.publish(to_message(MarkerArray, contact_marker_fields(update, self._normal)))
        if update.estimate.bodies and self._due(INERTIA, update.t, now=changed):
            self._inertia.publish(to_inertial_estimate(update, self._robot))
        if self._tf is not None:
            self._tf.publish(TFMessage(transforms=[self._transform(update)]))

    def destroy(self) -> None:
        """Gives the publishers back."""
        for publisher in self._all:
            self._node.destroy_publisher(publisher)

    def _due(self, topic: str, t: float, *, now: bool) -> bool:
        last = self._last.get(topic, -math.inf)
        if not now and last <= t < last + self._periods[topic] - 1e-6:
            return False
        self._last[topic] = t
        return True

    def _transform(self, update: PrimeUpdate) -> TransformStamped:
        q = update.estimate.q[update.stage]
        moved = {"translation": vector(q[:3]), "rotation": quaternion(q[3:7])}
        fields = {
            "header": header(update.t, update.frames.world),
            "child_frame_id": update.frames.prefix + self._base,
            "transform": moved,
        }
        message: TransformStamped = to_message(TransformStamped, fields)
        return message
