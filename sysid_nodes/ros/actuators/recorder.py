# SPDX-License-Identifier: Apache-2.0
"""Records every topic of the actuators' demo into a bag, and tells a parent process how things stand.

    python -m sysid_nodes.ros.actuators.recorder BAG

The parent needs no ROS: it reads JSON objects, one a line, from stdout, and writes commands, one a line, to stdin.

    {"models": {...}}            every ActuatorModels message, its arrays as lists
    {"count": N, "diagnostics": {"NODE: WHAT": {"key": "value", ...}}}        five times a second
    stop                         completes the bag; answer {"recorded": N}, then the end

Messages are written as they come over the wire, in the order in which they came: their log times are those of the
newest stamp, and never the same twice. When stdin closes without a stop, or on a signal, the bag is dropped.
"""

from __future__ import annotations

import sys
from functools import partial

from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import ActuatorModels
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from sysid_nodes.logs import BagWriter
from sysid_nodes.messages.actuators.models import TOPIC
from sysid_nodes.ros import qos
from sysid_nodes.ros.certified.recorder import Recorded, Recording, as_fields, header_stamp, record, tell
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig

_STREAM = qos.stream("reliable", 5000)

STREAMS = (
    Recorded("/joint_states", JointState, _STREAM),
    Recorded(ActuatorSessionConfig().commands, JointState, _STREAM),
)
"""Topics of the robot and of what commands it."""

TOPICS = (
    *STREAMS,
    Recorded(TOPIC, ActuatorModels, qos.LATCHED, "models"),
    Recorded("/diagnostics", DiagnosticArray, _STREAM),
)
"""All that robot and identifier say."""


class ActuatorRecorder(Recording):
    """Writes every message of a robot and of its actuators' identifier as it arrives."""

    def __init__(self, bag: BagWriter) -> None:
        super().__init__(bag)
        self._now = 0
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
        if topic.word:
            tell({topic.word: as_fields(deserialize_message(data, topic.message))})
        else:
            self._note(data)


if __name__ == "__main__":
    sys.exit(record(sys.argv[1], ActuatorRecorder))
