# SPDX-License-Identifier: Apache-2.0
"""Whether the arguments ask for an identification by rollouts, and its configuration."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import chosen_values, file_values, has_section
from sysid_nodes.data.config import from_flat
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig

_SECTION = "sampling"


def wanted(args: argparse.Namespace) -> bool:
    """Whether an option is given that only an identification by rollouts has.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    return has_section(args, _SECTION)


def configuration(args: argparse.Namespace) -> SamplingSessionConfig:
    """The configuration that the arguments ask for.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, a value is wrong, or an argument belongs to another
            pipeline.
    """
    flags = ("robot", "urdf", "commands")
    chosen = chosen_values(args, SamplingSessionConfig, flags, subject="one by rollouts")
    values = file_values(SamplingSessionConfig, args.config)
    return from_flat(SamplingSessionConfig, {**values, **chosen}, source="command line")
