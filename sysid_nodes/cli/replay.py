"""Identifies the payload, or a legged robot's motion, in a recorded log: the same steps and numbers as the live node.

Reads a rosbag2 recording (MCAP or sqlite3) and writes into the folder given by --out
  result.json   the result and its history, see docs/result-schema.md
  result.mcap   the ParameterBounds messages that the live node would have published
  report.html   everything for people, in one page
  series.npz    the torques in that page
For a legged robot (go2, g1, or a configuration of prime_estimator) the topics are joint states, IMU and motion capture,
and result.mcap has contact forces, markers, odometry, smoothed joint states and the torso's inertia.

examples:
  sysid replay bags/loaded --config config/kinova_gen3.yaml --out results/loaded
  sysid replay log.mcap --urdf my_arm.urdf --set noise.torque_relative=0.05 --out results/mine
  sysid replay bags/loaded --calibration calibration.json --method sensitivity --out results/compare
  sysid replay bags/walk --config config/unitree_go2.yaml --mode batch --out results/walk

exit status 3: the data contradict the stated assumptions; the files say so and claim no bounds
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from sysid_nodes.cli import configuration, motion_configuration, motion_replay
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.progress import track
from sysid_nodes.exceptions import ConfigError, ExcitationError, LogError
from sysid_nodes.logs import BagWriter, RawJointState, read_joint_states
from sysid_nodes.logs.writer import to_nanoseconds
from sysid_nodes.reports.bounds_message import TOPIC, TYPE, bounds_fields
from sysid_nodes.reports.interval_report import REPORT_NAME
from sysid_nodes.reports.run_files import write_run
from sysid_nodes.reports.session import Session
from sysid_nodes.reports.wording import verdict
from sysid_nodes.results import Status
from sysid_nodes.robots import load_robot

BOUNDS_NAME = "result.mcap"

_CONTRADICTION = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bag", type=Path, metavar="BAG", help="rosbag2 folder, or a single .mcap or .db3 file")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the results")
    parser.add_argument("--topic", default="/joint_states", help="topic of the joint states; default: %(default)s")
    configuration.add_arguments(parser)
    motion_replay.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    if motion_configuration.wanted(args):
        return motion_replay.run(args)
    if given := next((name for name in ("mode", "imu_topic", "pose_topic", "truth") if getattr(args, name)), None):
        raise ConfigError(f"--{given.replace('_', '-')} is for legged robots, which this configuration is not of")
    config = configuration.configuration(args)
    robot = load_robot(config.robot, variant=config.variant, urdf=config.urdf)
    log = read_joint_states(args.bag, args.topic)
    session = Session(robot, config)
    with OutputFolder(args.out) as folder:
        _identify(session, track(log, f"replay {args.bag.absolute().name}"), folder / BOUNDS_NAME)
        _judge(session, str(args.bag))
        document = write_run(folder, session.run(str(args.bag)))
    result = session.result
    if result.status is Status.INCONSISTENT:
        reason = result.contradiction.sentence() if result.contradiction else result.status.message
        sys.stderr.write(f"sysid: {args.bag}: {reason}; see {args.out / REPORT_NAME}\n")
        return _CONTRADICTION
    told = verdict(document)
    sys.stdout.write(f"{told.headline} ({told.label.lower()}): {args.out / REPORT_NAME}\n")
    return 0


def _identify(session: Session, messages: Iterable[RawJointState], path: Path) -> None:
    """Records what the live node would have published."""
    now = 0
    with BagWriter(path) as bag:
        bag.add_topic(TOPIC, TYPE, latched=True)
        for message in messages:
            if (result := session.process(message)) is not None:
                # Stamps may start over, the order of messages may not: the last one is what counts.
                now = max(now + 1, to_nanoseconds(result.t))
                bag.write(TOPIC, now, bounds_fields(result, session.subject, session.judgement.findings))


def _judge(session: Session, source: str) -> None:
    """Refuses a log that nothing can be learnt from, and warns of what is suspicious in any other.

    Raises:
        LogError: joints are missing, a signal never changes, nothing moves, or torque has the wrong sign or unit.
        ExcitationError: no window of data could be used.
    """
    judgement = session.judge()
    if judgement.faults:
        raise LogError(judgement.faults[0], source=source)
    if session.result.status is Status.WAITING:
        rejected = sorted(session.run(source).result.samples_rejected.items(), key=lambda item: -item[1])
        why = ", ".join(f"{reason} {count}" for reason, count in rejected)
        line = f"no window of data could be used out of {session.received} messages"
        raise ExcitationError(f"{line} (rejected: {why})" if why else line, source=source)
    for doubt in judgement.doubts:
        sys.stderr.write(f"sysid: warning: {source}: {doubt}\n")
