# SPDX-License-Identifier: Apache-2.0
"""Drafts a parameter file for an arm from its URDF or name and, preferably, a recording without payload.

The file has signs and units of the signals, noise from residuals, velocity error, friction and offsets with their
spread, and a prior from what the arm can lift. A comment beside each value says where it is from. Read the file, then
run 'sysid check' and 'sysid calibrate'.

examples:
  sysid init my_arm.urdf bags/unloaded --out my_arm.yaml
  sysid init my_arm.urdf --body tool_link --out my_arm.yaml
  sysid init ur10 bags/unloaded --out my_ur10.yaml
"""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from sysid_nodes.cli.interval.configuration import logged_places
from sysid_nodes.cli.progress import track
from sysid_nodes.exceptions import ExcitationError, InputError
from sysid_nodes.logs import read_joint_states
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.robots import Robot, robot_names
from sysid_nodes.signals.driver import DriverSignals, SignalsConfig
from sysid_nodes.systems.interval.arm import draft_prior, load_arm
from sysid_nodes.systems.interval.check.draft import draft_lines
from sysid_nodes.systems.interval.check.signal_record import SignalRecord, Signals
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

_TOPIC = "/joint_states"
_MOST = 60_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    named = ", ".join(robot_names(floating_base=False))
    parser.add_argument("robot", metavar="ROBOT", help=f"the arm's URDF file, or its name ({named})")
    parser.add_argument("bag", type=Path, nargs="?", metavar="BAG", help="recording of the arm without a payload")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="parameter file to write; must be new")
    parser.add_argument("--topic", default=_TOPIC, help="topic of the joint states; default: %(default)s")
    parser.add_argument("--body", default="", metavar="LINK", help="link to identify; default: the arm's last")


def run(args: argparse.Namespace) -> int:
    if args.out.exists():
        raise InputError("exists already, and may have been corrected since; give a new file", source=str(args.out))
    arms = robot_names(floating_base=False)
    named = args.robot in arms
    if not named and not Path(args.robot).exists():
        raise InputError(f"neither a URDF file nor an arm's name ({', '.join(arms)})", source=args.robot)
    which = {"robot": args.robot} if named else {"robot": "urdf", "urdf": args.robot}
    config = IntervalIdentifierConfig(**which, body=args.body, target="payload")
    logged = None if args.bag is None else logged_places(args.bag, args.topic)
    arm = load_arm(config, stated=(), logged=logged)
    for note in arm.notes:
        sys.stderr.write(f"sysid: warning: {note}\n")
    raw = None if args.bag is None else _record(arm.robot, args.bag, args.topic)
    source = Path(args.robot).name + ("" if args.bag is None else f" and {args.bag.name}")
    config = replace(arm.config, body=arm.robot.body, prior=draft_prior(arm.robot, arm.robot.body, config.target))
    head = f"# Drafted by sysid init from {source}: a start, not a measurement. Correct what you know better."
    text = "\n".join([head, *draft_lines(arm.robot, config, raw)]) + "\n"
    write_atomically(args.out, text.encode())
    check = ["--config", str(args.out), *([] if named else ["--urdf", args.robot])]
    if args.topic != _TOPIC:
        check += ["--topic", args.topic]
    bag = "BAG" if args.bag is None else shlex.quote(str(args.bag))
    sys.stdout.write(f"{args.out}\nnext: sysid check {bag} {shlex.join(check)}\n")
    return 0


def _record(robot: Robot, bag: Path, topic: str) -> Signals:
    record = SignalRecord(robot.joint_names, DriverSignals(SignalsConfig(), robot.n), most=_MOST)
    for message in track(read_joint_states(bag, topic), f"read {bag.name}"):
        record.take(message)
    signals = record.signals()
    if len(signals) < 2:
        raise ExcitationError(f"holds no joint state with all of {', '.join(robot.joint_names)}", source=str(bag))
    return signals
