# SPDX-License-Identifier: Apache-2.0
"""Whether the arguments ask for a Bayesian identification."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import has_section
from sysid_nodes.cli.system import Entry


def is_wanted(args: argparse.Namespace) -> bool:
    """Whether an option is given that only a Bayesian identification has.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    return has_section(args, "bayesian")


BAYESIAN = Entry("bayesian", "logs of robots with a fixed base", is_wanted, online=True)
