# SPDX-License-Identifier: Apache-2.0
"""Whether the arguments ask for actuators, and their configuration."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import has_section, session_configuration
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig

_SECTIONS = ("actuators", "commands", "drive", "online")


def is_wanted(args: argparse.Namespace) -> bool:
    """Whether actuators are to be identified: a topic of commands is given, or an option that only they have.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    if args.commands is not None:
        return True
    return has_section(args, *_SECTIONS)


def configuration(args: argparse.Namespace) -> ActuatorSessionConfig:
    """The configuration that the arguments ask for; raises as `session_configuration`."""
    return session_configuration(
        args, ActuatorSessionConfig, ("robot", "urdf", "commands"), subject="actuators", any_robot=True
    )
