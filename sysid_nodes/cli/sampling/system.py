# SPDX-License-Identifier: Apache-2.0
"""Identification by rollouts as the command line knows it."""

from __future__ import annotations

from sysid_nodes.cli.sampling import replay
from sysid_nodes.cli.system import Report, System
from sysid_nodes.reports.sampling.quantities import sampling_quantities
from sysid_nodes.reports.sampling.run import FILES

SYSTEM = System(
    replay=replay.run,
    report=Report(FILES.write_page, sampling_quantities),
)
