# SPDX-License-Identifier: Apache-2.0
"""Messages in which a motion estimate is published."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from online_sysid.msg import ContactForces, InertialEstimate
from sensor_msgs.msg import JointState

from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.prime import estimate as plain
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.prime.update import PrimeUpdate

T = TypeVar("T")


def to_contact_forces(update: PrimeUpdate, k: int) -> ContactForces:
    """Forces of all contact points at stage k."""
    message: ContactForces = to_message(ContactForces, plain.contact_forces_fields(update, k))
    return message


def to_odometry(update: PrimeUpdate, k: int, child: str) -> Odometry:
    """Pose and twist of the base with covariance at stage k."""
    fields = plain.odometry_fields(update, k, child)
    for part in ("pose", "twist"):
        fields[part]["covariance"] = np.array(fields[part]["covariance"])
    message: Odometry = to_message(Odometry, fields)
    return message


def to_wrenches(update: PrimeUpdate, k: int, base: str) -> dict[str, WrenchStamped]:
    """Force and moment on the base from outside at stage k and their standard deviations, by topic."""
    return {topic: to_message(WrenchStamped, fields) for topic, fields in plain.wrench_fields(update, k, base).items()}


def to_joint_state(update: PrimeUpdate, k: int, names: tuple[str, ...]) -> JointState:
    """Smoothed joint positions and velocities at stage k."""
    message: JointState = to_message(JointState, plain.joint_state_fields(update, k, names))
    return message


def to_inertial_estimate(update: PrimeUpdate, robot: Robot, index: int = 0) -> InertialEstimate:
    """Inertial parameters of an identified body."""
    message: InertialEstimate = to_message(InertialEstimate, plain.inertia_fields(update, robot, index))
    return message
