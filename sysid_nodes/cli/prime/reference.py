# SPDX-License-Identifier: Apache-2.0
"""Options of PRIME, and their reference page."""

from __future__ import annotations

from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.system import Reference
from sysid_nodes.data.config import options
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.node_config import PrimeNodeConfig
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.node_config import SimulatedLeggedRobotConfig

CONFIGS = (PrimeSessionConfig, PrimeNodeConfig, SimulatedLeggedRobotConfig, LeggedSimulationConfig)


def parameters_page() -> str:
    """Markdown of docs/prime/parameters.md."""
    return page(
        "Parameters of PRIME",
        "## Estimator",
        "",
        "Read by the node `prime_estimator`, by `sysid replay` and by `sysid demo go2` and `g1` alike, from a ROS",
        "parameter file; `config/go2.yaml` and `config/g1.yaml` name what differs from here.",
        "An unknown key, a wrong type or a value out of range is an error.",
        "",
        *table(options(PrimeSessionConfig)),
        "",
        "## Node only",
        "",
        *table(options(PrimeNodeConfig)),
        "",
        "## Simulated robot",
        "",
        "Read by the node `simulated_legged_robot`.",
        "",
        *table([*options(SimulatedLeggedRobotConfig), *options(LeggedSimulationConfig)]),
    )


REFERENCE = Reference(CONFIGS, parameters_page)
