# SPDX-License-Identifier: Apache-2.0
"""The certified loop as a recording shows it: motion, commands, plans with their certificates, and every stop."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import LogError
from sysid_nodes.logs import read_joint_states, read_messages, read_topics
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import Phase, TrajectoryRecord
from sysid_nodes.systems.certified.control.output import Mode

Array = npt.NDArray[np.float64]

JOINT_STATES = "/joint_states"
COMMANDS = "/torque_command"
TRAJECTORIES = "/certified_trajectory"
STATUS = "/robust_controller/status"
STOP_REQUESTS = "/stop_request"
ROBOT_STOPS = "/robot_stop"
OBSTACLES = "/obstacles"
TYPES = {
    JOINT_STATES: "sensor_msgs/msg/JointState",
    COMMANDS: "online_sysid/msg/TorqueCommand",
    TRAJECTORIES: "online_sysid/msg/CertifiedTrajectory",
    STATUS: "online_sysid/msg/ControllerStatus",
    STOP_REQUESTS: "online_sysid/msg/StopRequest",
    ROBOT_STOPS: "online_sysid/msg/StopRequest",
    OBSTACLES: "online_sysid/msg/Obstacles",
}
LATCHED = (STATUS, ROBOT_STOPS, OBSTACLES)

_TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Plan:
    """A trajectory and what became of it.

    Attributes:
        told: when it was recorded [s].
        begun, ended: stretch over which it was executed, a stop cuts it off [s]; NaN where it never was.
    """

    record: TrajectoryRecord
    told: float
    begun: float = np.nan
    ended: float = np.nan

    @property
    def executed(self) -> bool:
        """Whether the controller took it over."""
        return bool(np.isfinite(self.begun))

    @property
    def identifies(self) -> bool:
        """Whether it was planned to identify the load."""
        return self.record.phase == Phase.EXCITE.name

    @property
    def motion(self) -> Bezier:
        """The desired motion."""
        record = self.record
        return Bezier(record.q0, record.qd0, record.qdd0, record.k, record.duration)


@dataclass(frozen=True)
class Event:
    """A change of the controller's, with its reason.

    Attributes:
        t: stamp of the joint state it followed [s].
        mode: after it.
        reason: why it brakes or stopped; NONE otherwise.
        text: that reason as it was published.
        refused: id of a trajectory that was refused just then, or empty.
        refused_text: why.
        refused_reason: the same; NONE where none was.
    """

    t: float
    mode: Mode
    reason: StopReason
    text: str
    refused: str = ""
    refused_text: str = ""
    refused_reason: StopReason = StopReason.NONE


@dataclass(frozen=True)
class CertifiedHistory:
    """One run; times are stamps [s], joints are in the order of joint_names.

    Attributes:
        joint_names: n names.
        t, q, qd: (N,), (N, n) joint states as far as they are finite [s, rad, rad/s]; positions do not jump by turns.
        command_t, command: (M,) and (M, n) commanded torques [s, N m].
        plans: in the order they were published.
        events: changes of the controller, in order.
        robot_stop: why the robot stopped by itself, in words; empty where it did not.
        scene: the last obstacles published, or those given where none were.
    """

    joint_names: tuple[str, ...]
    t: Array
    q: Array
    qd: Array
    command_t: Array
    command: Array
    plans: tuple[Plan, ...]
    events: tuple[Event, ...]
    robot_stop: str
    scene: Scene

    @property
    def executed(self) -> tuple[Plan, ...]:
        """Plans that were executed, in order of time."""
        return tuple(sorted((plan for plan in self.plans if plan.executed), key=lambda plan: plan.begun))

    @property
    def why_stopped(self) -> str:
        """Reason of an end before its time, in the words of robot and controller; empty where it did not."""
        words = [self.robot_stop] if self.robot_stop else []
        told = next((event.text for event in self.events if event.mode is Mode.STOPPED), "")
        if told and told not in self.robot_stop:
            words.append(f"the controller says: {told}" if words else told)
        return "; ".join(words)

    def rows(self, plan: Plan) -> npt.NDArray[np.intp]:
        """Indices of the joint states during a plan's execution."""
        return np.flatnonzero((self.t >= plan.begun) & (self.t < plan.ended))


def read_history(bag: str | Path, joint_names: tuple[str, ...], scene: Scene) -> CertifiedHistory:
    """Reads a recording of the loop.

    Args:
        bag: rosbag2 folder or file.
        joint_names: of the robot, in order.
        scene: obstacles, where none are in the recording.

    Raises:
        LogError: the recording is damaged, or has no joint states that name these joints and are finite.
    """
    t, q, qd = _motion(bag, joint_names)
    present = {topic.name for topic in read_topics(bag) if topic.count}
    command_t, command = np.zeros(0), np.zeros((0, len(joint_names)))
    if COMMANDS in present:
        command_t, command = _commands(bag, joint_names)
    status = [message for _, message in _messages(bag, STATUS, present)]
    told = [(1e-9 * now, _record(message)) for now, message in _messages(bag, TRAJECTORIES, present)]
    stops = [(1e-9 * now, message) for now, message in _messages(bag, ROBOT_STOPS, present) if message.reason]
    events = _events(status)
    ends = [float(t[-1]), *(now for now, _ in stops), *(event.t for event in events if event.mode is Mode.STOPPED)]
    scenes = [message for _, message in _messages(bag, OBSTACLES, present)]
    return CertifiedHistory(
        joint_names,
        t,
        q,
        qd,
        command_t,
        command,
        _plans(told, status, min(ends)),
        events,
        next((str(stop.text) or _reason(stop.reason).message for _, stop in stops), ""),
        _scene(scenes[-1]) if scenes else scene,
    )


def read_certificates(bag: str | Path) -> tuple[list[TrajectoryRecord], list[Scene]]:
    """Trajectories in the order they were published, and all obstacles that were.

    Raises:
        LogError: the recording is damaged.
    """
    present = {topic.name for topic in read_topics(bag) if topic.count}
    records = [_record(message) for _, message in _messages(bag, TRAJECTORIES, present)]
    return records, [_scene(message) for _, message in _messages(bag, OBSTACLES, present)]


def _messages(bag: str | Path, topic: str, present: set[str]) -> list[tuple[int, Any]]:
    return list(read_messages(bag, topic, TYPES[topic])) if topic in present else []


def _motion(bag: str | Path, names: tuple[str, ...]) -> tuple[Array, Array, Array]:
    rows: list[tuple[float, Array, Array]] = []
    order = JointOrder(names)
    for state in read_joint_states(bag, JOINT_STATES):
        columns = order.columns(state.names)
        if columns is None:
            raise LogError(f"a joint state has {order.fault(state.names)}", source=str(bag))
        position, velocity = state.position[columns], state.velocity[columns]
        if np.isfinite(position).all() and np.isfinite(velocity).all():  # a faulty stream is the controller's affair
            rows.append((state.stamp, position, velocity))
    if not rows:
        raise LogError("no joint state has finite positions and velocities", source=str(bag))
    t, q, qd = (np.array(column) for column in zip(*rows, strict=True))
    jumps = np.rint(np.diff(q, axis=0) / _TURN)
    q[1:] -= _TURN * np.cumsum(jumps, axis=0)
    return t, q, qd


def _commands(bag: str | Path, names: tuple[str, ...]) -> tuple[Array, Array]:
    rows, order = [], JointOrder(names)
    for _, message in read_messages(bag, COMMANDS, TYPES[COMMANDS]):
        columns = order.columns(message.joint_names)
        if columns is None:
            raise LogError(f"a torque command has {order.fault(message.joint_names)}", source=str(bag))
        rows.append((_seconds(message.header.stamp), message.torque[columns]))
    t, torque = (np.array(column) for column in zip(*rows, strict=True))
    return t, torque


def _plans(told: list[tuple[float, TrajectoryRecord]], status: list[Any], end: float) -> tuple[Plan, ...]:
    """Plans with the stretches of their execution: from the start stamped on them to the start of the next executed."""
    seen = {str(message.trajectory_id) for message in status} - {""}
    begun = sorted(record.start for _, record in told if record.id in seen)
    plans = []
    for now, record in told:
        if record.id not in seen:
            plans.append(Plan(record, now))
            continue
        later = [start for start in begun if start > record.start]
        plans.append(Plan(record, now, record.start, later[0] if later else end))
    return tuple(plans)


def _events(status: list[Any]) -> tuple[Event, ...]:
    found: list[Event] = []
    last: tuple[Any, ...] = (int(Mode.IDLE), 0, "", 0)
    for message in status:
        now = (int(message.mode), int(message.reason), str(message.refused_id), int(message.refused_reason))
        if now == last:
            continue
        refused = now[2:] != last[2:] and bool(message.refused_reason)
        found.append(
            Event(
                _seconds(message.header.stamp),
                Mode(message.mode),
                _reason(message.reason),
                str(message.text),
                str(message.refused_id) if refused else "",
                str(message.refused_text) if refused else "",
                _reason(message.refused_reason) if refused else StopReason.NONE,
            )
        )
        last = now
    return tuple(found)


def _record(message: Any) -> TrajectoryRecord:
    known = {item.name for item in fields(TrajectoryRecord)} - {"start_ns", "frame_id", "joint_names"}
    missing = sorted(name for name in known if not hasattr(message, name))
    if missing:
        raise LogError(f"a certified trajectory of an older version: it has no '{missing[0]}'")
    stamp = message.header.stamp
    return TrajectoryRecord(
        start_ns=int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec),
        frame_id=str(message.header.frame_id),
        joint_names=tuple(message.joint_names),
        **{name: getattr(message, name) for name in known},
    )


def _scene(message: Any) -> Scene:
    return Scene(tuple(_obstacle(item) for item in message.obstacles))


def _obstacle(item: Any) -> Obstacle:
    place, turn = item.pose.position, item.pose.orientation
    flat = [float(value) for value in item.generators]
    return Obstacle(
        str(item.name),
        str(item.kind),
        (float(place.x), float(place.y), float(place.z)),
        tuple(float(value) for value in item.size),
        (float(turn.x), float(turn.y), float(turn.z), float(turn.w)),
        tuple(tuple(flat[k : k + 3]) for k in range(0, len(flat), 3)),
    )


def _reason(value: int) -> StopReason:
    return StopReason(value) if value in list(StopReason) else StopReason.NONE


def _seconds(stamp: Any) -> float:
    """A stamp in seconds, by the formula of the joint states' stamps."""
    return float(int(stamp.sec) + 1e-9 * int(stamp.nanosec))
