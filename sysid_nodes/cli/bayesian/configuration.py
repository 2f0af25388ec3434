# SPDX-License-Identifier: Apache-2.0
"""Whether the arguments ask for a Bayesian identification, and its configuration."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import has_section, session_configuration
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig

_SECTION = "bayesian"


def is_wanted(args: argparse.Namespace) -> bool:
    """Whether an option is given that only a Bayesian identification has.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    return has_section(args, _SECTION)


def configuration(args: argparse.Namespace) -> BayesianSessionConfig:
    """The configuration that the arguments ask for; raises as `session_configuration`."""
    return session_configuration(
        args, BayesianSessionConfig, ("robot", "urdf"), subject="a Bayesian one", any_robot=True
    )
