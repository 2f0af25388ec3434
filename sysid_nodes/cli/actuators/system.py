# SPDX-License-Identifier: Apache-2.0
"""Actuator identification as the command line knows it."""

from __future__ import annotations

from sysid_nodes.cli.actuators import export, replay
from sysid_nodes.cli.system import Report, System
from sysid_nodes.reports.actuators.quantities import actuator_quantities
from sysid_nodes.reports.actuators.run import FILES

SYSTEM = System(
    replay=replay.run,
    report=Report(FILES.write_page, actuator_quantities),
    export=export.run,
)
