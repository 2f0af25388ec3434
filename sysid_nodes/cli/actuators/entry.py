# SPDX-License-Identifier: Apache-2.0
"""Arguments that only actuators have, and whether they ask for them."""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_nodes.cli.configuration import has_section
from sysid_nodes.cli.system import Entry

_SECTIONS = ("actuators", "commands", "drive", "online")


def is_wanted(args: argparse.Namespace) -> bool:
    """Whether actuators are to be identified: a topic of commands is given, or an option that only they have.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    if args.commands is not None:
        return True
    return has_section(args, *_SECTIONS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that only logs with commands have."""
    group = parser.add_argument_group("actuators")
    group.add_argument(
        "--commands",
        metavar="TOPIC",
        help="commands, JointTrajectory, JointState or Unitree's LowCmd: identifies actuators",
    )
    group.add_argument(
        "--runs",
        metavar="RESULT",
        type=Path,
        nargs="+",
        help="result.json of other runs of this robot: what scatters from run to run goes into the result",
    )


ACTUATORS = Entry("actuators", "logs with commands", is_wanted, add_arguments, online=True)
