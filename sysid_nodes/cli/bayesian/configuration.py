# SPDX-License-Identifier: Apache-2.0
"""The configuration that the arguments ask for."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import session_configuration
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig


def configuration(args: argparse.Namespace) -> BayesianSessionConfig:
    """The configuration that the arguments ask for; raises as `session_configuration`."""
    return session_configuration(
        args, BayesianSessionConfig, ("robot", "urdf"), subject="a Bayesian one", any_robot=True
    )
