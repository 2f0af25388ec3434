"""Records joint states and parameter bounds into a bag, and tells a parent process how things stand.

    python -m sysid_nodes.ros.recorder BAG

The parent needs no ROS: it reads JSON objects, one a line, from stdout, and writes commands, one a line, to stdin.

    {"bounds": {...}}            every ParameterBounds message, its arrays as lists
    {"count": N, "diagnostics": {"NODE: WHAT": {"key": "value", ...}}}    five times a second
    save PATH                    has the identifier save its result; answer {"saved": PATH} or {"failed": REASON}
    stop                         completes the bag; answer {"recorded": N}, then the end

When stdin closes without a stop, or on a signal, the bag is dropped.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import ParameterBounds
from online_sysid.srv import Save
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

from sysid_nodes.exceptions import SysidError
from sysid_nodes.logs import BagWriter
from sysid_nodes.reports.bounds_message import TOPIC as BOUNDS
from sysid_nodes.reports.bounds_message import TYPE as BOUNDS_TYPE
from sysid_nodes.ros import qos
from sysid_nodes.ros.spinning import make_executor

JOINT_STATES = "/joint_states"

_SAVE = "/interval_identifier/save"
_PERIOD = 0.2  # between two reports [s]
_LOOK = 0.05  # between two looks at stdin [s]
_SAVING = 30.0  # longest wait for the identifier to save [s]
_STDIN, _CHUNK = 0, 65536


class Recorder(Node):
    """Writes every message as it arrives.

    Args:
        bag: open writer; declares its topics.

    Attributes:
        count: joint states recorded.
        diagnostics: newest values of each component.
        ended: a stop was asked for and answered.
    """

    def __init__(self, bag: BagWriter) -> None:
        super().__init__("recorder")
        self.count, self.ended = 0, False
        self.diagnostics: dict[str, dict[str, str]] = {}
        self._bag = bag
        self._early: list[ParameterBounds] = []
        self._saving: tuple[Any, float] | None = None
        self._commands = b""
        bag.add_topic(JOINT_STATES, "sensor_msgs/msg/JointState")
        bag.add_topic(BOUNDS, BOUNDS_TYPE, latched=True)
        latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(JointState, JOINT_STATES, self._joint_state, qos.stream("reliable", 20000))
        self.create_subscription(ParameterBounds, BOUNDS, self._bounds, latched)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._diagnostic, 100)
        self._save = self.create_client(Save, _SAVE)

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
        if self._saving is not None:
            self._await_save(*self._saving)

    def _obey(self, command: str, path: str = "") -> None:
        if command == "save":
            request = Save.Request(path=path)
            self._saving = self._save.call_async(request), time.monotonic() + _SAVING
        elif command == "stop":
            self.ended = True

    def _await_save(self, future: Any, deadline: float) -> None:
        if future.done():
            answer = future.result()
            tell({"saved": answer.path} if answer.success else {"failed": answer.message})
        elif time.monotonic() > deadline:
            tell({"failed": "the identifier does not answer"})
        else:
            return
        self._saving = None

    def _joint_state(self, message: JointState) -> None:
        stamp = message.header.stamp
        fields = {
            "header": {
                "stamp": {"sec": stamp.sec, "nanosec": stamp.nanosec},
                "frame_id": message.header.frame_id,
            },
            "name": message.name,
            "position": message.position,
            "velocity": message.velocity,
            "effort": message.effort,
        }
        nanoseconds = stamp.sec * 1_000_000_000 + stamp.nanosec
        for early in self._early:
            self._bag.write(BOUNDS, nanoseconds, as_fields(early))
        self._early.clear()
        self._bag.write(JOINT_STATES, nanoseconds, fields)
        self.count += 1

    def _bounds(self, message: ParameterBounds) -> None:
        stamp = message.header.stamp
        if self.count:
            self._bag.write(BOUNDS, stamp.sec * 1_000_000_000 + stamp.nanosec, as_fields(message))
        else:
            # the prior has no stamp; it is logged when the first joint state is
            self._early.append(message)
        tell({"bounds": as_fields(message)})

    def _diagnostic(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.diagnostics[status.name] = {item.key: item.value for item in status.values}


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


def main(path: str) -> int:
    """Records until told to stop; returns the exit status: 0, 2 with one line on stderr, 130 when it was dropped."""
    rclpy.init(args=[])
    try:
        with BagWriter(Path(path)) as bag:
            node = Recorder(bag)
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


def _record(node: Recorder) -> None:
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
