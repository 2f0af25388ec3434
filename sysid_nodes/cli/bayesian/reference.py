# SPDX-License-Identifier: Apache-2.0
"""Options of the Bayesian identification, and their reference page."""

from __future__ import annotations

from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.system import Reference
from sysid_nodes.data.config import options
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.sessions.bayesian.node_config import BayesianNodeConfig
from sysid_nodes.simulation.fourbar.config import SimulatedLinkageConfig

CONFIGS = (BayesianSessionConfig, BayesianNodeConfig, SimulatedLinkageConfig)


def parameters_page() -> str:
    """Markdown of docs/bayesian/parameters.md."""
    return page(
        "Parameters of the Bayesian identification",
        "## Identification",
        "",
        "Read by the node `bayesian_identifier` and by `sysid replay` of a robot with a fixed base alike, from a ROS",
        "parameter file (`/**: ros__parameters:`); `sysid replay` has `--set` too. An unknown key, a wrong type or a",
        "value out of range is an error.",
        "",
        *table(options(BayesianSessionConfig)),
        "",
        "## Node only",
        "",
        *table(options(BayesianNodeConfig)),
        "",
        "## Simulated leg",
        "",
        "Read by the node `simulated_linkage`.",
        "",
        *table(options(SimulatedLinkageConfig)),
    )


REFERENCE = Reference(CONFIGS, parameters_page)
