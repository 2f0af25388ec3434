# SPDX-License-Identifier: Apache-2.0
"""Whether the arguments ask for an identification by rollouts."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import has_section
from sysid_nodes.cli.system import Entry


def is_wanted(args: argparse.Namespace) -> bool:
    """Whether an option is given that only an identification by rollouts has.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    return has_section(args, "sampling")


SAMPLING = Entry("sampling", "logs of walking robots with set-points", is_wanted)
