# SPDX-License-Identifier: Apache-2.0
"""sysid replay of an arm's log: the ten intervals by the live node's own session."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sysid_nodes.cli.conclusion import CONTRADICTION
from sysid_nodes.cli.interval.configuration import load
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.progress import track
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.logs import BagWriter, read_joint_states
from sysid_nodes.logs.writer import to_nanoseconds
from sysid_nodes.messages.interval.bounds import TOPIC, TYPE, bounds_fields
from sysid_nodes.messages.markers import ARRAY_TYPE
from sysid_nodes.messages.recorded_markers import copy_markers
from sysid_nodes.messages.robot_view import RobotView
from sysid_nodes.reports.files import REPORT_NAME, RESULT_BAG
from sysid_nodes.reports.interval.body_markers import MARKERS, body_marker_fields
from sysid_nodes.reports.interval.files import write_run
from sysid_nodes.reports.interval.scene import body_scene
from sysid_nodes.reports.wording import verdict
from sysid_nodes.results import Status
from sysid_nodes.results.identification import times_text
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.sessions.interval.run import IntervalRun
from sysid_nodes.sessions.interval.session import IntervalSession
from sysid_nodes.signals.driver import DriverSignals
from sysid_nodes.systems.interval.relaxation import MOST_RELAXED, Relaxation, growth, relax

_LINE = 200
"""Characters that a line keeps below by leaving out what the report says as well."""


def run(args: argparse.Namespace) -> int:
    """Replays the log and returns the exit status."""
    arm = load(args, args.bag)
    log = read_joint_states(args.bag, args.topic)
    config, relaxed = arm.config, list[Relaxation]()
    with OutputFolder(args.out) as folder:
        while True:
            session = IntervalSession(arm.robot, config, stated=arm.stated)
            messages = track(log, f"replay {args.bag.absolute().name}")
            angle = DriverSignals(config.signals, arm.robot.n).angle
            (folder / RESULT_BAG).unlink(missing_ok=True)  # of the run before this relaxation
            with BagWriter(folder / RESULT_BAG) as bag:
                shown = _identify(session, arm.robot, messages, bag, angle)
                copy_markers(args.bag, bag, (TOPIC, MARKERS))
            _judge(session, str(args.bag))
            found, step = session.result.contradiction, None
            if args.relax and found is not None and len(relaxed) < MOST_RELAXED:
                step = relax(config, found, before=len(relaxed))
            if step is None:
                break
            config = step.config
            relaxed.append(step)
            sys.stderr.write(f"sysid: relaxed: {step.sentence}\n")
        finished = _label(session.snapshot(str(args.bag)), relaxed)
        document = write_run(folder, finished, body_scene(arm.robot, shown, finished))
    result = session.result
    if result.status is Status.INCONSISTENT:
        reason = result.contradiction.sentence() if result.contradiction else result.status.message
        line = f"sysid: {args.bag}: {reason}; see {args.out / REPORT_NAME}"
        hint = "'sysid check' says more" if session.judgement.doubts else ""
        for more in (hint, result.contradiction.alternatives() if result.contradiction else ""):
            if more and len(line) + len(more) + 2 < _LINE:
                line += f"; {more}"
        sys.stderr.write(f"{line}\n")
        return CONTRADICTION
    told = verdict(document)
    if result.status is Status.DOUBTFUL:
        sys.stderr.write(f"sysid: {args.bag}: {result.status.message}; see {args.out / REPORT_NAME}\n")
        return CONTRADICTION
    label = told.label.lower() + (", resting on relaxed assumptions" if relaxed else "")
    label = label.removeprefix(Status.PROVEN.name.lower()).removeprefix(", ")  # the headline says so
    sys.stdout.write(f"{told.headline}{f' ({label})' if label else ''}: {args.out / REPORT_NAME}\n")
    return 0


def _label(run: IntervalRun, relaxed: Sequence[Relaxation]) -> IntervalRun:
    """The run, with a finding that says which assumptions were relaxed to make the data fit."""
    if not relaxed:
        return run
    entries = growth(relaxed)
    told = "; ".join(f"{assumption} {times_text(factor)} times as large" for assumption, _, factor in entries)
    line = f"the result rests on relaxed assumptions: {told}"
    return replace(run, findings=(line, *run.findings), relaxed=entries)


def _identify(
    session: IntervalSession, robot: Robot, messages: Iterable[RawJointState], bag: BagWriter, angle: Array
) -> list[tuple[float, Array]]:
    """Records what the live node would have published, markers included, and the robot that moves.

    Args:
        session, robot, messages, bag: what identifies, the arm, its joint states, and the open file.
        angle: (n,) unit of their positions [rad].

    Returns:
        Times [s] and configurations (n,) of the robot.
    """
    now = 0
    bag.add_topic(TOPIC, TYPE, latched=True)
    bag.add_topic(MARKERS, ARRAY_TYPE, latched=True)
    view = RobotView(bag, robot)
    for message in messages:
        if view.due(message.stamp):
            now = max(now + 1, to_nanoseconds(message.stamp))
            view.follow(now, message.stamp, message.names, message.position, angle)
        if (result := session.process(message)) is not None:
            # Stamps may start over, the order of messages may not: the last one is what counts.
            now = max(now + 1, to_nanoseconds(result.t))
            bag.write(TOPIC, now, bounds_fields(result, session.subject, session.judgement.lines))
            bag.write(MARKERS, now, body_marker_fields(result, session.subject.frame))
    return view.shown


def _judge(session: IntervalSession, source: str) -> None:
    """Refuses a log that nothing can be learnt from, and warns of what is suspicious in any other.

    Raises:
        LogError: joints are missing, a signal never changes, nothing moves, or torque has the wrong sign or unit.
        ExcitationError: no window of data could be used.
    """
    judgement = session.judge()
    if judgement.faults:
        raise LogError(judgement.faults[0].refusal, source=source)
    if session.result.status is Status.WAITING:
        rejected = sorted(session.snapshot(source).result.samples_rejected.items(), key=lambda item: -item[1])
        why = ", ".join(f"{reason} {count}" for reason, count in rejected)
        line = f"no window of data could be used out of {session.received} messages"
        raise ExcitationError(f"{line} (rejected: {why})" if why else line, source=source)
    for doubt in judgement.doubts if session.result.status is not Status.INCONSISTENT else ():
        sys.stderr.write(f"sysid: warning: {source}: {doubt.message}\n")
