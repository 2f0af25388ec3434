# SPDX-License-Identifier: Apache-2.0
"""Arguments that only logs of legged robots have, and whether they ask for PRIME."""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_nodes.cli.configuration import has_section
from sysid_nodes.cli.system import Entry
from sysid_nodes.data.config import read_parameters
from sysid_nodes.results.prime_mode import BATCH, HORIZON
from sysid_nodes.robots import robot_names
from sysid_nodes.sensors import SOURCES

SECTIONS = (
    *("contacts", "floating_base", "frame_prefix", "horizon", "motor", "pacing"),
    *("prime", "published", "streams", "trust", "world_frame"),
)
"""Options of `PrimeSessionConfig` that no other system has."""


def is_wanted(args: argparse.Namespace) -> bool:
    """Whether motion is to be estimated: a legged robot is named, or an option that only this pipeline has.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    if has_section(args, *SECTIONS):
        return True
    values = {} if args.config is None else read_parameters(args.config)
    said = [text.partition("=")[2].strip() for text in args.settings if text.partition("=")[0].strip() == "robot"]
    robot = args.robot or (said[-1] if said else values.get("robot", ""))
    return robot in robot_names(floating_base=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that only logs of legged robots have."""
    group = parser.add_argument_group("legged robots")
    group.add_argument(
        "--mode", choices=(HORIZON, BATCH), help="moving horizon as live, or the whole log at once; default: horizon"
    )
    for source in SOURCES[1:]:
        types = " or ".join(kind.split("/")[-1] for kind in source.types)
        told = f"topic of {types}, whose sensors are then used; default: /{source.topic} if one of them is enabled"
        group.add_argument(f"--{source.name}-topic", metavar="TOPIC", help=told)
    group.add_argument(
        "--foot-force",
        action="append",
        metavar="FOOT=TOPIC",
        help="force sensor of a foot (WrenchStamped, Float64 or Float32), or the topic alone of a LowState: contacts"
        " are compared with it, never estimated from it; may be repeated",
    )
    group.add_argument(
        "--truth", type=Path, metavar="DIR", help="truth.json and truth.npz of a simulated robot, to compare with"
    )


PRIME = Entry("prime", "legged robots", is_wanted, add_arguments)
