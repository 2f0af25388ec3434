# SPDX-License-Identifier: Apache-2.0
"""Whether the arguments ask for a Bayesian identification, and its configuration."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import chosen_values, file_values, has_section
from sysid_nodes.data.config import from_flat
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig

_SECTION = "bayesian"


def wanted(args: argparse.Namespace) -> bool:
    """Whether an option is given that only a Bayesian identification has.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    return has_section(args, _SECTION)


def configuration(args: argparse.Namespace) -> BayesianSessionConfig:
    """The configuration that the arguments ask for.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, a value is wrong, or an argument belongs to another
            pipeline.
    """
    flags = ("robot", "urdf")
    chosen = chosen_values(args, BayesianSessionConfig, flags, subject="a Bayesian one")
    values = file_values(BayesianSessionConfig, args.config)
    return from_flat(BayesianSessionConfig, {**values, **chosen}, source="command line")
