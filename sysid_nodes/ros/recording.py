# SPDX-License-Identifier: Apache-2.0
"""Recording of a demo's topics into a bag, beside a parent process that is told how things stand.

The parent needs no ROS: it reads JSON objects, one a line, from stdout, and writes commands, one a line, to stdin.

    {"count": N, "diagnostics": {"NODE: WHAT": {"key": "value", ...}}}        five times a second
    stop                         completes the bag; answer {"recorded": N}, then the end

Messages are written as they come over the wire. When stdin closes without a stop, or on a signal, the bag is dropped.
"""

from __future__ import annotations

import json
import os
import select
import struct
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from sysid_nodes.exceptions import SysidError
from sysid_nodes.logs import BagWriter
from sysid_nodes.messages.geometry import WORLD
from sysid_nodes.messages.robot_view import RobotView
from sysid_nodes.messages.transport import use_udp
from sysid_nodes.robots import Robot
from sysid_nodes.robots.loops import Loop
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import as_fields, type_name
from sysid_nodes.ros.spinning import make_executor
from sysid_nodes.sessions.diagnostic_keys import MESSAGE

DIAGNOSTICS, JOINT_STATES = "/diagnostics", "/joint_states"

_PERIOD = 0.2  # between two reports [s]
_LOOK = 0.05  # between two looks at stdin [s]
_STDIN, _CHUNK = 0, 65536


class Recorded(NamedTuple):
    """A topic.

    Attributes:
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
        return type_name(self.message)


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
            self.diagnostics[status.name] = values | {MESSAGE: status.message}


class StreamRecorder(Recording):
    """Writes every message of a robot and of what identifies it, in the order in which they come.

    Their log times are those of the newest sensor stamp, and never the same twice. The robot's description and its
    transforms, from its joint states and poses, are written too, so that the recording shows it.

    Args:
        bag: open writer.
        topics: that are recorded.
        streams: those of them that are the robot's; their messages begin with a header.
        robot: to be seen; None where its joint states do not tell where all of it is.
        loops: that its description leaves open.
    """

    def __init__(
        self,
        bag: BagWriter,
        topics: Sequence[Recorded],
        streams: Sequence[Recorded],
        robot: Robot | None = None,
        loops: Sequence[Loop] = (),
    ) -> None:
        super().__init__(bag)
        self._now, self._pose = 0, b""
        self._view = None if robot is None else RobotView(bag, robot, loops=loops)
        for topic in topics:
            bag.add_topic(topic.name, topic.type_name, latched=topic.profile is qos.LATCHED)
            take = self._write_reading if topic in streams else self._message
            self.create_subscription(topic.message, topic.name, partial(take, topic), topic.profile, raw=True)

    def _write_reading(self, topic: Recorded, data: bytes) -> None:
        self._now = max(self._now + 1, header_stamp(data))
        self._bag.write_serialized(topic.name, self._now, data)
        self.count += 1
        if topic.message is PoseStamped:
            self._pose = data
        elif self._view is not None and topic.name == JOINT_STATES and self._view.due(1e-9 * header_stamp(data)):
            self._show(self._view, deserialize_message(data, JointState), 1e-9 * header_stamp(data))

    def _show(self, view: RobotView, state: JointState, t: float) -> None:
        if self._pose:
            message = deserialize_message(self._pose, PoseStamped)
            at, turn = message.pose.position, message.pose.orientation
            pose = np.array([at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w])
            view.place(pose, message.header.frame_id or WORLD)
        view.follow(self._now, t, state.name, state.position)

    def _message(self, topic: Recorded, data: bytes) -> None:
        if self.count:  # before there is no time of the robot's
            self._now += 1
            self._bag.write_serialized(topic.name, self._now, data)
        if topic.message is DiagnosticArray:
            self._note(data)
        elif topic.word:
            self._tell(topic.word, deserialize_message(data, topic.message))

    def _tell(self, word: str, message: Any) -> None:
        """Tells the parent of a message."""
        tell({word: as_fields(message)})


def header_stamp(data: bytes) -> int:
    """Stamp [ns] of a serialised message that begins with a header."""
    order = "<" if data[1] & 1 else ">"  # of the encapsulation: CDR_LE or CDR_BE
    sec, nanosec = struct.unpack_from(f"{order}iI", data, 4)
    return int(sec) * 1_000_000_000 + int(nanosec)


def tell(what: dict[str, Any]) -> None:
    """One line for the parent."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def record(path: str, make: Callable[[BagWriter], Any]) -> int:
    """Records until told to stop; returns the exit status: 0, 2 with one line on stderr, 130 when it was dropped.

    Args:
        make: makes the node that writes it.
    """
    use_udp(os.environ)
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
