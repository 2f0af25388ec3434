# SPDX-License-Identifier: Apache-2.0
"""Whether the arguments ask for actuators, and their configuration."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import chosen_values, file_values, has_section
from sysid_nodes.data.config import from_flat
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig

_SECTIONS = ("actuators", "commands", "drive", "online")


def wanted(args: argparse.Namespace) -> bool:
    """Whether actuators are to be identified: a topic of commands is given, or an option that only they have.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    if args.commands is not None:
        return True
    return has_section(args, *_SECTIONS)


def configuration(args: argparse.Namespace) -> ActuatorSessionConfig:
    """The configuration that the arguments ask for.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, a value is wrong, or an argument belongs to another
            pipeline.
    """
    flags = ("robot", "urdf", "commands")
    chosen = chosen_values(args, ActuatorSessionConfig, flags, subject="actuators")
    if args.config is None and args.urdf is not None:
        chosen.setdefault("robot", "urdf")
    values = file_values(ActuatorSessionConfig, args.config)
    return from_flat(ActuatorSessionConfig, {**values, **chosen}, source="command line")
