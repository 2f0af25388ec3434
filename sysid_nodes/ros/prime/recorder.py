# SPDX-License-Identifier: Apache-2.0
"""Records every topic of a legged robot's demo into a bag, and tells a parent process how things stand.

    python -m sysid_nodes.ros.prime.recorder BAG

The parent needs no ROS: it reads JSON objects, one a line, from stdout, and writes commands, one a line, to stdin.

    {"forces": {"t": ..., "normal": [...], "touches": [...], "status": N}}    some of the estimate's ContactForces
    {"truth": {"t": ..., "normal": [...], "touches": [...]}}                  the simulated robot's true ones
    {"inertia": {...}}           every InertialEstimate message, its arrays as lists
    {"count": N, "diagnostics": {"NODE: WHAT": {"key": "value", ...}}}        five times a second
    stop                         completes the bag; answer {"recorded": N}, then the end

Messages are written as they come over the wire, in the order in which they came: their log times are those of the
newest sensor stamp, and never the same twice. When stdin closes without a stop, or on a signal, the bag is dropped.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from online_sysid.msg import ContactForces, InertialEstimate
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.logs import BagWriter
from sysid_nodes.messages.prime.estimate import CONTACT_FORCES, INERTIA, MARKERS, ODOMETRY, SMOOTHED
from sysid_nodes.ros import qos
from sysid_nodes.ros.certified.recorder import Recorded, Recording, as_fields, header_stamp, record, tell
from sysid_nodes.ros.conversions import to_seconds

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
    Recorded(CONTACT_FORCES, ContactForces, _STREAM, "forces"),
    Recorded("/truth/contact_forces", ContactForces, _STREAM, "truth"),
    Recorded("/truth/odom", Odometry, _STREAM),
    Recorded(INERTIA, InertialEstimate, qos.LATCHED, "inertia"),
    Recorded(ODOMETRY, Odometry, _STREAM),
    Recorded(SMOOTHED, JointState, _STREAM),
    Recorded(MARKERS, MarkerArray, _STREAM),
    Recorded("/diagnostics", DiagnosticArray, _STREAM),
)
"""All that robot and estimator say."""


class PrimeRecorder(Recording):
    """Writes every message of a walking robot and its estimator as it arrives."""

    def __init__(self, bag: BagWriter) -> None:
        super().__init__(bag)
        self._now = self._forces = 0
        for topic in TOPICS:
            bag.add_topic(topic.name, topic.type_name, latched=topic.profile is qos.LATCHED)
            take = self._reading if topic in STREAMS else self._message
            self.create_subscription(topic.message, topic.name, partial(take, topic), topic.profile, raw=True)

    def _reading(self, topic: Recorded, data: bytes) -> None:
        self._now = max(self._now + 1, header_stamp(data))
        self._bag.write_serialized(topic.name, self._now, data)
        self.count += 1

    def _message(self, topic: Recorded, data: bytes) -> None:
        if self.count:  # before there is no time of the robot's
            self._now += 1
            self._bag.write_serialized(topic.name, self._now, data)
        if topic.message is DiagnosticArray:
            self._note(data)
        elif topic.word == "inertia":
            tell({topic.word: as_fields(deserialize_message(data, topic.message))})
        elif topic.word:
            self._forces += topic.word == "forces"
            if topic.word == "truth" or self._forces % _EVERY == 0:
                tell({topic.word: _brief(deserialize_message(data, topic.message))})


def _brief(message: ContactForces) -> dict[str, Any]:
    return {
        "t": to_seconds(message.header.stamp),
        "normal": [contact.force.z for contact in message.contacts],
        "touches": [bool(contact.in_contact) for contact in message.contacts],
        "status": int(message.status),
    }


if __name__ == "__main__":
    sys.exit(record(sys.argv[1], PrimeRecorder))
