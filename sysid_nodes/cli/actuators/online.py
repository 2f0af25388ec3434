# SPDX-License-Identifier: Apache-2.0
"""sysid replay --online: a recording through the live node's own session."""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sysid_nodes.cli.actuators.encoders import read_encoders, tell_gains
from sysid_nodes.cli.conclusion import conclude
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.progress import track
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.logs import BagWriter
from sysid_nodes.logs.command_reader import RawSetPoints, read_set_points
from sysid_nodes.logs.writer import to_nanoseconds
from sysid_nodes.messages.actuators.drive_markers import MARKERS, drive_marker_fields
from sysid_nodes.messages.actuators.models import TOPIC, TYPE, models_fields
from sysid_nodes.messages.markers import ARRAY_TYPE
from sysid_nodes.messages.robot_view import RobotView
from sysid_nodes.reports.actuators.live import session_run
from sysid_nodes.reports.actuators.report import headline
from sysid_nodes.reports.actuators.run import write_actuator_run
from sysid_nodes.reports.files import REPORT_NAME, RESULT_BAG
from sysid_nodes.results.actuators import ActuatorStatus
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig
from sysid_nodes.sessions.actuators.session import ActuatorSession, ActuatorUpdate


def replay_online(args: argparse.Namespace, robot: Robot, config: ActuatorSessionConfig) -> int:
    """Replays and returns the exit status."""
    bag: Path = args.bag
    with OutputFolder(args.out) as folder:
        began = time.monotonic()
        session, _ = replay_into(folder, bag, robot, config, states=args.topic)
        document = write_actuator_run(folder, session_run(session, str(bag), time.monotonic() - began))
    return tell(document, bag, args.out / REPORT_NAME)


def replay_into(
    folder: Path, bag: Path, robot: Robot, config: ActuatorSessionConfig, *, states: str
) -> tuple[ActuatorSession, list[ActuatorUpdate]]:
    """Feeds a recording to a session and writes what the live node would have published to result.mcap.

    Args:
        folder: existing.
        states: topic of the encoders.

    Raises:
        LogError: the recording lacks a topic or is damaged.
    """
    session, updates = ActuatorSession(robot, config, gains_told=tell_gains(bag, config.commands)), []
    with BagWriter(folder / RESULT_BAG) as written:
        written.add_topic(TOPIC, TYPE, latched=True)
        written.add_topic(MARKERS, ARRAY_TYPE, latched=True)
        now, view = 0, RobotView(written, robot)
        view.hold()
        for raw in _messages(robot, bag, config.commands, states):
            if isinstance(raw, RawJointState) and view.due(raw.stamp):
                # Stamps may start over, the order of messages may not.
                now = max(now + 1, to_nanoseconds(raw.stamp))
                view.follow(now, raw.stamp, raw.names, raw.position)
            update = session.take_command(raw) if isinstance(raw, RawSetPoints) else session.take_state(raw)
            if update is not None:
                updates.append(update)
                now = max(now + 1, to_nanoseconds(update.t))
                written.write(TOPIC, now, models_fields(update))
                written.write(MARKERS, now, drive_marker_fields(update, robot))
    return session, updates


def tell(document: Mapping[str, Any], source: Path, page: Path, besides: Sequence[str] = ()) -> int:
    """Says what was found and what changed; returns the exit status. ``besides``: findings of other methods."""
    online = document["online"] or {"alarms": []}
    for alarm in online["alarms"]:
        sys.stderr.write(f"sysid: alarm: {source}: {alarm['message']}\n")
    findings = (*document["findings"], *besides)
    reason = findings[0] if document["status"] == ActuatorStatus.CONTRADICTION.name else ""
    return conclude(source, page, headline(document), contradiction=reason, findings=findings)


def _messages(robot: Robot, bag: Path, commands: str, states: str) -> Iterator[RawSetPoints | RawJointState]:
    """In the order of stamps, which may not be that of the recording: the session does not mind."""
    given = read_set_points(bag, commands, robot.motor_order)
    read = filter(None, track(read_encoders(bag, states, robot), f"replay {bag.absolute().name}"))
    both: list[Iterable[RawSetPoints | RawJointState]] = [given, read]
    yield from heapq.merge(*both, key=_stamp)


def _stamp(raw: RawSetPoints | RawJointState) -> float:
    return raw.begin if isinstance(raw, RawSetPoints) else raw.stamp
