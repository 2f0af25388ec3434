# SPDX-License-Identifier: Apache-2.0
"""A Bayesian identification is asked for by any option that only it has."""

from __future__ import annotations

from sysid_nodes.cli.configuration import has_section
from sysid_nodes.cli.system import Entry

BAYESIAN = Entry(
    "bayesian", "logs of robots with a fixed base", lambda args: has_section(args, "bayesian"), online=True
)
