# SPDX-License-Identifier: Apache-2.0
"""An identification by rollouts is asked for by any option that only it has."""

from __future__ import annotations

from sysid_nodes.cli.configuration import has_section
from sysid_nodes.cli.system import Entry

SAMPLING = Entry("sampling", "logs of walking robots with set-points", lambda args: has_section(args, "sampling"))
