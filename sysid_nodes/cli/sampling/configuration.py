# SPDX-License-Identifier: Apache-2.0
"""Whether the arguments ask for an identification by rollouts, and its configuration."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import has_section, session_configuration
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig

_SECTION = "sampling"


def is_wanted(args: argparse.Namespace) -> bool:
    """Whether an option is given that only an identification by rollouts has.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    return has_section(args, _SECTION)


def configuration(args: argparse.Namespace) -> SamplingSessionConfig:
    """The configuration that the arguments ask for; raises as `session_configuration`."""
    return session_configuration(args, SamplingSessionConfig, ("robot", "urdf", "commands"), subject="one by rollouts")
