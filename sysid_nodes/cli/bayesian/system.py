# SPDX-License-Identifier: Apache-2.0
"""Bayesian identification as the command line knows it."""

from __future__ import annotations

from sysid_nodes.cli.bayesian import export, predict, replay
from sysid_nodes.cli.system import Report, System
from sysid_nodes.reports.bayesian.quantities import bayesian_quantities
from sysid_nodes.reports.bayesian.run import FILES

SYSTEM = System(
    replay=replay.run,
    report=Report(FILES.write_page, bayesian_quantities),
    export=export.run,
    predict=predict.run,
)
