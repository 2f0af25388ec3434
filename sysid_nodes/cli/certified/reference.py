# SPDX-License-Identifier: Apache-2.0
"""Options of certified motion, and their reference page."""

from __future__ import annotations

from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.system import Reference
from sysid_nodes.data.config import Option, options
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, RobustControllerConfig
from sysid_nodes.simulation.arm.config import SimulatedArmConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

CONFIGS = (CertifiedPlannerConfig, RobustControllerConfig, SimulatedArmConfig)


def parameters_page() -> str:
    """Markdown of docs/certified/parameters.md."""
    return page(
        "Parameters of certified motion",
        "Read by the nodes named; a key that several of them have means the same for all. One parameter file may serve",
        "them and the identifier: each node takes the keys it has. Keys that these nodes share with the identifier",
        "(`robot`, `variant`, `body`, `target`, `known_robot`, `prior`) are on [its page](../interval/parameters.md).",
        "",
        *table(_certified_options()),
    )


def _certified_options() -> list[Option]:
    """Options of the nodes of certified motion that the identifier lacks, once each."""
    known = {item.name for item in options(IntervalIdentifierConfig)}
    found: dict[str, Option] = {}
    for config in CONFIGS:
        found |= {item.name: item for item in options(config) if item.name not in known and item.name not in found}
    return list(found.values())


REFERENCE = Reference(CONFIGS, parameters_page)
