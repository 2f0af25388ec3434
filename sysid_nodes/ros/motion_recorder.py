"""Records every topic of a legged robot's demo into a bag, and tells a parent process how things stand.

    python -m sysid_nodes.ros.motion_recorder BAG

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

import os
import select
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from online_sysid.msg import ContactForces, InertialEstimate
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.exceptions import SysidError
from sysid_nodes.logs import BagWriter
from sysid_nodes.reports.motion_message import CONTACT_FORCES, INERTIA, MARKERS, ODOMETRY, SMOOTHED
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_seconds
from sysid_nodes.ros.recorder import Recorded, as_fields, header_stamp, tell
from sysid_nodes.ros.spinning import make_executor

_PERIOD = 0.2  # between two reports [s]
_LOOK = 0.05  # between two looks at stdin [s]
_EVERY = 4  # of the estimate's forces one in so many is told
_STDIN, _CHUNK = 0, 65536
_SENSOR = qos.stream("best_effort", 5000)
_STREAM = qos.stream("reliable", 5000)

STREAMS = (
    Recorded("/joint_states", JointState, _SENSOR),
    Recorded("/imu/data", Imu, _SENSOR),
    Recorded("/mocap/pose", PoseStamped, _SENSOR),
)
"""What the robot says."""

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


class MotionRecorder(Node):
    """Writes every message as it arrives.

    Args:
        bag: open writer; declares its topics.

    Attributes:
        count: messages of the robot's streams recorded.
        diagnostics: newest values of each component.
        ended: a stop was asked for.
    """

    def __init__(self, bag: BagWriter) -> None:
        super().__init__("recorder")
        self.count, self.ended = 0, False
        self.diagnostics: dict[str, dict[str, str]] = {}
        self._bag = bag
        self._now = self._forces = 0
        self._commands = b""
        for topic in TOPICS:
            bag.add_topic(topic.name, topic.type_name, latched=topic.profile is qos.LATCHED)
            take = self._reading if topic in STREAMS else self._message
            self.create_subscription(topic.message, topic.name, partial(take, topic), topic.profile, raw=True)

    def listen(self) -> None:
        """Takes the commands that have come.

        Raises:
            KeyboardInterrupt: stdin is closed.
        """
        if select.select([_STDIN], [], [], 0.0)[0]:
            chunk = os.read(_STDIN, _CHUNK)
            if not chunk:
                raise KeyboardInterrupt
            *lines, self._commands = (self._commands + chunk).split(b"\n")
            self.ended |= b"stop" in lines

    def _reading(self, topic: Recorded, data: bytes) -> None:
        self._now = max(self._now + 1, header_stamp(data))
        self._bag.write_serialized(topic.name, self._now, data)
        self.count += 1

    def _message(self, topic: Recorded, data: bytes) -> None:
        if self.count:  # before there is no time of the robot's
            self._now += 1
            self._bag.write_serialized(topic.name, self._now, data)
        if topic.message is DiagnosticArray:
            for status in deserialize_message(data, DiagnosticArray).status:
                values = {item.key: item.value for item in status.values}
                self.diagnostics[status.name] = values | {"message": status.message}
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


def main(path: str) -> int:
    """Records until told to stop; returns the exit status: 0, 2 with one line on stderr, 130 when it was dropped."""
    rclpy.init(args=[])
    try:
        with BagWriter(Path(path)) as bag:
            node = MotionRecorder(bag)
            _record(node)
        tell({"recorded": node.count})
    except SysidError as error:
        sys.stderr.write(f"recorder: {error}\n")
        return 2
    except (KeyboardInterrupt, ExternalShutdownException, BrokenPipeError):
        return 130
    finally:
        rclpy.try_shutdown()
    return 0


def _record(node: MotionRecorder) -> None:
    executor = make_executor()
    executor.add_node(node)
    look = report = time.monotonic()
    try:
        while not node.ended:
            if not rclpy.ok():
                raise KeyboardInterrupt
            executor.spin_once(_LOOK)
            now = time.monotonic()
            if now >= look:
                look = now + _LOOK
                node.listen()
            if now >= report:
                report = now + _PERIOD
                tell({"count": node.count, "diagnostics": node.diagnostics})
    finally:
        executor.shutdown()
        node.destroy_node()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
