# SPDX-License-Identifier: Apache-2.0
"""Records every topic of a demo into a bag, and tells a parent process how things stand.

    python -m sysid_nodes.ros.certified.recorder BAG

The parent needs no ROS: it reads JSON objects, one a line, from stdout, and writes commands, one a line, to stdin.

    {"bounds": {...}}            every ParameterBounds message, its arrays as lists
    {"plan": {...}}              every CertifiedTrajectory message, likewise
    {"status": {...}}            every ControllerStatus message, likewise
    {"stop": {...}}              every stop of the robot's own, likewise
    {"count": N, "diagnostics": {"NODE: WHAT": {"key": "value", ...}}}    five times a second
    save PATH                    has the identifier save its result; answer {"saved": PATH} or {"failed": REASON}
    stop                         completes the bag; answer {"recorded": N}, then the end

Messages are written as they come over the wire. Their log time is the stamp of the newest joint state, so that a bag of
a robot whose time runs slower than the machine's plays in the robot's time. When stdin closes without a stop, or on a
signal, the bag is dropped.
"""

from __future__ import annotations

import json
import os
import select
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import rclpy
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
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from sysid_nodes.exceptions import SysidError
from sysid_nodes.logs import BagWriter
from sysid_nodes.messages.interval.bounds import TOPIC as BOUNDS
from sysid_nodes.reports.certified import history as loop
from sysid_nodes.ros import qos
from sysid_nodes.ros.spinning import make_executor

JOINT_STATES = loop.JOINT_STATES
DIAGNOSTICS = "/diagnostics"

_SAVE = "/interval_identifier/save"
_PERIOD = 0.2  # between two reports [s]
_LOOK = 0.05  # between two looks at stdin [s]
_SAVING = 60.0  # longest wait for the identifier to save [s]
_STDIN, _CHUNK = 0, 65536
_LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_STREAM = qos.stream("reliable", 20000)


class Recorded(NamedTuple):
    """A topic.

    Attributes:
        name: of the topic.
        message: its type.
        profile: quality of service of the subscription.
        word: what the parent is told its messages under; empty: it is not told.
    """

    name: str
    message: type[Any]
    profile: QoSProfile
    word: str = ""

    @property
    def type_name(self) -> str:
        """Full name of the type."""
        return f"{self.message.__module__.split('.')[0]}/msg/{self.message.__name__}"


TOPICS = (
    Recorded(JOINT_STATES, JointState, _STREAM),
    Recorded(loop.COMMANDS, TorqueCommand, _STREAM),
    Recorded(BOUNDS, ParameterBounds, _LATCHED, "bounds"),
    Recorded(loop.TRAJECTORIES, CertifiedTrajectory, qos.stream("reliable", 1000), "plan"),
    Recorded(loop.STATUS, ControllerStatus, _LATCHED, "status"),
    Recorded(loop.ROBOT_STOPS, StopRequest, _LATCHED, "stop"),
    Recorded(loop.STOP_REQUESTS, StopRequest, qos.stream("reliable", 1000)),
    Recorded(loop.OBSTACLES, Obstacles, _LATCHED),
    Recorded(DIAGNOSTICS, DiagnosticArray, qos.stream("reliable", 1000)),
)
"""All that nodes and robot say to one another."""


class Recording(Node):
    """A recording: a bag, commands on stdin, the newest diagnostics.

    Args:
        bag: open writer.

    Attributes:
        count: messages of the robot recorded.
        diagnostics: newest values of each component.
        ended: a stop was asked for.
    """

    def __init__(self, bag: BagWriter) -> None:
        super().__init__("recorder")
        self.count, self.ended = 0, False
        self.diagnostics: dict[str, dict[str, str]] = {}
        self._bag = bag
        self._commands = b""

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
            for line in lines:
                self._obey(*line.decode().split(" ", 1))

    def _obey(self, command: str, _: str = "") -> None:
        self.ended |= command == "stop"

    def _note(self, data: bytes) -> None:
        """Takes a message of diagnostics."""
        for status in deserialize_message(data, DiagnosticArray).status:
            values = {item.key: item.value for item in status.values}
            self.diagnostics[status.name] = values | {"message": status.message}


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

    def _message(self, topic: Recorded, data: bytes) -> None:
        if self.count:
            self._bag.write_serialized(topic.name, self._now, data)
        else:
            self._early.append((topic.name, data))
        if topic.word:
            tell({topic.word: as_fields(deserialize_message(data, topic.message))})
        elif topic.message is DiagnosticArray:
            self._note(data)


def header_stamp(data: bytes) -> int:
    """Stamp [ns] of a serialised message that begins with a header."""
    order = "<" if data[1] & 1 else ">"  # of the encapsulation: CDR_LE or CDR_BE
    sec, nanosec = struct.unpack_from(f"{order}iI", data, 4)
    return int(sec) * 1_000_000_000 + int(nanosec)


def as_fields(message: Any) -> Any:
    """A message as nested plain values."""
    if hasattr(message, "get_fields_and_field_types"):
        return {name: as_fields(getattr(message, name)) for name in message.get_fields_and_field_types()}
    if hasattr(message, "tolist"):
        return message.tolist()
    return [as_fields(item) for item in message] if isinstance(message, (list, tuple)) else message


def tell(what: dict[str, Any]) -> None:
    """One line for the parent."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def record(path: str, make: Callable[[BagWriter], Any]) -> int:
    """Records until told to stop; returns the exit status: 0, 2 with one line on stderr, 130 when it was dropped.

    Args:
        path: of the bag.
        make: makes the node that writes it.
    """
    rclpy.init(args=[])
    try:
        with BagWriter(Path(path)) as bag:
            node = make(bag)
            _serve(node)
        tell({"recorded": node.count})
    except SysidError as error:
        sys.stderr.write(f"recorder: {error}\n")
        return 2
    except (KeyboardInterrupt, ExternalShutdownException, BrokenPipeError):
        return 130
    finally:
        rclpy.try_shutdown()
    return 0


def _serve(node: Any) -> None:
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
    sys.exit(record(sys.argv[1], Recorder))
