# SPDX-License-Identifier: Apache-2.0
"""`sysid explore` for an arm: exciting motion by the certified planner, safe for every body in a result's bounds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from sysid_nodes.cli.certified_motion import CertifiedMotion, middle, refuse_existing, write_whole
from sysid_nodes.data.config import from_flat, to_flat
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.reports.interval.schema import validate_interval
from sysid_nodes.results import Status

_PROVEN = (Status.PROVEN.name, Status.NOT_EXCITED.name)
_DURATION = 40.0  # of a motion, as for a walking robot [s]
_HARM = 3


def explore_arm(args: argparse.Namespace, document: Mapping[str, Any]) -> int:
    """Plans and returns the exit status.

    Raises:
        InputError: the result has no bounds that are proven, or they rest on something else than the file says.
        ConfigError: there is no file of the arm's certified motion, or a value is wrong.
    """
    source = str(args.result)
    document = validate_interval(document, source=source)
    if args.certified is None:
        raise ConfigError("an arm's motion needs the parameter file of its certified motion (--certified)")
    if document["status"] not in _PROVEN:
        raise InputError(f"has no proven bounds: {document['status']}", source=source)
    rows = document["parameters"]
    bounds = {f"prior.{end}": tuple(row[end] for row in rows) for end in ("lower", "upper")}
    duration = _DURATION if args.duration is None else args.duration
    certified = CertifiedMotion(args.certified, [f"duration={duration:g}", *args.settings], bounds)
    _require_same(document, certified, source)
    refuse_existing(args.out)
    motion = certified.plan(middle(args.middle, certified.robot))
    if isinstance(motion, str):
        sys.stderr.write(f"sysid: {source}: {motion}\n")
        return _HARM
    write_whole(args.out, certified.robot, motion, certified)
    sys.stdout.write(f"{args.out}: {motion.t[-1]:g} s\n{certified.words(source)}")
    return 0


def _require_same(document: Mapping[str, Any], certified: CertifiedMotion, source: str) -> None:
    """Refuses bounds of another robot or link, or that were proven for a robot known otherwise.

    Raises:
        InputError: they are.
    """
    if document["calibration"] is not None:
        raise InputError("its bounds rest on a calibration, certificates on 'known_robot'", source=source)
    start = "known_robot."
    known = {name.removeprefix(start): value for name, value in document["config"].items() if name.startswith(start)}
    own = {"robot": certified.robot.name, "body": certified.body, "target": certified.config.target}
    theirs = {name: document[name] for name in own} | to_flat(from_flat(KnownRobotConfig, known, source=source))
    for name, value in (own | to_flat(certified.config.known_robot)).items():
        if theirs[name] != value:
            raise InputError(f"has '{name}' {theirs[name]}, the file of --certified {value}", source=source)
