# SPDX-License-Identifier: Apache-2.0
"""Records every topic of a demo into a bag, and tells a parent process how things stand.

    python -m sysid_nodes.ros.certified.recorder BAG

Beside what `recording.py` says:

    {"bounds": {...}}            every ParameterBounds message, its arrays as lists
    {"plan": {...}}              every CertifiedTrajectory message, likewise
    {"status": {...}}            every ControllerStatus message, likewise
    {"stop": {...}}              every stop of the robot's own, likewise
    save PATH                    has the identifier save its result; answer {"saved": PATH} or {"failed": REASON}

The log time of a message is the stamp of the newest joint state, so that a bag of a robot whose time runs slower than
the machine's plays in the robot's time.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import (
    CertifiedTrajectory,
    ControllerStatus,
    Obstacles,
    ParameterBounds,
    StopRequest,
    TorqueCommand,
)
from online_sysid.srv import Save
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.logs import BagWriter
from sysid_nodes.messages.interval.bounds import TOPIC as BOUNDS
from sysid_nodes.messages.robot_view import RobotView
from sysid_nodes.reports.certified import history as loop
from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import as_fields
from sysid_nodes.ros.recording import DIAGNOSTICS, Recorded, Recording, header_stamp, record, tell

JOINT_STATES = loop.JOINT_STATES

_SAVE = "/interval_identifier/save"
_SAVING = 60.0  # longest wait for the identifier to save [s]
_LATCHED = qos.latched(100)
_STREAM = qos.stream("reliable", 20000)


TOPICS = (
    Recorded(JOINT_STATES, JointState, _STREAM),
    Recorded(loop.COMMANDS, TorqueCommand, _STREAM),
    Recorded(BOUNDS, ParameterBounds, _LATCHED, "bounds"),
    Recorded(loop.TRAJECTORIES, CertifiedTrajectory, _LATCHED, "plan"),  # the first may be out before it is here
    Recorded(loop.STATUS, ControllerStatus, _LATCHED, "status"),
    Recorded(loop.ROBOT_STOPS, StopRequest, _LATCHED, "stop"),
    Recorded(loop.STOP_REQUESTS, StopRequest, qos.stream("reliable", 1000)),
    Recorded(loop.OBSTACLES, Obstacles, _LATCHED),
    Recorded("/interval_identifier/markers", MarkerArray, _LATCHED),
    Recorded("/certified_planner/markers", MarkerArray, _LATCHED),
    Recorded("/certified_planner/obstacle_markers", MarkerArray, _LATCHED),
    Recorded(DIAGNOSTICS, DiagnosticArray, qos.stream("reliable", 1000)),
)
"""All that nodes and robot say to one another, and to who looks on."""


class Recorder(Recording):
    """Writes every message of the certified loop as it arrives."""

    def __init__(self, bag: BagWriter) -> None:
        super().__init__(bag)
        self._now = 0
        self._early: list[tuple[str, bytes]] = []
        self._saving: tuple[Any, float] | None = None
        for topic in TOPICS:
            bag.add_topic(topic.name, topic.type_name, latched=topic.profile is _LATCHED)
            take = self._joint_state if topic.name == JOINT_STATES else partial(self._message, topic)
            self.create_subscription(topic.message, topic.name, take, topic.profile, raw=True)
        self._save = self.create_client(Save, _SAVE)
        self._view = RobotView(bag, load_robot("kinova_gen3"))

    def listen(self) -> None:
        """Takes the commands that have come, and the answer to a save.

        Raises:
            KeyboardInterrupt: stdin is closed.
        """
        super().listen()
        if self._saving is not None:
            self._await_save(*self._saving)

    def _obey(self, command: str, path: str = "") -> None:
        super()._obey(command)
        if command == "save":
            request = Save.Request(path=path)
            self._saving = self._save.call_async(request), time.monotonic() + _SAVING

    def _await_save(self, future: Any, deadline: float) -> None:
        if future.done():
            answer = future.result()
            tell({"saved": answer.path} if answer.success else {"failed": answer.message})
        elif time.monotonic() > deadline:
            tell({"failed": "the identifier does not answer"})
        else:
            return
        self._saving = None

    def _joint_state(self, data: bytes) -> None:
        stamp = header_stamp(data)
        self._now = max(self._now, stamp)
        # What was latched before has no time of the robot's; it is logged when the first joint state is.
        for name, early in self._early:
            self._bag.write_serialized(name, stamp, early)
        self._early.clear()
        self._bag.write_serialized(JOINT_STATES, stamp, data)
        self.count += 1
        if self._view.due(1e-9 * stamp):
            message = deserialize_message(data, JointState)
            self._view.follow(stamp, 1e-9 * stamp, message.name, message.position)

    def _message(self, topic: Recorded, data: bytes) -> None:
        if self.count:
            self._bag.write_serialized(topic.name, self._now, data)
        else:
            self._early.append((topic.name, data))
        if topic.word:
            tell({topic.word: as_fields(deserialize_message(data, topic.message))})
        elif topic.message is DiagnosticArray:
            self._note(data)


if __name__ == "__main__":
    sys.exit(record(sys.argv[1], Recorder))
