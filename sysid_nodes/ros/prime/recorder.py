# SPDX-License-Identifier: Apache-2.0
"""Records every topic of a legged robot's demo into a bag, and tells a parent process how things stand.

    python -m sysid_nodes.ros.prime.recorder BAG ROBOT

Beside what `recording.py` says:

    {"forces": {"t": ..., "normal": [...], "touches": [...], "status": N}}    some of the estimate's ContactForces
    {"truth": {"t": ..., "normal": [...], "touches": [...]}}                  the simulated robot's true ones
    {"inertia": {...}}           every InertialEstimate message, its arrays as lists
"""

from __future__ import annotations

import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from online_sysid.msg import ContactForces, InertialEstimate
from sensor_msgs.msg import Imu, JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.logs import BagWriter
from sysid_nodes.logs.storage import absolute
from sysid_nodes.messages.prime.estimate import CONTACT_FORCES, INERTIA, MARKERS, ODOMETRY, SMOOTHED
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_seconds
from sysid_nodes.ros.recording import DIAGNOSTICS, Recorded, StreamRecorder, record, tell

_EVERY = 4  # of the estimate's forces one in so many is told
_SENSOR = qos.stream("best_effort", 5000)
_STREAM = qos.stream("reliable", 5000)

STREAMS = (
    Recorded("/joint_states", JointState, _SENSOR),
    Recorded("/imu/data", Imu, _SENSOR),
    Recorded("/mocap/pose", PoseStamped, _SENSOR),
)
"""Topics of the robot."""

TOPICS = (
    *STREAMS,
    Recorded(absolute(CONTACT_FORCES), ContactForces, _STREAM, "forces"),
    Recorded("/truth/contact_forces", ContactForces, _STREAM, "truth"),
    Recorded("/truth/odom", Odometry, _STREAM),
    Recorded(absolute(INERTIA), InertialEstimate, qos.LATCHED, "inertia"),
    Recorded(absolute(ODOMETRY), Odometry, _STREAM),
    Recorded(absolute(SMOOTHED), JointState, _STREAM),
    Recorded(absolute(MARKERS), MarkerArray, _STREAM),
    Recorded(DIAGNOSTICS, DiagnosticArray, _STREAM),
)
"""All that robot and estimator say."""


class PrimeRecorder(StreamRecorder):
    """Writes what a walking robot and its estimator say."""

    def __init__(self, bag: BagWriter, robot: Robot) -> None:
        super().__init__(bag, TOPICS, STREAMS, robot)
        self._forces = 0

    def _tell(self, word: str, message: Any) -> None:
        if word == "inertia":
            super()._tell(word, message)
            return
        self._forces += word == "forces"
        if word == "truth" or self._forces % _EVERY == 0:
            tell({word: _brief(message)})


def _brief(message: ContactForces) -> dict[str, Any]:
    return {
        "t": to_seconds(message.header.stamp),
        "normal": [contact.force.z for contact in message.contacts],
        "touches": [bool(contact.in_contact) for contact in message.contacts],
        "status": int(message.status),
    }


if __name__ == "__main__":
    sys.exit(record(sys.argv[1], lambda bag: PrimeRecorder(bag, load_robot(sys.argv[2]))))
