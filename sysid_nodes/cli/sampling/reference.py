# SPDX-License-Identifier: Apache-2.0
"""Options of identification by rollouts, and their reference page."""

from __future__ import annotations

from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.system import Reference
from sysid_nodes.data.config import options
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.sessions.sampling.node_config import PlannerNodeConfig, SamplingNodeConfig
from sysid_nodes.sessions.sampling.planning import ExplorationSessionConfig

CONFIGS = (SamplingSessionConfig, SamplingNodeConfig, ExplorationSessionConfig, PlannerNodeConfig)


def parameters_page() -> str:
    """Markdown of docs/sampling/parameters.md."""
    return page(
        "Parameters of identification by rollouts",
        "## Identification",
        "",
        "Read by the node `spi_identifier` and by `sysid replay` of a walking robot's log, from a ROS parameter file",
        "(`/**: ros__parameters:`), by the latter from `--set` too, and by `exploration_planner`, which has to have",
        "the same. An unknown key, a wrong type or a value out of range is an error. Where a list of numbers is asked",
        "for the drives, one number stands for every joint, three (Go2: hip, thigh, calf) for its kinds.",
        "",
        *table(options(SamplingSessionConfig)),
        "",
        "## Identifier's node only",
        "",
        *table(options(SamplingNodeConfig)),
        "",
        "## Planning",
        "",
        "Read by the node `exploration_planner`, and by `sysid explore --set` without `exploration.` before each name.",
        "",
        *table([item for item in options(ExplorationSessionConfig) if item.name.startswith("exploration.")]),
        "",
        "## Planner's node only",
        "",
        *table(options(PlannerNodeConfig)),
    )


REFERENCE = Reference(CONFIGS, parameters_page)
