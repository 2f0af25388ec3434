# SPDX-License-Identifier: Apache-2.0
"""The configuration of actuators that the arguments ask for."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import session_configuration
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig


def configuration(args: argparse.Namespace) -> ActuatorSessionConfig:
    """The configuration that the arguments ask for; raises as `session_configuration`."""
    return session_configuration(
        args, ActuatorSessionConfig, ("robot", "urdf", "commands"), subject="actuators", any_robot=True
    )
