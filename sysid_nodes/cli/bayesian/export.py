# SPDX-License-Identifier: Apache-2.0
"""sysid export of a posterior: its most probable robot."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.bayesian.export import bodies, joints, loops
from sysid_nodes.reports.bayesian.schema import validate_bayesian
from sysid_nodes.robots.export import export_body, moved_joints
from sysid_nodes.robots.export_closures import export_closures
from sysid_nodes.robots.export_joints import export_joints


def run(args: argparse.Namespace, parsed: dict[str, Any]) -> int:
    """Writes the file and returns the exit status."""
    if args.into is None:
        raise ConfigError("--format is for actuators; a posterior needs --into")
    if args.link is not None:
        raise ConfigError("--link is for one identified body; a posterior has its links' names")
    source, target = str(args.result), str(args.into)
    document = validate_bayesian(parsed, source=source)
    links, driven = bodies(document, source), joints(document, source)
    try:
        data = args.into.read_bytes()
    except OSError as error:
        raise InputError(error.strerror or str(error), source=target) from None
    moving = moved_joints(data, document["joints"])
    for link, theta in links.items():
        data = export_body(data, link, theta, moving=moving, source=target)
    data = export_closures(export_joints(data, driven, source=target), loops(document), source=target)
    write_atomically(args.out, data)
    for joint in driven:
        for reason in dict.fromkeys(joint.untold.values()):
            names = ", ".join(name for name, why in joint.untold.items() if why == reason)
            sys.stderr.write(f"sysid: {joint.name}: not written: {names}: {reason}\n")
    if user := [row["name"] for row in document["parameters"] if row["group"] == "user"]:
        sys.stderr.write(f"sysid: constants of the user's own term have no place in the file: {', '.join(user)}\n")
    if blind := [row["name"] for row in document["parameters"] if row["verdict"] == "not observed"]:
        sys.stderr.write(f"sysid: {len(blind)} constants are not observed; there the links have the prior's values\n")
    sys.stdout.write(f"{args.out}: {len(links)} links, {len(driven)} joints, {len(loops(document))} loops\n")
    return 0
