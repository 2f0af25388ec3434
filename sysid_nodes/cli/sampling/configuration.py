# SPDX-License-Identifier: Apache-2.0
"""The configuration that the arguments ask for."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import session_configuration
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig


def configuration(args: argparse.Namespace) -> SamplingSessionConfig:
    """The configuration that the arguments ask for; raises as `session_configuration`."""
    return session_configuration(args, SamplingSessionConfig, ("robot", "urdf", "commands"), subject="one by rollouts")
